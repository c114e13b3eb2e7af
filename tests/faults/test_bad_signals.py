"""Signals at every stage, and terminals that close. In every case the captions are on disk.

Scripted engines hold the stages open; the signals and their handlers are real. Further down, the
real program gets signals from its first moment on.
"""

from __future__ import annotations

import asyncio
import os
import pty
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scripts.support.program import environment, started
from tests.support.daemon import DURATION_S, SCRIPT, UPGRADE, Service, all_finals, send, until
from tests.support.fakes import FakeRecognizer, FakeSource, FakeTranslator, pcm_of
from tests.support.patience import reached
from tests.support.sounds import speech, wav

pytestmark = pytest.mark.slow

LIGHT = {"STARK_TRANSLATE__TRANSLATE__FINAL__ENGINE": "marian"}
"""The quick translator makes the finals: these tests do not depend on the engines."""
FAST_RUN = ("-m", "pipeline", "run", "--input", "a.wav", "--pace", "fast", "--port", "0")


def end_event(service: Service) -> dict[str, object]:
    (event,) = [e for e in service.records("event") if e["event"] == "end"]
    return event


@dataclass
class SlowToLoad(FakeRecognizer):
    """A model that loads slowly or never."""

    until: threading.Event = field(default_factory=threading.Event)

    def load(self) -> None:
        self.until.wait(20)


def test_while_a_model_loads_the_end_waits_for_it_and_is_clean(tmp_path: Path) -> None:
    recognizer = SlowToLoad(SCRIPT)

    async def beside(service: Service) -> None:
        send(signal.SIGTERM)
        await asyncio.sleep(0.2)
        recognizer.until.set()

    service = Service(tmp_path, recognizer=recognizer)
    assert service.run(beside) == 0
    assert not service.app.is_stuck
    assert not service.app.has_begun
    (target,) = service.app._context.targets
    assert not target.board.snapshot().messages, "nothing is heard before everything is there"
    assert (service.app.folder / "diagnostics.jsonl").read_bytes() == b""


def test_twice_while_a_model_hangs_in_loading_it_ends_at_once(tmp_path: Path) -> None:
    recognizer = SlowToLoad(SCRIPT)

    async def beside(service: Service) -> None:
        send(signal.SIGINT)
        await asyncio.sleep(0.1)
        send(signal.SIGINT)

    service = Service(tmp_path, recognizer=recognizer, flags={"session.drain_s": 300.0})
    began_s = time.monotonic()
    assert service.run(beside) == 0
    assert time.monotonic() - began_s < 15
    assert service.app.is_stuck  # the command then ends the process without waiting for the thread
    recognizer.until.set()


def test_while_nobody_speaks(tmp_path: Path) -> None:
    async def beside(service: Service) -> None:
        await reached(lambda: service.app.health.record().state == "listening")
        send(signal.SIGINT)

    source = FakeSource(pcm_of([], 1.0), hold=True)
    service = Service(tmp_path, source=source, fast=False)
    assert service.run(beside) == 0
    assert service.journal() == []
    assert end_event(service)["unfinished"] == 0


def test_in_the_middle_of_a_sentence_what_was_said_of_it_is_final(tmp_path: Path) -> None:
    async def beside(service: Service) -> None:
        async with service.connect() as socket:
            await until(socket, lambda m: m["type"] == "caption" and m["id"] == 2)
            send(signal.SIGTERM)

    service = Service(tmp_path, source=FakeSource(pcm_of(SCRIPT, DURATION_S), speed=4))
    assert service.run(beside) == 0
    assert service.finals() == all_finals("gemma")[:2]
    assert service.journal()[-1]["source"]["text"] != SCRIPT[1].text
    assert SCRIPT[1].text.startswith(service.journal()[-1]["source"]["text"])


def test_twice_while_the_last_captions_are_on_their_way_nothing_is_waited_for_or_lost(
    tmp_path: Path,
) -> None:
    """All is said; the final translator hangs. The quick translator's text becomes final."""
    hang = threading.Event()

    async def beside(service: Service) -> None:
        async with service.connect() as socket:
            await until(socket, lambda m: m["type"] == "caption" and m["id"] == 3)
            await reached(lambda: service.app.health.record().queues.drafts == 2)
            send(signal.SIGINT)
            await asyncio.sleep(0.1)
            send(signal.SIGTERM)

    service = Service(
        tmp_path,
        source=FakeSource(pcm_of(SCRIPT[:3], 10.0), hold=True),
        final=FakeTranslator("gemma", hang=hang),
        flags={"session.drain_s": 300.0, "translate.final.deadline_s": 300.0},
    )
    began_s = time.monotonic()
    assert service.run(beside) == 0
    assert time.monotonic() - began_s < 30
    assert service.finals() == all_finals("marian")[:3]
    assert end_event(service)["unfinished"] == 0
    hang.set()
    service.app._group.targets[0].translate.join(5)  # type: ignore[union-attr]


def test_while_displays_are_told_goodbye(tmp_path: Path) -> None:
    """A display that never answers delays the end by two seconds; signals change nothing."""
    deaf = socket.socket()

    async def beside(service: Service) -> None:
        deaf.connect(("127.0.0.1", service.app._context.hub.port))
        deaf.sendall(UPGRADE)
        await reached(
            lambda: len(service.app._context.hub._clients) == 1 and bool(service.journal())
        )
        send(signal.SIGINT)
        await reached(lambda: service.app.health.record().state == "ended")
        for _ in range(3):
            send(signal.SIGINT)
            await asyncio.sleep(0.2)
        assert len(service.app._context.hub._clients) == 1

    source = FakeSource(pcm_of(SCRIPT[:1], 4.0), hold=True)
    service = Service(tmp_path, source=source)
    with deaf:
        assert service.run(beside) == 0
    assert service.finals() == all_finals("gemma")[:1]
    assert end_event(service)["unfinished"] == 0


# The real program


def test_a_storm_of_signals_ends_nothing_and_then_the_end_is_clean(tmp_path: Path) -> None:
    """SIGWINCH, job control, SIGCHLD and SIGHUP, all mixed; then only SIGHUP.

    Thousands a second once filled asyncio's pipe: tracebacks on the terminal, and no end.
    """
    wav(tmp_path / "a.wav", speech(60))
    draw = random.Random(20261122)
    kinds = [signal.SIGHUP, signal.SIGWINCH, signal.SIGCONT, signal.SIGCHLD, signal.SIGPIPE]
    with started("run", "--input", "a.wav", cwd=tmp_path, **LIGHT) as program:
        program.wait_for("ready")
        for _ in range(3_000):
            os.kill(program.process.pid, draw.choice(kinds))
        for _ in range(5):
            os.kill(program.process.pid, signal.SIGSTOP)
            os.kill(program.process.pid, signal.SIGCONT)
        program.wait_for("reloaded")
        assert program.health()["state"] in {"listening", "speech"}
        for _ in range(20_000):
            os.kill(program.process.pid, signal.SIGHUP)
        code = program.stop(signal.SIGTERM)
    assert code == 0, program.noise
    assert program.noise == []
    events = [line["event"] for line in program.log]
    assert 1 <= events.count("reloaded") < 200
    # Nothing was said yet: only a clean end removes such a session.
    assert "session removed" in events


def test_from_its_first_moment_on_it_ends_soon_and_leaves_nothing_torn(tmp_path: Path) -> None:
    """Before it serves, a signal kills it like any program; from then on it ends cleanly."""
    wav(tmp_path / "a.wav", speech(30))
    codes = []
    for delay_s, number in (
        (0.0, signal.SIGTERM),
        (0.5, signal.SIGINT),
        (1.5, signal.SIGTERM),
        (None, signal.SIGINT),
    ):
        with started("run", "--input", "a.wav", cwd=tmp_path, **LIGHT) as program:
            if delay_s is None:
                program.wait_for("serving")
            else:
                time.sleep(delay_s)
            code = program.stop(number)
            codes.append(code)
            serving = any(line["event"] == "serving" for line in program.log)
            assert code in ((0,) if serving else (0, 1, -number)), (delay_s, program.noise)
            events = {line["event"] for line in program.log}
            if "ready" in events and "session removed" not in events:
                assert program.records("event")[-1]["event"] == "end"
            elif serving:  # a run without captions leaves nothing
                assert not (tmp_path / program.folder).exists()
    assert codes[-1] == 0
    for file in tmp_path.glob("sessions/2*/*.jsonl"):
        content = file.read_bytes()
        assert not content or content.endswith(b"}\n")


def test_a_reader_that_leaves_ends_nothing(tmp_path: Path) -> None:
    """In `stark-translate run 2>&1 | less`, less quits: SIGPIPE must not end the captions."""
    wav(tmp_path / "a.wav", speech(7))
    reads, writes = os.pipe()
    process = subprocess.Popen(
        [sys.executable, *FAST_RUN],
        cwd=tmp_path,
        env=environment(**LIGHT),
        stdout=writes,
        stderr=writes,
    )
    os.close(writes)
    os.close(reads)
    assert process.wait(300) == 0
    assert len(journal(tmp_path)) >= 2


def test_standard_streams_that_are_closed_harm_nothing(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", speech(7))
    done = subprocess.run(
        ["bash", "-c", f'exec "{sys.executable}" {" ".join(FAST_RUN)} <&- >&- 2>&-'],
        cwd=tmp_path,
        env=environment(**LIGHT),
        timeout=300,
        check=False,
    )
    assert done.returncode == 0
    assert len(journal(tmp_path)) >= 2


def test_a_terminal_that_is_closed_ends_its_service(tmp_path: Path) -> None:
    """The window closes, or the connection to the machine breaks."""
    wav(tmp_path / "a.wav", speech(120))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.environ.update(environment(TERM="xterm", **LIGHT))
        arguments = [sys.executable, "-m", "pipeline", "run", "--input", "a.wav", "--port", "0"]
        os.execv(sys.executable, arguments)
    try:
        shown = b""
        while b"listening" not in shown and b"speech" not in shown:
            shown += os.read(terminal, 4096)
    finally:
        os.close(terminal)  # the kernel sends SIGHUP, and every later write fails
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    # Nothing was said yet: only a clean end removes such a session.
    assert not list(tmp_path.glob("sessions/2*"))


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_left_before_the_result_is_no_crash(tmp_path: Path, unbuffered: str) -> None:
    reads, writes = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", "config"],
        cwd=tmp_path, env=environment(PYTHONUNBUFFERED=unbuffered),
        stdout=writes, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(writes)
    os.close(reads)
    assert process.communicate(timeout=300)[1] == b""
    assert process.returncode == 1


def journal(tmp_path: Path) -> list[bytes]:
    (file,) = tmp_path.glob("sessions/2*/captions.jsonl")
    return file.read_bytes().splitlines()

"""An error ends each thread of the real program: it ends, or continues and reports it."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.support.paths import ROOT
from scripts.support.program import SERMON, Program, call, started
from scripts.support.web_recorder import WebRecorder
from tests.support.daemon import DURATION_S, SCRIPT, Service
from tests.support.fakes import FakeSource, pcm_of
from tests.support.patience import reached

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

_HOOK = """
import sys
if "pipeline" in sys.orig_argv and "run" in sys.orig_argv:
    import ctypes, os, pathlib, signal, threading
    folder = pathlib.Path({folder!r})
    class KilledByTest(BaseException):
        pass  # not an Exception: that of a voice detector, say, is expected and survived
    def names(*_):
        (folder / "new").write_text("\\n".join(each.name for each in threading.enumerate()))
        (folder / "new").rename(folder / "names")
    def kill(*_):
        name = (folder / "kill").read_text()
        (ident,) = [each.ident for each in threading.enumerate() if each.name == name]
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(ident), ctypes.py_object(KilledByTest)
        )
    signal.signal(signal.SIGUSR1, names)
    signal.signal(signal.SIGUSR2, kill)
"""
"""Runs first in the program; on a signal it raises an error in a thread."""

_NO_THREAD = """
import sys
if "pipeline" in sys.orig_argv and "run" in sys.orig_argv:
    import pathlib, resource, threading
    threading.stack_size(256 * 2**20)  # more than any that an ended thread has left
    start = threading.Thread.start
    def start_in_vain(self):
        if self.name == {name!r}:
            pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + 2**27
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        start(self)
    threading.Thread.start = start_in_vain
"""
"""From this thread's start on, the system has no memory for another stack."""

PATIENT = {
    "STARK_TRANSLATE__ENGINES__HANG_S": "120",
    "STARK_TRANSLATE__TRANSLATE__FINAL__DEADLINE_S": "120",
}

ENDS = ["listen", "transcribe", "translate"]
"""These end the service; systemd restarts it, and it continues the session."""
GOES_ON = {
    "diagnostics": "session-incomplete",
    "stt keeper": "engine-unattended",
    "partial keeper": "engine-unattended",
    "final keeper": "engine-unattended",
    "output vMix": "output-failed",
    "publish": "publish-failed",
}
"""These restart, with this fault."""
PASSING = {"MainThread", "model hashes", "asyncio_0", "asyncio_1"}
"""The main thread, and threads with one task: their errors reach the caller."""


@pytest.fixture
def mixer() -> Iterator[str]:
    """Yield the address of a vMix that accepts everything."""
    with WebRecorder() as server:
        yield server.url


@contextmanager
def playing(tmp_path: Path, mixer: str) -> Iterator[Program]:
    """Play the sermon at real-time pace, with every thread that a service can have."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_HOOK.format(folder=str(site)))
    with socket.socket() as nobody:  # bound but not listening: no server is there
        nobody.bind(("127.0.0.1", 0))
        env = PATIENT | {
            "PYTHONPATH": os.pathsep.join((str(site), str(ROOT), os.environ.get("PYTHONPATH", ""))),
            "STARK_TRANSLATE__OUTPUTS__VMIX": mixer,
            "STARK_TRANSLATE__PUBLISH__NATS": f"nats://127.0.0.1:{nobody.getsockname()[1]}",
        }
        with started("run", "--input", str(SERMON), cwd=tmp_path, **env) as program:
            program.wait_for("ready")
            program.until(lambda: finals(program) >= 1, 120, "captions")
            yield program


def finals(program: Program) -> int:
    return len(program.journal()) if program.folder.exists() else 0


def names(program: Program, site: Path) -> set[str]:
    """Return the names of the program's threads."""
    (site / "names").unlink(missing_ok=True)
    program.process.send_signal(signal.SIGUSR1)
    found: str = program.until(
        lambda: (site / "names").exists() and (site / "names").read_text(), 60, "names"
    )
    return set(found.splitlines())


def kill(program: Program, site: Path, name: str) -> None:
    """Raise an error in a thread."""
    (site / "kill").write_text(name)
    program.process.send_signal(signal.SIGUSR2)


def faults(program: Program) -> list[str]:
    return [event["code"] for event in program.records("event") if event["event"] == "fault"]


def breaks(program: Program, site: Path, name: str, code: str) -> None:
    """Break a thread; wait until the fault is reported."""
    before = faults(program).count(code)
    kill(program, site, name)
    program.until(lambda: faults(program).count(code) > before, what=f"{code} of {name}")


def test_a_thread_that_captions_can_do_without_begins_anew_and_it_is_told(
    tmp_path: Path, mixer: str
) -> None:
    with playing(tmp_path, mixer) as program:
        site = tmp_path / "site"
        assert names(program, site) - PASSING - set(ENDS) == set(GOES_ON)
        for name, code in GOES_ON.items():
            breaks(program, site, name, code)
        shown = finals(program)
        program.until(lambda: finals(program) > shown, what="captions")
        assert set(GOES_ON) <= names(program, site), "all are there again"
        assert "could not be kept" in program.health()["reason"]
        # The record being written when the thread broke is missing; the exit code reports it.
        assert program.stop() == 1
        assert any(line.get("code") == "session-incomplete" for line in program.log)


class KilledByTest(BaseException):
    """Not an Exception: the program survives those, for example from a voice detector."""


@pytest.mark.parametrize("name", ENDS)
def test_a_thread_that_captions_need_ends_the_program(tmp_path: Path, name: str) -> None:
    async def beside(service: Service) -> None:
        await reached(lambda: service.app.folder.exists() and len(service.journal()) >= 1)
        (ident,) = [each.ident for each in threading.enumerate() if each.name == name]
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(ident or 0), ctypes.py_object(KilledByTest)
        )

    service = Service(tmp_path, source=FakeSource(pcm_of(SCRIPT, DURATION_S), speed=4))
    assert service.run(beside) == 1
    (broken,) = [e for e in service.records("event") if e["event"] == "broken"]
    assert (broken["worker"], broken["code"]) == (name, "crash")
    assert service.finals()


@pytest.mark.parametrize("name", ["stt keeper", "listen"])
def test_without_memory_for_a_thread_the_program_ends_with_a_sentence(
    tmp_path: Path, name: str
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_NO_THREAD.format(name=name))
    env = {
        "PYTHONPATH": os.pathsep.join((str(site), str(ROOT), os.environ.get("PYTHONPATH", ""))),
        "STARK_TRANSLATE__PUBLISH__NATS": "nats://127.0.0.1:1",
    }
    ended = call("run", "--input", str(SERMON), "--port", "0", cwd=tmp_path, env=env)
    assert ended.returncode == 1
    assert ended.stderr.rstrip().endswith("[no-memory]")
    assert "\nTraceback" not in ended.stderr

"""The engine processes of the real program die while a sermon plays: nothing is lost.

tests/unit/engines/process/test_keeper.py tests that each kind of death is detected and followed
by a new process. Here whole services survive them.
"""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import psutil
import pytest

from pipeline.models.automatic import FIRST
from scripts.support.paths import ROOT
from scripts.support.program import SERMON, Program, call, started
from tests.support.failing_engines import (
    CRASHES,
    CRASHES_WITH,
    DIES_OVER_THE_THIRD_FINAL,
    GPU,
    GPU_FAULTS,
    put_into_children,
)
from tests.support.model_fixtures import pulled, starter_files
from tests.support.sounds import speech, wav

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

PATIENT = {
    "STARK_TRANSLATE__ENGINES__HANG_S": "120",
    "STARK_TRANSLATE__TRANSLATE__FINAL__DEADLINE_S": "120",
    # The tests are about deaths, not load; other tests run on the same machine.
    "STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny",
    "STARK_TRANSLATE__SESSION__DRAIN_S": "120",
    # One final for each sentence: a continued one has two, depending on when the test reads.
    "STARK_TRANSLATE__VAD__REOPEN_MS": "0",
    "STARK_TRANSLATE__VAD__JOIN_MS": "0",
    # Every utterance is recognized once as a whole, and its drafts cost little CPU time.
    "STARK_TRANSLATE__VAD__EAGER_MS": "0",
    "STARK_TRANSLATE__VAD__PARTIAL_MS": "1500",
}
WHO = {
    "stt": "the recognizer",
    "partial": "the quick translator",
    "final": "the final translator",
}
SPOKEN_S = 107.4
"""The hymn in the sermon starts here."""


@contextmanager
def playing(tmp_path: Path, **env: str) -> Iterator[Program]:
    """Play the sermon twice at real-time pace, without its hymn."""
    pcm = speech(SPOKEN_S)
    wav(tmp_path / "a.wav", np.concatenate([pcm, pcm]), subtype="PCM_16")
    with started("run", "--input", "a.wav", cwd=tmp_path, **(PATIENT | env)) as program:
        yield program


def in_children(site: Path, texts: dict[str, str]) -> dict[str, str]:
    """Return the environment variables that make the children for each part run its text first."""
    site.mkdir(exist_ok=True)
    for part, text in texts.items():
        put_into_children(site / part, part, text)
    every = [file.read_text() for file in site.glob("*/sitecustomize.py")]
    (site / "sitecustomize.py").write_text("".join(every))
    return {"PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))}


def pid_of(program: Program, part: str) -> int:
    """Return the ID of the process that has loaded an engine last."""
    lines = [line for line in program.log if line.get("event") == "engine"]
    pid: int = [line["pid"] for line in lines if line["engine"] == part][-1]
    return pid


def faults(program: Program) -> list[dict[str, Any]]:
    return [event for event in program.records("event") if event["event"] == "fault"]


def codes(program: Program) -> Counter[str]:
    return Counter(fault["code"] for fault in faults(program))


def finals(program: Program) -> int:
    return len(program.journal()) if program.folder.exists() else 0


def await_finals(program: Program, count: int) -> None:
    shown = finals(program)
    program.until(lambda: finals(program) >= shown + count, what=f"{count} finals")


def strike(program: Program, part: str, number: signal.Signals) -> None:
    """Send a signal to a part's process; wait until it has ended and the fault is reported."""
    pid = pid_of(program, part)
    seen = len(faults(program))
    os.kill(pid, number)
    program.until(lambda: not psutil.pid_exists(pid), what=f"end of {part}")

    def words() -> list[str]:
        # The reason on the operator's page may vanish before the test reads it.
        return [fault["message"].lower() for fault in faults(program)[seen:]]

    program.until(lambda: any(WHO[part] in each for each in words()), what=f"fault of {part}")


def is_back(program: Program, part: str, before: int) -> None:
    program.until(lambda: pid_of(program, part) != before, what=f"next {part}")


def words_of(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def missing(program: Program) -> list[tuple[float, float]]:
    """Return the start and end of the spoken sentences that are in no caption."""
    captions = program.journal()
    sentences = orjson.loads((SERMON.parent / "sermon.json").read_bytes())["sentences"]
    # The end of the service cut off the last final.
    until_s = sorted(line["end_s"] for line in captions)[-2]
    found = []
    for before_s in (0.0, SPOKEN_S):
        for sentence in sentences:
            start_s, end_s = sentence["start_s"] + before_s, sentence["end_s"] + before_s
            if sentence["end_s"] > SPOKEN_S or end_s > until_s:
                break
            said, heard = words_of(sentence["en"]), Counter[str]()
            for line in captions:
                if line["start_s"] < end_s and start_s < line["end_s"]:
                    heard += words_of(line["source"]["text"])
            # The starter mishears a word here and there.
            if 2 * (said & heard).total() < said.total():
                found.append((start_s, end_s))
    return found


def test_engines_that_die_are_replaced_and_no_sentence_is_lost(tmp_path: Path) -> None:
    """All in one service: crashes, kills, a failing GPU, and an utterance that kills.

    A signal to each process ends the service, as from `pkill`, or from systemd with
    KillMode=control-group.
    """
    env = in_children(
        tmp_path / "site",
        {
            "stt": DIES_OVER_THE_THIRD_FINAL.format(calls=str(tmp_path / "calls")),
            # The real model in a real child; its layers "on the GPU" die with it.
            "final": GPU.replace("{fault}", GPU_FAULTS["death"]),
        },
    )
    env["STARK_TRANSLATE__TRANSLATE__FINAL__GPU_LAYERS"] = "-1"
    with playing(tmp_path, **env) as program:
        program.wait_for("ready")

        def layers() -> list[int]:
            return [line["gpu_layers"] for line in program.log if line.get("engine") == "final"]

        program.until(lambda: codes(program)["gpu-reduced"] == 2 and 0 in layers(), what="CPU")
        half = layers()[2]
        assert layers() == [-1, -1, half, half, 0]
        assert half > 0
        program.until(lambda: codes(program)["stt-failed"] == 1, what="end of the third utterance")
        on_cpu = "the final translator failed on the GPU; it runs on the CPU alone now"
        program.until(lambda: program.health()["setback"] == on_cpu, what="the only reason")

        for part, number in (
            ("partial", signal.SIGKILL),
            ("final", signal.SIGKILL),
            ("stt", signal.SIGSEGV),
        ):
            before = pid_of(program, part)
            strike(program, part, number)
            is_back(program, part, before)
        program.until(lambda: program.health()["setback"] == on_cpu, what="end of the reasons")
        await_finals(program, 2)

        shown = finals(program)
        await_finals(program, 1)
        daemon = psutil.Process(program.process.pid)
        for each in [*daemon.children(recursive=True), daemon]:
            each.send_signal(signal.SIGTERM)
        assert program.end() == 0
        assert codes(program) == {
            "engine-crashed": 4 + 2 + 1,  # from the GPU, the third utterance, SIGSEGV
            "engine-killed": 2,
            "gpu-reduced": 2,
            "stt-failed": 1,
        }
        assert {line["target"]["engine"] for line in program.journal()[shown:]} == {"gemma"}
        # Its last partial replaces it, if there was one.
        (failed,) = [record for record in program.records() if record["id"] == 3]
        for start_s, end_s in missing(program):
            assert failed["start_s"] < end_s
            assert start_s < failed["end_s"]
        end = program.records("event")[-1]
        assert (end["event"], end["unfinished"]) == ("end", 0)


def left_in_english(program: Program) -> list[int]:
    """Return the IDs of captions whose newest version is in the spoken language."""
    newest = {line["id"]: line["target"] for line in program.journal()}
    return [key for key, target in newest.items() if target["engine"] == "source"]


def test_engines_that_hang_are_replaced_and_all_is_translated_later(tmp_path: Path) -> None:
    """First the recognizer hangs, then both translators, at the end all three."""
    env = {
        # Plus the utterance's length, the recognizer's limit is longer than any step of the ladder.
        "STARK_TRANSLATE__ENGINES__HANG_S": "14",
        "STARK_TRANSLATE__TRANSLATE__FINAL__DEADLINE_S": "10",
        "STARK_TRANSLATE__SESSION__DRAIN_S": "1",
    }
    with playing(tmp_path, **env) as program:
        program.wait_for("ready")
        await_finals(program, 2)
        strike(program, "stt", signal.SIGSTOP)
        await_finals(program, 6)
        program.until(lambda: program.health()["lag_s"] < 2, what="the end of what waited")
        await_finals(program, 2)
        # Audio that waits for the recognizer costs no translation, neither then nor later.
        assert "source" not in {line["target"]["engine"] for line in program.journal()}
        reasons = [line["reason"] for line in program.log if line.get("event") == "rung"]
        assert any("the recognizer is late" in reason for reason in reasons)

        before = {part: pid_of(program, part) for part in ("partial", "final")}
        strike(program, "partial", signal.SIGSTOP)
        # Utterances from this time reach the final translator without a draft.
        strike(program, "final", signal.SIGSTOP)
        left = program.until(lambda: left_in_english(program), what="caption left in English")
        program.until(lambda: not left_in_english(program), what="translations")
        newest = {line["id"]: line for line in program.journal()}
        assert all(newest[key]["target"]["lang"] == "es" for key in left)
        assert all(newest[key]["revision"] > 1 for key in left)
        assert set(codes(program)) <= {"engine-hangs", "final-hangs"}
        assert codes(program)["engine-hangs"] >= len(WHO)

        for part, pid in before.items():
            is_back(program, part, pid)
        children = psutil.Process(program.process.pid).children(recursive=True)
        assert len(children) == len(WHO)
        for child in children:
            child.suspend()
        program.stop()
        texts = (program.folder / "transcript.es.txt").read_text()
        assert all(newest[key]["target"]["text"] in texts for key in left)
    _, alive = psutil.wait_procs(children, 60)
    assert not alive


def test_engines_that_crash_whenever_they_are_loaded_are_given_up(tmp_path: Path) -> None:
    """A configured recognizer that crashes ends the start; other engines do not end the service."""
    models = {"stt": "model-stt", "partial": "model-marian", "final": "model-gemma"}
    arguments = ("run", "--input", str(SERMON), "--port", "0")
    stt_crashes = in_children(tmp_path / "stt", {"stt": CRASHES["stt"]})
    first, again = (call(*arguments, cwd=tmp_path, env=stt_crashes) for _ in range(2))
    assert first.returncode == again.returncode == 70
    last = first.stderr.splitlines()[-1]
    assert "3 times in a row" in last
    assert "free(): invalid pointer" in last
    assert last.endswith("[model-crashes]")
    assert "is not loaded: on 20" in again.stderr.splitlines()[-1]
    assert "is started again" not in again.stderr

    # `check` still tries the engine, and once it works again its crashes are forgotten.
    check = ("check", "--no-audio", "--port", "0")
    done = call(*check, cwd=tmp_path, env=in_children(tmp_path / "all", CRASHES) | PATIENT)
    assert done.returncode == 1
    lines = {line.split()[1]: line for line in done.stdout.splitlines() if len(line.split()) > 1}
    for name in models.values():
        assert lines[name].startswith("FAILED")
        assert "crashed (SIGABRT: free(): invalid pointer) while it loaded" in lines[name]
        assert "[engine-crashed]" in lines[name]
    assert lines["memory"]
    assert call(*check, cwd=tmp_path, env=PATIENT).returncode == 0

    quick_crashes = in_children(tmp_path / "quick", {"partial": CRASHES["partial"]})
    with playing(tmp_path, **quick_crashes) as program:
        await_without(program, "quick translator")
        assert {line["target"]["engine"] for line in program.journal()} <= {"gemma", "source"}
        assert told(program, "transcribe") == ["engine-crashed", "engine-crashed", "model-crashes"]
    # This is remembered; now the final translator is given up too. A pulled model also crashes its
    # process: `auto` continues with the shipped model.
    pulled(tmp_path / "models", FIRST, "stt", starter_files("stt"))
    texts = {"stt": CRASHES_WITH.format(model=FIRST), "final": CRASHES["final"]}
    env = in_children(tmp_path / "quick", texts)
    env["STARK_TRANSLATE__MODELS__DIRECTORY"] = str(tmp_path / "models")
    with playing(tmp_path, **env) as program:
        program.wait_for("recognizer given up")
        await_without(program, "quick translator", "final translator")
        assert {line["target"]["engine"] for line in program.journal()} == {"source"}
        assert told(program, "transcribe") == ["model-crashes"]
        # How often it crashed before the recognizer was given up varies.
        assert told(program, "translate").count("model-crashes") == 1


def await_without(program: Program, *engines: str) -> None:
    """Check that the service continues without these engines, and end it."""
    program.until(lambda: finals(program) >= 2, what="captions")
    setback = program.health()["setback"]
    assert all(engine in setback for engine in engines)
    assert program.stop() == 0


def told(program: Program, stage: str) -> list[str]:
    """Return the fault codes of a stage's engine; each message must give the cause of death."""
    found = [fault for fault in faults(program) if fault["stage"] == stage]
    for fault in found:
        assert "free(): invalid pointer" in fault["message"]
    return [fault["code"] for fault in found]

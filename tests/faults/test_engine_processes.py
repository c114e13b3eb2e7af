"""The real program while a sermon plays, and its engines' processes die: nothing is lost."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
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
    hungry,
    put_into_children,
    starve,
)
from tests.support.model_fixtures import pulled, starter_files
from tests.support.sounds import speech, wav

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

PATIENT = {
    "STARK_TRANSLATE__ENGINES__HANG_S": "120",
    "STARK_TRANSLATE__TRANSLATE__FINAL__DEADLINE_S": "120",
    # What is tried here are deaths, on machines where other tests run beside.
    "STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny",
    "STARK_TRANSLATE__SESSION__DRAIN_S": "120",
    # One final a sentence: what is gone on with has two, and depends on when the reader looks.
    "STARK_TRANSLATE__VAD__REOPEN_MS": "0",
    "STARK_TRANSLATE__VAD__JOIN_MS": "0",
    # Every utterance is recognized once as a whole, and its drafts cost little of the processor.
    "STARK_TRANSLATE__VAD__EAGER_MS": "0",
    "STARK_TRANSLATE__VAD__PARTIAL_MS": "1500",
}
WHO = {
    "stt": "the recognizer",
    "partial": "the quick translator",
    "final": "the final translator",
}
SPOKEN_S = 107.4
"""In the sermon the hymn begins here."""


@contextmanager
def playing(tmp_path: Path, **env: str) -> Iterator[Program]:
    """Play the sermon twice as it was spoken, without its hymn."""
    pcm = speech(SPOKEN_S)
    wav(tmp_path / "a.wav", np.concatenate([pcm, pcm]), subtype="PCM_16")
    with started("run", "--input", "a.wav", cwd=tmp_path, **(PATIENT | env)) as program:
        yield program


def in_children(site: Path) -> dict[str, str]:
    """Return the variables with which children run what the folders in `site` put into them."""
    texts = [file.read_text() for file in site.glob("*/sitecustomize.py")]
    (site / "sitecustomize.py").write_text("".join(texts))
    return {"PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))}


def processes(program: Program, part: str) -> list[int]:
    """Return the numbers of the processes that have loaded an engine so far, in order."""
    lines = [line for line in program.log if line.get("event") == "engine"]
    return [line["pid"] for line in lines if line["engine"] == part]


def faults(program: Program) -> list[dict[str, Any]]:
    return [event for event in program.records("event") if event["event"] == "fault"]


def codes(program: Program) -> Counter[str]:
    return Counter(fault["code"] for fault in faults(program))


def await_fault(program: Program, *words: str) -> None:
    """Wait for a fault with these words: the reason at the desk may be gone by now."""
    program.until(
        lambda: [f for f in faults(program) if all(w in f["message"].lower() for w in words)],
        180,
        f"fault with {words}",
    )


def finals(program: Program) -> int:
    return len(program.journal()) if program.folder.exists() else 0


def await_finals(program: Program, count: int) -> None:
    shown = finals(program)
    program.until(lambda: finals(program) >= shown + count, 180, "finals")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def whole(program: Program) -> None:
    """See that no sentence is missing, but of the one utterance that failed, and none there twice.

    In the order of speech: on a machine that is behind, the quick translator's final of a sentence
    overtakes those that the final one has still to look at.
    """
    journal = sorted(program.journal(), key=lambda line: line["id"])
    for line, following in pairwise(journal):
        assert line["id"] < following["id"]
        assert line["end_s"] <= following["start_s"]
    failed = [record for record in program.records() if record["filtered"] == "stt-failed"]
    sentences = orjson.loads((SERMON.parent / "sermon.json").read_bytes())["sentences"]
    missing = []
    for before_s in (0.0, SPOKEN_S):
        for sentence in sentences:
            start_s, end_s = sentence["start_s"] + before_s, sentence["end_s"] + before_s
            # The last final was cut off by the end.
            if sentence["end_s"] > SPOKEN_S or end_s > journal[-2]["end_s"]:
                break
            lines = [c for c in journal if c["start_s"] < end_s and start_s < c["end_s"]]
            heard = Counter(w for line in lines for w in words(line["source"]["text"]))
            said = Counter(words(sentence["en"]))
            # The starter mishears a word here and there.
            if 2 * (said & heard).total() < said.total():
                missing.append((start_s, end_s))
    unexplained = [
        (start_s, end_s)
        for start_s, end_s in missing
        if not any(r["start_s"] < end_s and start_s < r["end_s"] for r in failed)
    ]
    # Where the last partial of what failed stands in, it may lack half of its words.
    assert len(unexplained) <= 1 - len(failed), missing


def test_engines_that_die_are_replaced_and_no_sentence_is_lost(tmp_path: Path) -> None:
    """All in one service: crashes, kills, want of memory, a GPU that fails.

    It ends by a signal to each of its processes, as `pkill` sends them, and systemd with
    KillMode=control-group.
    """
    site = tmp_path / "site"
    site.mkdir()
    put_into_children(
        site / "third", "stt", DIES_OVER_THE_THIRD_FINAL.format(calls=str(tmp_path / "calls"))
    )
    # The real model in a real child; its layers "on the GPU" die with it.
    put_into_children(site / "gpu", "final", GPU.replace("{fault}", GPU_FAULTS["death"]))
    hungry(site / "hungry", "final")
    env = in_children(site) | {"STARK_TRANSLATE__TRANSLATE__FINAL__GPU_LAYERS": "-1"}
    with playing(tmp_path, **env) as program:
        program.wait_for("ready")
        program.until(lambda: codes(program)["gpu-reduced"] == 2, 180, "CPU alone")
        layers = [line["gpu_layers"] for line in program.log if line.get("engine") == "final"]
        assert layers[:2] == [-1, -1]
        assert layers[2] == layers[3] > 0
        # An utterance ends the recognizer twice: it costs itself only.
        program.until(lambda: codes(program)["stt-failed"] == 1, 180, "end of an utterance")
        program.until(lambda: finals(program) >= 5, 180, "captions")
        told = "the final translator failed on the GPU; it runs on the CPU alone now"
        program.until(lambda: told in program.health()["setback"], 180, "reason")
        maps = Path(f"/proc/{program.process.pid}/maps").read_text()
        assert [name for name in ("ctranslate2", "libllama", "libggml") if name in maps] == []
        stt, final = (
            Path(f"/proc/{processes(program, part)[-1]}/maps").read_text()
            for part in ("stt", "final")
        )
        assert "ctranslate2" in stt
        assert "libllama" in final
        assert "ctranslate2" not in final

        before = {part: processes(program, part)[-1] for part in WHO}
        os.kill(before["partial"], signal.SIGKILL)
        await_fault(program, WHO["partial"], "sigkill")
        with starve(before["final"], site / "hungry"):
            program.until(lambda: not psutil.pid_exists(before["final"]), 180, "its end")
        await_fault(program, "the final translator was killed by the system for want of memory")
        os.kill(before["stt"], signal.SIGSEGV)
        await_fault(program, WHO["stt"], "sigsegv")
        for part, pid in before.items():
            program.until(lambda: processes(program, part)[-1] != pid, 180, "next process")  # noqa: B023
        await_finals(program, 2)
        program.until(lambda: program.health()["setback"].endswith(told), 180, "end of the reasons")
        assert program.health()["setback"].count("the ") == told.count("the ")

        shown = finals(program)
        daemon = psutil.Process(program.process.pid)
        for each in [*daemon.children(recursive=True), daemon]:
            each.send_signal(signal.SIGTERM)
        assert program.end() == 0
        assert codes(program) == {
            "engine-crashed": 4 + 2 + 1,
            "gpu-reduced": 2,
            "stt-failed": 1,
            "engine-killed": 1,
            "engine-out-of-memory": 1,
        }
        whole(program)
        assert {line["target"]["engine"] for line in program.journal()[shown:]} == {"gemma"}
        end = program.records("event")[-1]
        assert (end["event"], end["unfinished"]) == ("end", 0)


def left_in_english(program: Program) -> list[int]:
    """Return the captions whose newest version is in the spoken language."""
    newest = {line["id"]: line["target"] for line in program.journal()}
    return [key for key, target in newest.items() if target["engine"] == "source"]


def test_engines_that_hang_are_replaced_and_all_is_translated_later(tmp_path: Path) -> None:
    """Both translators at once, then the recognizer; at the end all three."""
    env = {
        # With the utterance's length the recognizer's lasts longer than any step of the ladder.
        "STARK_TRANSLATE__ENGINES__HANG_S": "14",
        "STARK_TRANSLATE__TRANSLATE__FINAL__DEADLINE_S": "10",
        "STARK_TRANSLATE__SESSION__DRAIN_S": "1",
    }
    with playing(tmp_path, **env) as program:
        program.wait_for("ready")
        program.until(lambda: finals(program) >= 2, 180, "captions")
        stopped: set[int] = set()

        def leave_english() -> list[int]:
            """Stop both, whenever they are back, until a caption has no translation."""
            # Children only: a number may be another process's by now.
            for child in psutil.Process(program.process.pid).children():
                if child.pid in {processes(program, part)[-1] for part in ("partial", "final")}:
                    child.suspend()
                    stopped.add(child.pid)
            return left_in_english(program)

        left = program.until(leave_english, 180, "caption without a translation")
        program.until(lambda: not any(map(psutil.pid_exists, stopped)), 180, "their end")
        program.until(lambda: not left_in_english(program), 180, "translations")
        newest = {line["id"]: line for line in program.journal()}
        assert all(newest[key]["target"]["lang"] == "es" for key in left)
        assert all(newest[key]["revision"] > 1 for key in left)
        for part in ("partial", "final"):
            await_fault(program, WHO[part])

        pid, shown = processes(program, "stt")[-1], finals(program)
        os.kill(pid, signal.SIGSTOP)
        program.until(lambda: not psutil.pid_exists(pid), 180, "its end")
        await_fault(program, WHO["stt"])
        await_finals(program, 6)
        program.until(lambda: program.health()["lag_s"] < 2, 180, "the end of what waited")
        await_finals(program, 2)
        # Sound that waits for it costs no translation, neither while it waits nor afterwards.
        assert left_in_english(program) == []
        assert "source" not in {line["target"]["engine"] for line in program.journal()[shown:]}
        reasons = [line["reason"] for line in program.log if line.get("event") == "rung"]
        assert any("the recognizer is late" in reason for reason in reasons)
        assert set(codes(program)) <= {"engine-hangs", "final-hangs"}
        assert codes(program)["engine-hangs"] >= len(WHO)

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
    """The recognizer of the settings ends the start; without another engine the service goes on."""
    engines = {"partial": "model-marian", "final": "model-gemma"}
    env = put_into_children(tmp_path / "stt", "stt", CRASHES["stt"])
    arguments = ("run", "--input", str(SERMON), "--port", "0")
    first = call(*arguments, cwd=tmp_path, env=env)
    assert first.returncode == 70
    assert "3 times in a row" in first.stderr.splitlines()[-1]
    assert "free(): invalid pointer" in first.stderr.splitlines()[-1]
    assert first.stderr.rstrip().endswith("[model-crashes]")
    again = call(*arguments, cwd=tmp_path, env=env)
    assert again.returncode == 70
    assert "is not loaded: on 20" in again.stderr.splitlines()[-1]
    assert "is started again" not in again.stderr

    # `check` tries it all the same, and once it is well it is not held against it any more.
    site = tmp_path / "translators"
    site.mkdir()
    for part in engines:
        put_into_children(site / part, part, CRASHES[part])
    elsewhere = {"STARK_TRANSLATE__SESSION__DIRECTORY": str(tmp_path / "sessions")}
    env = in_children(site) | PATIENT | elsewhere
    done = call("check", "--no-audio", "--port", "0", cwd=tmp_path, env=env)
    assert done.returncode == 1
    lines = {line.split()[1]: line for line in done.stdout.splitlines() if len(line.split()) > 1}
    for name in engines.values():
        assert lines[name].startswith("FAILED")
        assert "crashed (SIGABRT: free(): invalid pointer) while it loaded" in lines[name]
        assert "[engine-crashed]" in lines[name]
    assert {"golden-stt", "memory"} <= set(lines)

    # A model is pulled that breaks its process: the service goes on with what ships.
    site, models = tmp_path / "site", tmp_path / "models"
    site.mkdir()
    pulled(models, FIRST, "stt", starter_files("stt"))
    put_into_children(site / "stt", "stt", CRASHES_WITH.format(model=FIRST))
    put_into_children(site / "partial", "partial", CRASHES["partial"])
    env = in_children(site) | {"STARK_TRANSLATE__MODELS__DIRECTORY": str(models)}
    with playing(tmp_path, **env) as program:
        program.wait_for("recognizer given up")
        given_up(program, {"partial": 2}, "gemma")
    # It is remembered; and now the other translator is given up.
    put_into_children(site / "final", "final", CRASHES["final"])
    with playing(tmp_path, **(env | in_children(site))) as program:
        given_up(program, {"partial": 0, "final": 2}, "source")
        assert "recognizer given up" not in {line.get("event") for line in program.log}


def given_up(program: Program, crashes: dict[str, int], engine: str) -> None:
    """See that translators are done without, after so many crashes each, and end the service."""
    program.until(lambda: finals(program) >= 2, 180, "captions")
    for part in crashes:
        assert WHO[part].split()[1] in program.health()["setback"]
    assert program.stop() == 0
    for part, count in crashes.items():
        told = [
            (f["code"], f["message"]) for f in faults(program) if WHO[part] in f["message"].lower()
        ]
        assert (
            Counter(code for code, _ in told)
            == Counter({"engine-crashed": count, "model-crashes": 1}) - Counter()
        )
        (message,) = [message for code, message in told if code == "model-crashes"]
        assert "free(): invalid pointer" in message
    assert {line["target"]["engine"] for line in program.journal()} <= {engine, "source"}

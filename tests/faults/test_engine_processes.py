"""The real program while a sermon plays, and its engines' processes die: nothing is lost."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipeline.models.automatic import FIRST
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

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PATIENT = {
    "STARK_TRANSLATE__ENGINES__HANG_S": "120",
    "STARK_TRANSLATE__TRANSLATE__FINAL__DEADLINE_S": "120",
    # What is tried here are deaths, on machines where other tests run beside.
    "STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny",
    "STARK_TRANSLATE__SESSION__DRAIN_S": "120",
    # One final a sentence: what is gone on with has two, and depends on when the reader looks.
    "STARK_TRANSLATE__VAD__REOPEN_MS": "0",
    "STARK_TRANSLATE__VAD__JOIN_MS": "0",
}
QUICK_TO_LOSE_PATIENCE = {
    "STARK_TRANSLATE__ENGINES__HANG_S": "3",
    "STARK_TRANSLATE__TRANSLATE__FINAL__DEADLINE_S": "3",
}
WHO = {
    "stt": "the recognizer",
    "partial": "the quick translator",
    "final": "the final translator",
}
PARTS = pytest.mark.parametrize("part", list(WHO))


@contextmanager
def playing(tmp_path: Path, **env: str) -> Iterator[Program]:
    """Play the sermon as it was spoken."""
    with started("run", "--input", str(SERMON), cwd=tmp_path, **(PATIENT | env)) as program:
        yield program


def processes(program: Program, part: str) -> list[int]:
    """Return the numbers of the processes that have loaded an engine so far, in order."""
    lines = [line for line in program.log if line.get("event") == "engine"]
    return [line["pid"] for line in lines if line["engine"] == part]


def faults(program: Program) -> list[dict[str, Any]]:
    return [event for event in program.records("event") if event["event"] == "fault"]


def first_fault(program: Program) -> str:
    """Return the first fault's words, in small letters.

    The reason at the desk is gone as soon as the next process has loaded, which may be before
    anybody has looked.
    """
    return str(program.until(lambda: faults(program), 60, "fault")[0]["message"]).lower()


def finals(program: Program) -> int:
    return len(program.journal()) if program.folder.exists() else 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what the recognizer makes of the sermon, sentence by sentence."""
    folder = tmp_path_factory.mktemp("undisturbed")
    arguments = ("run", "--input", str(SERMON), "--pace", "fast")
    with started(*arguments, cwd=folder, **PATIENT) as program:
        assert program.end(300) == 0
        return [line["source"]["text"] for line in program.journal()]


def heard(program: Program) -> list[str]:
    """Return what was heard; nothing is missing and nothing there twice.

    In the order of speech: on a machine that is behind, the quick translator's final of a sentence
    overtakes those that the final one has still to look at.
    """
    journal = sorted(program.journal(), key=lambda line: line["id"])
    assert [line["id"] for line in journal] == list(range(1, len(journal) + 1))
    return [line["source"]["text"] for line in journal]


def serves_on(program: Program, part: str, undisturbed: list[str]) -> None:
    """Wait for the next process of a part and two more finals, then stop; nothing is lost."""
    before = len(processes(program, part))
    program.until(lambda: len(processes(program, part)) > before, 180, "next process")
    shown = finals(program)
    program.until(lambda: finals(program) >= shown + 2, 180, "finals of the next process")
    setback = program.until(lambda: program.health()["setback"] == "", 60, "end of the reason")
    assert setback
    assert program.stop() == 0
    texts = heard(program)
    # The last sentence was cut off by the end.
    assert texts[:-1] == undisturbed[: len(texts) - 1]
    end = program.records("event")[-1]
    assert (end["event"], end["unfinished"]) == ("end", 0)


def test_auto_goes_on_with_the_next_recognizer_when_one_crashes_whenever_it_is_loaded(
    tmp_path: Path,
) -> None:
    """A model is pulled that breaks its process: the service goes on with what ships."""
    models = tmp_path / "models"
    pulled(models, FIRST, "stt", starter_files("stt"))
    env = put_into_children(tmp_path / "site", "stt", CRASHES_WITH.format(model=FIRST))
    env["STARK_TRANSLATE__MODELS__DIRECTORY"] = str(models)
    with playing(tmp_path, **env) as program:
        program.wait_for("recognizer given up")
        program.wait_for("caption")
        assert program.stop() == 0


@PARTS
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGSEGV, "engine-crashed"), (signal.SIGKILL, "engine-killed")],
    ids=["SIGSEGV", "SIGKILL"],
)
def test_an_engine_that_dies_is_replaced_and_no_sentence_is_lost(
    tmp_path: Path, undisturbed: list[str], part: str, number: signal.Signals, code: str
) -> None:
    with playing(tmp_path) as program:
        program.until(lambda: finals(program) >= 2, 120, "captions")
        os.kill(processes(program, part)[0], number)
        told = first_fault(program)
        assert WHO[part] in told
        assert number.name.lower() in told
        serves_on(program, part, undisturbed)
        assert [fault["code"] for fault in faults(program)] == [code]


@PARTS
def test_an_engine_that_hangs_is_replaced_and_no_sentence_is_lost(
    tmp_path: Path, undisturbed: list[str], part: str
) -> None:
    with playing(tmp_path, **QUICK_TO_LOSE_PATIENCE) as program:
        program.until(lambda: finals(program) >= 2, 120, "captions")
        pid = processes(program, part)[-1]
        os.kill(pid, signal.SIGSTOP)
        program.until(lambda: not psutil.pid_exists(pid), 120, "its end")
        serves_on(program, part, undisturbed)
        assert "engine-hangs" in {fault["code"] for fault in faults(program)}


def left_in_english(program: Program) -> list[int]:
    """Return the captions whose newest version is in the spoken language."""
    newest = {line["id"]: line["target"] for line in program.journal()}
    return [key for key, target in newest.items() if target["engine"] == "source"]


def test_after_a_long_hang_of_the_recognizer_all_that_was_said_is_translated(
    tmp_path: Path,
) -> None:
    """Sound that waits for it costs no translation, neither while it waits nor afterwards."""
    # With the length of the utterance the hang lasts for longer than any step of the ladder.
    with playing(tmp_path, STARK_TRANSLATE__ENGINES__HANG_S="14") as program:
        program.until(lambda: finals(program) >= 2, 120, "captions")
        pid = processes(program, "stt")[-1]
        os.kill(pid, signal.SIGSTOP)
        program.until(lambda: not psutil.pid_exists(pid), 120, "its end")
        shown = finals(program)
        program.until(lambda: finals(program) >= shown + 6, 180, "finals of what waited")
        program.until(lambda: program.health()["lag_s"] < 2, 180, "the end of what waited")
        shown = finals(program)
        program.until(lambda: finals(program) >= shown + 2, 180, "finals of what is said now")
        told = [line["reason"] for line in program.log if line.get("event") == "rung"]
        assert program.stop() == 0
        assert left_in_english(program) == []
        assert "source" not in {line["target"]["engine"] for line in program.journal()}
        assert any("the recognizer is late" in reason for reason in told)


def test_what_was_said_while_no_translator_was_there_is_translated_later(tmp_path: Path) -> None:
    with playing(tmp_path, **QUICK_TO_LOSE_PATIENCE) as program:
        program.until(lambda: finals(program) >= 2, 120, "captions")
        until_s = time.monotonic() + 120
        while not (left := left_in_english(program)):
            assert time.monotonic() < until_s
            # Both whenever they are back. Children only: a number may be another process's by now.
            both = {processes(program, part)[-1] for part in ("partial", "final")}
            for child in psutil.Process(program.process.pid).children():
                if child.pid in both:
                    child.kill()
            time.sleep(0.1)
        program.until(lambda: not left_in_english(program), 180, "translations")
        newest = {line["id"]: line for line in program.journal()}
        assert all(newest[key]["target"]["lang"] == "es" for key in left)
        assert all(newest[key]["revision"] > 1 for key in left)
        assert program.stop() == 0
        subtitles = (program.folder / "transcript.es.txt").read_text()
        assert all(newest[key]["target"]["text"] in subtitles for key in left)


@PARTS
def test_an_engine_that_the_kernel_kills_for_want_of_memory_is_replaced(
    tmp_path: Path, undisturbed: list[str], part: str
) -> None:
    with playing(tmp_path, **hungry(tmp_path / "site", part)) as program:
        program.until(lambda: finals(program) >= 2, 120, "captions")
        pid = processes(program, part)[0]
        with starve(pid, tmp_path / "site"):
            program.until(lambda: not psutil.pid_exists(pid), 120, "its end")
        assert f"{WHO[part]} was killed by the system for want of memory" in first_fault(program)
        serves_on(program, part, undisturbed)
        assert [fault["code"] for fault in faults(program)] == ["engine-out-of-memory"]


def test_an_utterance_that_ends_the_recognizer_twice_costs_itself_only(
    tmp_path: Path, undisturbed: list[str]
) -> None:
    text = DIES_OVER_THE_THIRD_FINAL.format(calls=str(tmp_path / "calls"))
    env = put_into_children(tmp_path / "site", "stt", text)
    # Every utterance is recognized once as a whole, so that the third call is for the third.
    once = {"STARK_TRANSLATE__VAD__EAGER_MS": "0", "STARK_TRANSLATE__VAD__REOPEN_MS": "0"}
    with playing(tmp_path, **env, **once) as program:
        program.until(lambda: finals(program) >= 5, 240, "captions")
        assert program.stop() == 0
        codes = [fault["code"] for fault in faults(program)]
        assert codes.count("engine-crashed") == 2
        assert codes.count("stt-failed") == 1
        journal = {line["id"]: line["source"]["text"] for line in program.journal()}
        third = [r for r in program.records() if r["id"] == 3]
        # Its last partial stands in, if there was one.
        assert 3 in journal or third[0]["filtered"] == "stt-failed"
        others = [number for number in (1, 2, 4) if number in journal]
        assert others == [1, 2, 4]
        # A pause is cut a little otherwise on a busy machine, and with it a comma.
        said, before = (
            [re.findall(r"\w+", t.lower()) for t in texts]
            for texts in ((journal[n] for n in others), (undisturbed[n - 1] for n in others))
        )
        assert said == before


@pytest.mark.parametrize("part", ["partial", "final"])
def test_a_translator_that_crashes_whenever_it_is_loaded_is_given_up_and_done_without(
    tmp_path: Path, part: str
) -> None:
    env = put_into_children(tmp_path / "site", part, CRASHES[part])
    for run in ("first", "after a restart"):
        with playing(tmp_path, **env) as program:
            program.until(lambda: finals(program) >= 2, 180, "captions")
            assert WHO[part].split()[1] in program.health()["setback"]
            assert program.stop() == 0
            told = [(fault["code"], fault["message"]) for fault in faults(program)]
            crashes = [message for code, message in told if code == "engine-crashed"]
            assert len(crashes) == (2 if run == "first" else 0)
            given_up = [message for code, message in told if code == "model-crashes"]
            assert len(given_up) == 1
            assert "free(): invalid pointer" in given_up[0]
            engine = {"partial": "gemma", "final": "marian"}[part]
            assert {line["target"]["engine"] for line in program.journal()} <= {engine, "source"}


def test_a_recognizer_that_crashes_whenever_it_is_loaded_ends_the_start_for_good(
    tmp_path: Path,
) -> None:
    env = put_into_children(tmp_path / "site", "stt", CRASHES["stt"])
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
    assert call("check", "--no-audio", "--port", "0", cwd=tmp_path, env=PATIENT).returncode == 0
    with playing(tmp_path) as program:
        program.wait_for("ready")
        assert program.stop() == 0


@PARTS
def test_check_survives_an_engine_that_crashes_and_says_which_and_of_what(
    tmp_path: Path, part: str
) -> None:
    env = put_into_children(tmp_path / "site", part, CRASHES[part])
    done = call("check", "--no-audio", "--port", "0", cwd=tmp_path, env=env | PATIENT)
    assert done.returncode == 1
    (red,) = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    name = {"stt": "model-stt", "partial": "model-marian", "final": "model-gemma"}[part]
    assert red.split()[1] == name
    assert "crashed (SIGABRT: free(): invalid pointer) while it loaded" in red
    assert "[engine-crashed]" in red
    assert "kernels: " in done.stdout or part == "final"


def test_a_gpu_that_fails_gets_fewer_layers_then_none_while_captions_go_on(
    tmp_path: Path, undisturbed: list[str]
) -> None:
    """The real model in a real child; its layers "on the GPU" die with it."""
    env = put_into_children(tmp_path / "site", "final", GPU.replace("{fault}", GPU_FAULTS["death"]))
    env["STARK_TRANSLATE__TRANSLATE__FINAL__GPU_LAYERS"] = "-1"
    with playing(tmp_path, **env) as program:
        reason = program.until(
            lambda: "CPU alone" in (said := program.health()["setback"]) and said, 300, "CPU"
        )
        assert "the final translator failed on the GPU; it runs on the CPU alone now" in reason
        layers = [
            line["gpu_layers"]
            for line in program.log
            if line.get("event") == "engine" and line["engine"] == "final"
        ]
        assert layers[:2] == [-1, -1]
        assert layers[2] == layers[3] > 0
        assert layers[4] == 0
        shown = finals(program)
        program.until(lambda: finals(program) >= shown + 2, 180, "finals on the CPU")
        assert program.stop() == 0
        assert program.journal()[-2]["target"]["engine"] == "gemma"
        codes = [fault["code"] for fault in faults(program)]
        assert codes.count("gpu-reduced") == 2
        texts = heard(program)
        assert texts[:-1] == undisturbed[: len(texts) - 1]


@pytest.mark.parametrize("stopped", ["", "stt", "partial", "final"])
def test_at_its_end_no_process_is_left_whatever_it_is_at(tmp_path: Path, stopped: str) -> None:
    env = {"STARK_TRANSLATE__SESSION__DRAIN_S": "1"}
    with playing(tmp_path, **env) as program:
        program.until(lambda: finals(program) >= 1, 120, "captions")
        children = psutil.Process(program.process.pid).children(recursive=True)
        if stopped:
            os.kill(processes(program, stopped)[0], signal.SIGSTOP)
            time.sleep(3)
        program.stop()
    _, alive = psutil.wait_procs(children, 20)
    assert not alive


def test_signals_to_every_process_of_the_service_end_it_as_one_to_the_daemon_does(
    tmp_path: Path, undisturbed: list[str]
) -> None:
    """As `pkill` does, and systemd with KillMode=control-group."""
    with playing(tmp_path) as program:
        program.until(lambda: finals(program) >= 2, 120, "captions")
        daemon = psutil.Process(program.process.pid)
        for each in [*daemon.children(recursive=True), daemon]:
            each.send_signal(signal.SIGTERM)
        assert program.end() == 0
        assert faults(program) == []
        texts = heard(program)
        assert texts[:-1] == undisturbed[: len(texts) - 1]
        assert {line["target"]["engine"] for line in program.journal()} == {"gemma"}


def test_the_daemon_itself_holds_no_library_of_an_engine(tmp_path: Path) -> None:
    with playing(tmp_path) as program:
        program.until(lambda: finals(program) >= 1, 120, "captions")
        maps = Path(f"/proc/{program.process.pid}/maps").read_text()
        assert [name for name in ("ctranslate2", "libllama", "libggml") if name in maps] == []
        used = [Path(f"/proc/{pid}/maps").read_text() for pid in (
            processes(program, "stt")[0], processes(program, "final")[0]
        )]  # fmt: skip
        assert "ctranslate2" in used[0]
        assert "libllama" in used[1]
        assert "ctranslate2" not in used[1]

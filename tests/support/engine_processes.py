"""Engine processes with the starter models, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipeline.core.errors import EngineGoneError
from pipeline.core.resources import bundled
from pipeline.core.types import Pcm
from pipeline.engines.process.engine_process import RecognizerProcess, TranslatorProcess
from pipeline.engines.specification import FINAL, QUICK, RECOGNIZER, EngineSpec
from pipeline.evaluation.reference import read_golden
from pipeline.models.resolve import resolve
from tests.support.needs import needs_file

TEXT = "Grace to you and peace."
PATIENT_S = 120.0


def spec(part: str, **arguments: Any) -> EngineSpec:
    needs_file(bundled("models", "starter"))
    match part:
        case "stt":
            model = resolve("stt", "starter")
            return EngineSpec("whisper", "whisper:starter", model, arguments, "stt")
        case "partial":
            model = resolve("marian", "starter")
            return EngineSpec("marian", "marian", model, arguments, "translate.partial")
    return EngineSpec("gemma", "gemma", resolve("gemma", "tiny"), arguments, "translate.final")


@cache
def golden_pcm() -> Pcm:
    """Return the audio of the golden sentence."""
    return read_golden(bundled("demo", "golden.json")).pcm


class Kept:
    """An engine process, its faults, and a suitable call."""

    def __init__(self, part: str, *, engine: EngineSpec | None = None, **options: Any) -> None:
        self.faults: list[tuple[str, str]] = []
        engine = engine or spec(part)
        options = {"hang_s": PATIENT_S} | options
        self.process: RecognizerProcess | TranslatorProcess
        if part == "stt":
            self.process = RecognizerProcess(engine, RECOGNIZER, **options)
        else:
            self.process = TranslatorProcess(
                engine, QUICK if part == "partial" else FINAL, **options
            )
            if part == "final":
                self.process.deadline_s = PATIENT_S
        self.reasons: list[str] = []
        self.process.listen(self._hear)

    def _hear(self, code: str, message: str) -> None:
        self.faults.append((code, message))
        self.reasons.append(self.process.degraded_reason)

    def ask(self) -> str:
        if isinstance(self.process, RecognizerProcess):
            return self.process.recognize(golden_pcm(), final=True).text
        return self.process.translate(TEXT).text

    @property
    def pid(self) -> int:
        pid = self.process.pid
        assert pid is not None
        return pid

    @property
    def codes(self) -> list[str]:
        return [code for code, _ in self.faults]


def ask_on(kept: Kept, ask: Callable[[], object] | None = None) -> None:
    """Ask until it raises."""
    until_s = time.monotonic() + 90
    while time.monotonic() < until_s:
        (ask or kept.ask)()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def ask_in_vain(kept: Kept) -> None:
    with pytest.raises(EngineGoneError):
        kept.ask()


@contextmanager
def kept_processes() -> Iterator[Callable[..., Kept]]:
    """Make engine processes, and check that none of them remains."""
    children = set(psutil.Process().children())
    made: list[Kept] = []

    def make(part: str, **options: Any) -> Kept:
        made.append(Kept(part, **options))
        return made[-1]

    yield make
    for kept in made:
        kept.process.close()
    assert set(psutil.Process().children()) == children, "a child is left"

"""Checks of a running service query its own engines, and neither start nor end them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from pipeline.check.audio import Heard
from pipeline.check.result import Result, results
from pipeline.check.running import RunningChecks
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.engines.process import factory
from pipeline.engines.protocols import TargetEngines
from pipeline.workers.base import Engines
from tests.support.fakes import FakeDetector, FakeRecognizer, FakeSource

PATIENT = {"translate.final.deadline_s": 120.0}


def speaks(seconds: float) -> Heard:
    return Heard(seconds, -20.0, 0.0, 2.0)


def told(settings: Settings, engines: Engines) -> dict[str, Result]:
    found = results(list(RunningChecks(settings, engines, speaks).checks()))
    return {result.name: result for result in found}


@pytest.mark.slow
def test_engines_that_run_are_tried_and_one_that_is_gone_is_red(tmp_path: Path) -> None:
    settings = load(flags=PATIENT | {"session.directory": str(tmp_path)}).settings
    with factory.engine_processes(settings, compare=False) as made:
        engines = Engines(
            source=FakeSource(np.zeros(512, np.float32)),
            detector=FakeDetector(),
            recognizer=made.recognizer,
            targets=made.targets,
        )
        for _, engine in engines.by_stage():
            engine.load()
        pids = [engine.pid for _, engine in engines.by_stage()]
        found = told(settings, engines)
        assert {name: result.message for name, result in found.items() if not result.ok} == {}
        assert "all evil" in found["golden-stt"].message
        assert "todo mal" in found["golden-marian"].message
        assert "Señor" in found["golden-gemma"].message
        assert found["model-gemma"].code == "starter-model"
        assert [engine.pid for _, engine in engines.by_stage()] == pids
        made.recognizer.close()
        gone = told(settings, engines)
    assert gone["model-stt"].code == "engine-gone"
    assert "golden-stt" not in gone
    assert gone["golden-marian"].ok


def test_an_engine_without_a_process_is_left_to_its_one_thread(tmp_path: Path) -> None:
    settings = load(flags={"session.directory": str(tmp_path)}).settings
    recognizer = FakeRecognizer([])
    engines = Engines(
        source=FakeSource(np.zeros(512, np.float32)),
        detector=FakeDetector(),
        recognizer=recognizer,
        targets=(TargetEngines("es", None, None),),
    )
    found = told(settings, engines)
    assert list(found) == ["dictionary", "sessions", "disk", "memory", "level"]
    assert found["level"].ok


def test_why_an_engine_is_degraded_is_one_sentence(tmp_path: Path) -> None:
    """A reason that ends with another error's message already has a full stop."""
    settings = load(flags={"session.directory": str(tmp_path)}).settings
    engines = Engines(FakeSource(np.zeros(512, np.float32)), FakeDetector(), FakeRecognizer([]), ())
    process = SimpleNamespace(
        pid=1,
        name="whisper",
        spec=SimpleNamespace(model=tmp_path),
        memory_bytes=5_000_000,
        degraded_reason="on the CPU instead of the GPU: it has no driver.",
    )
    looked = RunningChecks(settings, engines, speaks)._look(cast("Any", process))
    assert looked.message.endswith("runs, 5 MB. On the CPU instead of the GPU: it has no driver.")

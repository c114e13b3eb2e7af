"""A voice activity model that fails: loudness stands in for it, told once, until it works."""

from __future__ import annotations

import time

import numpy as np
import pytest

from pipeline.core.errors import EngineError
from pipeline.core.reports import Fault, Report
from pipeline.core.types import BLOCK_SAMPLES, Pcm
from pipeline.workers.vad_fallback import FallbackDetector
from tests.support.fakes import FakeDetector

LOUD = np.full(BLOCK_SAMPLES, 0.1, np.float32)
QUIET = np.full(BLOCK_SAMPLES, 0.001, np.float32)


class Failing(FakeDetector):
    """Fails until it is told not to; a working one calls everything a little likely."""

    def __init__(self) -> None:
        self.fails = True
        self.calls = 0
        self.resets = 0

    def probability(self, pcm: Pcm) -> float:
        self.calls += 1
        if self.fails:
            raise EngineError("vad-failed", "It was told to fail.")
        return 0.25

    def reset(self) -> None:
        self.resets += 1


def test_loudness_decides_while_the_model_fails_and_it_is_told_once() -> None:
    reports: list[Report] = []
    failing = Failing()
    steady = FallbackDetector(failing, reports.append)
    assert steady.degraded_reason == ""
    heard = [steady.probability(pcm) for pcm in (LOUD, QUIET, LOUD, LOUD, QUIET)]
    assert heard == [1.0, 0.0, 1.0, 1.0, 0.0]
    assert failing.calls == failing.resets == 1, "it is left alone for a while, with a new memory"
    assert reports == [Fault("listen", "vad-failed", "It was told to fail.")]
    assert "loudness" in steady.degraded_reason


def test_it_is_tried_again_and_used_as_soon_as_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.workers.vad_fallback._REST_S", (0.1, 0.1))
    reports: list[Report] = []
    failing = Failing()
    steady = FallbackDetector(failing, reports.append)
    assert steady.probability(LOUD) == 1.0
    time.sleep(0.12)
    assert steady.probability(LOUD) == 1.0
    assert len(reports) == 2
    failing.fails = False
    time.sleep(0.12)
    assert steady.probability(LOUD) == 0.25
    assert steady.degraded_reason == ""


def test_one_that_works_is_used_as_it_is() -> None:
    reports: list[Report] = []
    steady = FallbackDetector(FakeDetector(), reports.append)
    steady.load()
    steady.reset()
    assert steady.probability(LOUD) == 1.0
    assert steady.probability(0 * LOUD) == 0.0
    assert reports == []

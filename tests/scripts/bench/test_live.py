"""The program as the benchmark's display sees it."""

from __future__ import annotations

import pytest

from scripts.bench.live import at_recording_time, environment
from scripts.support.journal import message, record


def test_settings_reach_the_program_as_it_reads_them() -> None:
    variables = environment(["vad.silence_ms=200", "stt.model=whisper-base"])
    assert variables["STARK_TRANSLATE__VAD__SILENCE_MS"] == "200"
    assert variables["STARK_TRANSLATE__STT__MODEL"] == "whisper-base"
    assert environment([])["STARK_TRANSLATE__STT__MODEL"] == "starter"


def test_the_earliest_final_tells_when_the_recording_began() -> None:
    shown = [
        record(1, "amen", "amén", end_s=3.0, last_syllable_to_final_ms=500.0),
        record(2, "grace", "gracia", end_s=8.0, last_syllable_to_final_ms=500.0),
        record(3, "thank you for watching"),
    ]
    one, two = message(1, "amen", "amén"), message(2, "grace", "gracia")
    partial = message(2, "gray", "gris", final=False)
    # The recording began at 100; the first final reached the display 0.2 s late.
    found = at_recording_time([(103.7, one), (107.0, partial), (108.5, two)], shown)
    assert [each.at_s for each in found] == pytest.approx([3.7, 7.0, 8.5])
    assert [each.message for each in found] == [one, partial, two]
    assert at_recording_time([], []) == ()

"""Waits that suit a church's speakers, on services written down as the program writes them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config.loader import changed
from pipeline.config.schema import Settings, Vad
from pipeline.core.types import Mode
from pipeline.session.recorder import SessionRecorder
from pipeline.tuning.endpoint import ENOUGH, SERVICES, Pauses, propose, read_pauses
from scripts.support.records import utterance_record
from tests.support.services import STARTED


def pauses(*inside_ms: int) -> Pauses:
    return Pauses(3, ENOUGH, inside_ms)


def test_of_a_fluent_speaker_little_is_waited_for() -> None:
    endpoint = propose(pauses(*[96] * 100, *[160] * 30), Vad())
    assert endpoint is not None
    assert endpoint.values["vad.silence_ms"] == 160
    assert endpoint.values["vad.eager_ms"] == 64
    assert "200 captions of 3 services" in endpoint.why
    assert "15%" in endpoint.why


@pytest.mark.parametrize(
    ("inside_ms", "silence_ms", "eager_ms"),
    [
        ([250] * 50, 256, 64),
        ([250] * 300, 256, 128),
        ([120] * 300, 160, 128),
        ([90] * 300, 160, 96),
        ([1000] * 300, 416, 128),
        ([], 160, 64),
    ],
)
def test_of_one_who_pauses_in_the_middle_more(
    inside_ms: list[int], silence_ms: int, eager_ms: int
) -> None:
    endpoint = propose(pauses(*inside_ms), Vad())
    assert endpoint is not None
    assert endpoint.values["vad.silence_ms"] == silence_ms
    assert endpoint.values["vad.eager_ms"] == eager_ms


@pytest.mark.parametrize(("longest_ms", "reopen_ms"), [(0, 200), (200, 0), (300, 600), (1000, 200)])
def test_captions_are_cut_where_they_were_and_the_settings_are_valid(
    longest_ms: int, reopen_ms: int
) -> None:
    now = changed(Settings(), {"vad.reopen_ms": reopen_ms})
    endpoint = propose(pauses(*[longest_ms] * 500), now.vad)
    assert endpoint is not None
    vad = changed(now, endpoint.values).vad
    assert vad.eager_ms < vad.silence_ms
    before_ms = now.vad.silence_ms + reopen_ms
    assert vad.silence_ms + vad.reopen_ms == max(before_ms, vad.silence_ms)


def test_from_too_little_nothing_is_concluded() -> None:
    assert propose(replace(pauses(), utterances=ENOUGH - 1), Vad()) is None
    assert propose(Pauses(0, 0, ()), Vad()) is None


def hold(directory: Path, day: int, *pauses_ms: tuple[int, ...], mode: Mode = "live") -> Path:
    """Hold a service with a caption for each of these."""
    made = SessionRecorder(
        directory,
        source="en",
        targets=("es",),
        on_fault=print,
        started_utc=STARTED + timedelta(day),
    )
    made.start()
    for number, each in enumerate(pauses_ms, 1):
        record = utterance_record(number, "God is good.", mode=mode)
        made.record(replace(record, pauses_ms=each))
    made.close(5.0)
    return made.folder


def test_pauses_are_read_from_services_that_can_be_read_and_from_people(tmp_path: Path) -> None:
    hold(tmp_path, 0, (64, 320), ())
    hold(tmp_path, 1, (1000,), mode="demo")
    broken = hold(tmp_path, 2, (500,))
    (broken / "diagnostics.jsonl").write_bytes(b"{]\n")
    hold(tmp_path, 3, (128,))
    assert read_pauses(tmp_path) == Pauses(2, 3, (128, 64, 320))
    assert read_pauses(tmp_path / "nothing") == Pauses(0, 0, ())


def test_the_newest_services_count(tmp_path: Path) -> None:
    for day in range(SERVICES + 2):
        hold(tmp_path, day, (64 + day,))
    assert sorted(read_pauses(tmp_path).inside_ms) == [66 + day for day in range(SERVICES)]

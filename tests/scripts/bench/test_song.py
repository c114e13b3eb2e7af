"""Song mode in a service: what counts as lost, as lyric, as late."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

from pipeline.core.reports import SongChanged
from pipeline.core.types import SAMPLE_RATE, Utterance
from scripts.bench.song import Heard, Service, figures, hear
from scripts.support.program import SERMON


def said(start_s: float, end_s: float, *, is_song: bool = False, key: int = 1) -> Utterance:
    first, last = round(start_s * SAMPLE_RATE), round(end_s * SAMPLE_RATE)
    pcm = np.zeros(last - first, np.float32)
    return Utterance(key, 1, True, "silence", first, last, pcm, is_song=is_song)


def service() -> Service:
    return Service(
        sentences=[(1.0, 4.0), (41.0, 43.0)], songs=[(5.0, 40.0, "organ")], length_s=50.0
    )


def change(at_s: float, *, held: bool) -> tuple[float, SongChanged]:
    return at_s, SongChanged(held, "detector", 5.0, at_s)


def test_a_service_that_went_well() -> None:
    heard = Heard(
        [said(0.9, 4.1), said(5.5, 8.0, is_song=True, key=2), said(40.8, 43.1, key=3)],
        [change(10.0, held=True), change(43.2, held=False)],
    )
    found = figures(service(), heard)
    assert (found.lost, found.missed, found.lyric_finals, found.false_holds) == (0, 0, 0, 0)
    assert (found.hold_s, found.resume_s, found.taken_back) == ((5.0,), (2.2,), 1)


def test_a_service_that_did_not() -> None:
    heard = Heard(
        [said(0.9, 3.0), said(5.5, 8.0, key=2), said(42.5, 43.1, key=3)],
        [change(3.0, held=True), change(4.0, held=False)],
    )
    found = figures(service(), heard)
    assert (found.lost, found.missed, found.lyric_finals, found.false_holds) == (2, 1, 1, 1)
    assert found.lyric_seconds == 2.5


@pytest.mark.slow
def test_the_demo_sermon_with_its_hymn_is_heard_as_it_is_meant() -> None:
    pcm, _ = soundfile.read(SERMON, start=95 * SAMPLE_RATE, dtype="float32")
    whole = Service(
        audio=[np.asarray(pcm)],
        songs=[(107.4 - 95, 122.2 - 95, "organ")],
        sentences=[(122.8 - 95, 125.0 - 95)],
        length_s=len(pcm) / SAMPLE_RATE,
    )
    found = figures(whole, hear(whole))
    assert (found.lost, found.missed, found.lyric_finals, found.false_holds) == (0, 0, 0, 0)
    assert max(found.hold_s) < 6.5

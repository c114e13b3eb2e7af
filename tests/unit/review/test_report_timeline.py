"""The data that a report's timeline is drawn from."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pipeline.records.events import (
    CommandEvent,
    EndEvent,
    FaultEvent,
    Record,
    RungEvent,
    SongEvent,
    SourceEvent,
)
from pipeline.records.health import HealthRecord
from pipeline.review.report_timeline import (
    ReportedSession,
    session_timeline,
)
from scripts.support.journal import message, record, told, utc
from scripts.support.records import health_record


def health(at_s: float, **fields: Any) -> HealthRecord:
    return health_record(**{"utc": utc(at_s), "audio_s": at_s, "lag_s": 0.5, **fields})


def service(*more: Record, **fields: Any) -> ReportedSession:
    records = [record(n, f"said {n}", f"dicho {n}", **fields) for n in range(1, 10)]
    captions = [message(n, f"said {n}", f"dicho {n}") for n in range(1, 10)]
    return told(captions, [*records, *more])


def test_in_real_time_the_clock_is_that_of_the_health_records() -> None:
    session = service(health(0), health(100, audio_s=90.0))
    assert session.realtime
    assert session.at_s(utc(50)) == 45.0
    assert session.at_s(utc(500)) == 90.0


def test_a_file_played_fast_is_placed_by_its_utterances() -> None:
    records = [record(n, "said", "dicho", end_s=100.0 * n, utc=utc(2.0 * n)) for n in range(1, 10)]
    session = told([], [*records, health(1, audio_s=900.0)])
    assert not session.realtime
    assert session.at_s(utc(4)) == 200.0


def test_the_length_is_what_was_heard_or_at_least_what_was_said() -> None:
    assert service().length_s == 92.5
    assert service(EndEvent(utc=utc(99), unfinished=0, audio_s=120.5)).length_s == 120.5
    assert told([], []).length_s == 0.0
    assert told([], []).at_s(utc(5)) == 0.0


def test_a_microphone_that_is_back_is_no_trouble() -> None:
    session = service(
        SourceEvent(utc=utc(10), lost=True, message="lost"),
        SourceEvent(utc=utc(12), lost=False, message="back"),
        CommandEvent(utc=utc(13), name="pause", id=0),
        FaultEvent(utc=utc(14), stage="translate", code="final-late", message="late"),
    )
    assert [event.event for event in session.troubles] == ["source", "fault"]
    plot = session_timeline(session)
    for said in ("microphone lost: lost", "microphone back: back", "operator: pause", "late (fi"):
        assert said in plot
    assert len(re.findall('class="bad"', plot)) == 3  # two troubles and the legend


def test_states_that_stay_are_one_bar() -> None:
    calm = [health(10.0 * n, state=state) for n, state in enumerate(("listening", "speech") * 3)]
    lost = health(60.0, state="no-audio", reason="microphone lost")
    plot = session_timeline(service(*calm, lost, health(80.0, state="ended")))
    assert len(re.findall('<rect[^>]*class="calm"', plot)) == 1
    assert "<title>microphone lost</title>" in plot
    assert "ended" not in plot


def test_a_state_begins_where_its_event_was_and_not_at_the_next_record() -> None:
    said = {"state": "song", "reason": "Music"}
    held = SongEvent(utc=utc(12), held=True, by="detector", from_s=8.0, to_s=12.0)
    over = SongEvent(utc=utc(31), held=False, by="detector", from_s=8.0, to_s=31.0)
    records = [health(10.0), health(20.0, **said), health(30.0, **said), health(40.0)]
    [exact] = _music(session_timeline(service(*records, held, over)))
    [sampled] = _music(session_timeline(service(*records)))
    # Records are 10 s apart. The events start the bar 8 s earlier and end it 9 s earlier.
    assert exact[0] < sampled[0]
    assert exact[1] == pytest.approx(sampled[1] * 19 / 20, rel=0.02)


def _music(plot: str) -> list[tuple[float, float]]:
    """Return the start and the width of each bar of a song."""
    found = re.findall(r'<title>Music</title><rect x="([\d.]+)" y="\S+" width="([\d.]+)"', plot)
    return [(float(x), float(width)) for x, width in found]


def test_hidden_captions_are_not_drawn_and_filtered_ones_have_their_lane() -> None:
    shown = [message(1, "one", "uno"), message(4, "four", "four", engine="source", lang="en")]
    records = [
        record(1, "one", "uno"),
        record(2, "secret", "secreto"),
        record(3, "Thank you.", filtered="hallucination"),
        record(4, "four", "four"),
    ]
    plot = session_timeline(told(shown, records))
    assert "secret" not in plot
    assert 'href="#f3"' in plot
    assert "hallucination: Thank you." in plot
    assert 'class="engine-gemma"' in plot
    assert 'class="engine-source"' in plot
    assert 'class="engine-marian"' not in plot


def test_rungs_and_lag_are_drawn() -> None:
    plot = session_timeline(
        service(health(0), health(50, lag_s=8.0), RungEvent(utc=utc(40), rung="no-partials"))
    )
    assert plot.count('class="steps"') == 2
    assert "behind, 0–8 s" in plot


def test_a_service_without_captions_has_its_troubles_where_they_were() -> None:
    session = told([], [health(0), health(3600)])
    assert session.at_s(utc(1800)) == 1800.0

"""The summary of a session. test_diagnostics.py tests what the recorder writes of it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from pipeline.core.types import Check
from pipeline.records.events import FaultEvent, Record, SongEvent
from pipeline.records.health import Dropped
from pipeline.records.summary import (
    BINS_MS,
    TIMES,
    SummaryRecord,
    TermCount,
    pause_counts,
    summarized,
    term_counts,
)
from pipeline.records.utterance import UtteranceRecord
from scripts.support.records import health_record
from tests.support.utterances import draft, final, kept


def summary(*records: Record) -> SummaryRecord:
    return summarized(records, utc="now", session="s", dropped_records=4, pairs=1, review=2)


def spoken(**changes: Any) -> UtteranceRecord:
    return replace(kept(final(), draft()), **changes)


def test_a_session_without_a_word() -> None:
    made = summary()
    assert (made.utterances, made.corrected_share, made.latencies) == (0, None, {})
    assert made.dropped == {"records": 4}


def test_lost_tails_are_counted_and_those_that_a_second_look_gave() -> None:
    made = summary(
        spoken(lost_tail_s=1.5, tail_recovered=True),
        spoken(lost_tail_s=2.0, tail_recovered=False),
        spoken(lost_tail_s=0.0, tail_recovered=False),
    )
    assert (made.lost_tails, made.recovered_tails) == (2, 1)


def test_songs_are_counted_with_their_length() -> None:
    songs = [
        SongEvent(utc="now", held=held, by="detector", from_s=from_s, to_s=to_s)
        for held, from_s, to_s in [(True, 5.0, 10.0), (False, 5.0, 65.0), (True, 84.0, 90.0)]
    ]
    made = summary(*songs)
    assert (made.songs, made.song_s) == (2, 60.0)


def test_what_was_filtered_has_no_decision() -> None:
    flags = ("no-speech-prob:reject",)
    made = summary(spoken(filtered="no-speech", quality=None, flags=flags), spoken())
    assert made.filtered == {"no-speech": 1}
    assert made.decisions == {"moderate": 1}
    assert made.flags == {"no-speech-prob:reject": 1}


def test_exclusions_are_counted_each() -> None:
    judged = spoken().quality
    assert judged is not None
    quality = replace(judged, decision="reject")
    both = spoken(quality=replace(quality, excluded=("too-short", "length-ratio")))
    one = spoken(quality=replace(quality, excluded=("too-short",)))
    assert summary(both, one).excluded == {"too-short": 2, "length-ratio": 1}


def test_a_rule_counts_each_time_an_utterance_once() -> None:
    (god,) = spoken().corrections
    corrected = spoken(corrections=(god, god, replace(god, rule="zion")))
    made = summary(corrected, spoken(corrections=()))
    assert made.corrections == {"god": 2, "zion": 1}
    assert made.corrected_share == 0.5


@pytest.mark.parametrize(
    ("values", "p50_ms", "p95_ms"),
    [([5.0], 5.0, 5.0), ([4.0, 2.0], 2.0, 4.0), ([*range(1, 101)], 50, 95), ([0, 9, 9], 9, 9)],
)
def test_percentiles_are_values_that_occurred(
    values: list[float], p50_ms: float, p95_ms: float
) -> None:
    made = summary(*(spoken(final_ms=value) for value in values)).latencies["final_ms"]
    assert (made.count, made.p50_ms, made.p95_ms) == (len(values), p50_ms, p95_ms)


def test_the_last_health_counts_and_faults_by_code() -> None:
    records: list[Record] = []
    for audio_s, blocks in ((10.0, 0), (20.0, 5)):
        dropped = Dropped(blocks=blocks, records=0, partials=1, drafts=0)
        records.append(health_record(audio_s=audio_s, dropped=dropped))
    records += [
        FaultEvent(utc="now", stage="translate", code=code, message="Late.")
        for code in ("final-late", "stt-failed", "final-late")
    ]
    made = summary(*records)
    assert (made.audio_s, made.dropped["blocks"], made.dropped["records"]) == (20.0, 5, 4)
    assert made.faults == {"final-late": 2, "stt-failed": 1}


def test_a_time_that_no_utterance_has_is_left_out() -> None:
    assert set(summary(spoken(final_ms=None)).latencies) == set(TIMES) - {"final_ms", "held_ms"}


def test_every_time_of_a_record_is_told() -> None:
    silences = {"pauses_ms", "pause_before_ms"}  # the speaker's, not the program's
    assert set(TIMES) == {name for name in asdict(spoken()) if name.endswith("_ms")} - silences


def test_eager_runs_resumptions_and_pauses_are_counted() -> None:
    made = summary(
        spoken(eager=True, cancelled_runs=2, reopened=1, pauses_ms=(96, 320)),
        spoken(pause_before_ms=999),
        spoken(eager=True, pause_before_ms=1000),
    )
    assert (made.eager, made.cancelled_runs, made.reopened, made.splits) == (2, 2, 1, 1)
    assert {key: n for key, n in made.pauses["inside"].items() if n} == {"96": 1, "300": 1}
    assert {key: n for key, n in made.pauses["between"].items() if n} == {"600": 1, "1000": 1}


def test_silences_are_counted_by_the_beginning_of_their_bin() -> None:
    counts = pause_counts(
        [
            spoken(pauses_ms=(64, 95, 96, 199, 5000), pause_before_ms=640),
            spoken(pauses_ms=(), pause_before_ms=None),
            spoken(pauses_ms=(), pause_before_ms=32),
        ]
    )
    inside, between = counts["inside"], counts["between"]
    assert {key: count for key, count in inside.items() if count} == {
        "64": 2, "96": 1, "160": 1, "2000": 1,
    }  # fmt: skip
    assert {key: count for key, count in between.items() if count} == {"64": 1, "600": 1}
    assert list(inside) == list(between) == [str(least) for least in BINS_MS]


def test_each_entry_is_counted_by_what_became_of_it() -> None:
    right = Check("term", "right", "covenant", "pacto", "pacto", "covenant")
    many = Check("term", "right", "covenants", "pactos", "pactos", "covenant")
    other = Check("term", "right", "covenant", "alianza", "alianza", "covenant")
    repaired = Check("term", "repaired", "covenant", "acuerdo", "pacto", "covenant")
    refused = Check("term", "doubtful", "grace", "", "gracia", "grace")
    number = Check("number", "doubtful", "12")
    said = ((right, refused, number), (many,), (other,), (repaired,))
    assert term_counts(spoken(checks=checks) for checks in said) == {
        "covenant": TermCount(seen=4, right=3, repaired=1, refused=0, consistency=0.75),
        "grace": TermCount(seen=1, right=0, repaired=0, refused=1, consistency=None),
    }

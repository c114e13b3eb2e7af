"""Every code has an explanation in plain words."""

from __future__ import annotations

from typing import get_args

import pytest

from pipeline.records.events import (
    BrokenEvent,
    CommandEvent,
    DictionaryEvent,
    EventRecord,
    ModelsEvent,
    ModelUsed,
    OffRecordEvent,
    RecordsDroppedEvent,
    ReloadedEvent,
    ResumedEvent,
    RungEvent,
    SongEvent,
)
from pipeline.records.health import RUNG_NAMES
from pipeline.records.quality import FLAGS, Exclusion
from pipeline.review.wording import doubt, event_text, filter_reason
from scripts.support.journal import utc

NOW = utc(0)


@pytest.mark.parametrize("reason", [*FLAGS, *get_args(Exclusion), "low-score", "no-score"])
def test_a_doubt_is_told_without_its_code(reason: str) -> None:
    said = doubt(reason)
    assert ":" not in said
    assert "-" not in said
    assert said.endswith(" (strong doubt)") == reason.endswith(":reject")
    assert "logprob" not in said
    assert said.partition(" (")[0] != reason.partition(":")[0]  # a name alone explains nothing


def test_a_reason_that_a_later_version_adds_is_told_by_its_name() -> None:
    assert doubt("new-measure:flag") == "new measure"
    assert filter_reason("new-reason") == "new reason"
    assert filter_reason("stock-phrase") == "a phrase that recognizers make up"


@pytest.mark.parametrize("rung", RUNG_NAMES)
def test_every_step_that_gives_something_up_has_words(rung: str) -> None:
    said = event_text(RungEvent(utc=NOW, rung=rung))  # type: ignore[arg-type]
    assert said.startswith("given up to keep pace: ")
    assert rung == "behind" or rung not in said


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (BrokenEvent(utc=NOW, worker="listen", code="x", message="No."), "No. (x)"),
        (
            ModelsEvent(
                utc=NOW,
                models=(
                    ModelUsed(engine="gemma", setting="ours", file="", size_bytes=1, sha256=""),
                ),
            ),
            "models: gemma ours",
        ),
        (RecordsDroppedEvent(utc=NOW, count=3), "3 records could not be written"),
        (ResumedEvent(utc=NOW, captions=4, last_id=9), "started again; 4 captions were there"),
        (
            OffRecordEvent(utc=NOW, from_s=1.0, to_s=2.0, captions=2),
            "off the record; 2 captions were taken out",
        ),
        (CommandEvent(utc=NOW, name="hide", id=7), "operator: hide (caption 7)"),
        (CommandEvent(utc=NOW, name="pause", id=0), "operator: pause"),
        (
            SongEvent(utc=NOW, held=True, by="operator", from_s=1.0, to_s=1.0),
            "song: captions held by the operator",
        ),
        (
            SongEvent(utc=NOW, held=False, by="detector", from_s=1.0, to_s=181.0),
            "song over after 180 s",
        ),
        (DictionaryEvent(utc=NOW, rules=12), "dictionary: 12"),
        (
            ReloadedEvent(utc=NOW, live=("a", "b"), next_utterance=(), restart=("c",)),
            "reloaded: a, b, c",
        ),
    ],
)
def test_what_happened_is_told_in_words(event: EventRecord, said: str) -> None:
    assert event_text(event) == said

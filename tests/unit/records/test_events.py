"""A real session writes what schema/records describes, field by field."""

from __future__ import annotations

import orjson
import pytest

from pipeline.records.events import SongEvent
from tests.support.schemas import SCHEMA, problems
from tests.support.sessions import Session, broken, crowded, eventful


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[Session]:
    path = tmp_path_factory.mktemp("sessions")
    return [eventful(path / "a"), broken(path / "b"), crowded(path / "c")]


@pytest.mark.slow
def test_every_line_fits_the_schema_of_its_type(sessions: list[Session]) -> None:
    lines = [line for session in sessions for line in session.lines()]
    assert {line["type"] for line in lines} == {"utterance", "health", "event", "summary"}
    for line in lines:
        assert problems(f"records/{line['type']}", line) == [], line


@pytest.mark.slow
def test_every_event_that_the_schema_knows_happens(sessions: list[Session]) -> None:
    kinds = orjson.loads((SCHEMA / "records" / "event.json").read_bytes())["$defs"].values()
    known = {kind["properties"]["event"]["const"] for kind in kinds if "event" in kind["required"]}
    happened = {event["event"] for session in sessions for event in session.records("event")}
    assert happened == known - {"song"}  # nobody sings in them


def test_a_song_fits_its_schema() -> None:
    event = SongEvent(
        utc="2026-11-22T10:00:00.000+00:00", held=True, by="detector", from_s=1, to_s=6
    )
    assert problems("records/event", orjson.loads(orjson.dumps(event))) == []


@pytest.mark.slow
def test_journal_and_pairs_fit_their_schemas(sessions: list[Session]) -> None:
    session = sessions[0]
    for name, schema in (
        ("captions.jsonl", "messages/caption"),
        ("sermon_pairs.jsonl", "records/pair"),
        ("review_queue.jsonl", "records/review"),
    ):
        lines = session.lines(name)
        assert lines
        for line in lines:
            assert problems(schema, line) == [], line


@pytest.mark.slow
def test_pairs_are_what_was_shown_at_the_end(sessions: list[Session]) -> None:
    pairs = {pair["id"]: pair for pair in sessions[0].lines("sermon_pairs.jsonl")}
    assert pairs[1]["target"] == "Corregido"
    assert pairs[1]["engine"] == "operator"
    assert pairs[1]["source"] == "sentence Number one is spoken"
    assert pairs[1]["raw_source"] == "sentence number one is spoken"
    assert 3 not in pairs
    queue = [(each["id"], each["reasons"]) for each in sessions[0].lines("review_queue.jsonl")]
    # The quick translator turned "four" into "fouro": only the rules flag it.
    assert queue == [(2, ["estimate:flag"]), (4, ["doubt:flag"])]


@pytest.mark.slow
@pytest.mark.parametrize("change", ["field more", "field less", "other type"])
def test_the_schema_would_tell(sessions: list[Session], change: str) -> None:
    line = sessions[0].records("utterance")[0]
    if change == "field more":
        line["quality"]["mood"] = "good"
    elif change == "field less":
        del line["overhead_ms"]
    else:
        line["start_s"] = "2.0"
    assert len(problems("records/utterance", line)) == 1

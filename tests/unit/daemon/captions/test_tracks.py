"""Which results for an utterance are still valid, and which steps wait for others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipeline.core.types import Caption, Cause, Transcript, Utterance
from pipeline.daemon.captions.tracks import Track, Tracks
from tests.support.utterances import UTC, final, transcript


def utterance(revision: int, cause: Cause, **changes: Any) -> Utterance:
    is_final = cause not in ("partial", "eager", "resumed")
    known = transcript().utterance
    return replace(known, revision=revision, cause=cause, final=is_final, **changes)


def heard(of: Utterance, **changes: Any) -> Transcript:
    return replace(transcript(), utterance=of, **changes)


def made(of: Utterance, text: str = "La gracia de Dios.") -> Caption:
    return final(text, heard(of))


def finish(tracks: Tracks, caption: Caption) -> Track | None:
    return tracks.finish(caption, 101.0, mode="live", utc=UTC)


def test_what_comes_after_the_close_is_final_at_once() -> None:
    tracks = Tracks()
    assert tracks.close(utterance(4, "silence")) is None
    shown = tracks.final_caption(made(utterance(3, "eager")))
    assert shown is not None
    assert shown.transcript.utterance.cause == "silence"
    filtered = tracks.final_transcript(heard(utterance(3, "eager"), filtered="no-speech"))
    assert filtered is not None
    assert filtered.utterance.final


def test_what_was_made_before_speech_returned_does_not_count() -> None:
    tracks = Tracks()
    eager = utterance(3, "eager")
    tracks.final_caption(made(eager))
    tracks.resume(utterance(4, "resumed"))
    assert tracks.is_stale(eager)
    assert not tracks.is_stale(utterance(5, "eager"))
    assert tracks.close(utterance(6, "silence")) is None, "nothing that was prepared is left"
    record = finish(tracks, made(utterance(6, "silence")))
    assert record is not None
    assert record.record is not None
    assert (record.record.cancelled_runs, record.record.reopened) == (1, 0)
    assert not record.record.eager


def test_the_record_of_a_final_that_may_be_resumed_waits() -> None:
    tracks = Tracks()
    closed = utterance(4, "silence", can_resume=True)
    tracks.close(closed)
    assert list(tracks.ids_since(1_000.0)) == [7]
    assert finish(tracks, made(closed)) is None
    assert list(tracks.ids_since(1_000.0)) == []
    assert tracks.is_stale(closed), "its final is out"
    assert tracks.unfinished == 0
    settled = tracks.settle(7)
    assert settled is not None
    assert settled.caption is not None
    assert tracks.settle(7) is None
    assert 7 not in tracks


def test_a_final_that_comes_after_it_has_settled_is_recorded_at_once() -> None:
    tracks = Tracks()
    closed = utterance(4, "silence", can_resume=True)
    tracks.close(closed)
    assert tracks.settle(7) is None
    assert tracks.unfinished == 1
    assert finish(tracks, made(closed)) is not None

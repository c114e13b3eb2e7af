"""What becomes of the workers' reports: captions on the board, records, news for every sink.

Belongs to the event loop's thread.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

import structlog

from pipeline.captions.redaction import Redaction
from pipeline.core.timestamps import utc_now
from pipeline.core.types import (
    Caption,
    Comparison,
    Fault,
    Level,
    SourceChanged,
    Transcript,
    Utterance,
)
from pipeline.daemon.context import DaemonContext
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.comparison import compare_record
from pipeline.records.utterance import UtteranceRecord, filtered_record, utterance_record

log = structlog.get_logger()

_PURGED = 1_000
"""Ids remembered of captions that are gone, for comparisons that come late."""


@dataclass(slots=True)
class Track:
    """What happened to an utterance on its way, until its record is written."""

    closed_s: float | None = None
    """When its final was closed; None while it is being spoken."""
    draft: Caption | None = None
    shown: list[str] = field(default_factory=list)
    first_shown_s: float | None = None


class CaptionCoordinator:
    """Follows every utterance from its first partial to its record, and tells the sinks."""

    def __init__(self, context: DaemonContext) -> None:
        self._facts = context.facts
        self._announcer = context.announcer
        self._board = context.board
        self._sinks = context.sinks
        self._record_s = 0.0
        """Where in the audio the last stretch off the record has ended."""
        self._purged: deque[int] = deque(maxlen=_PURGED)
        self._tracks: dict[int, Track] = {}

    def lag_s(self, now_s: float, *, but: int | None = None) -> float:
        """Return the age of the oldest closed utterance without a final caption.

        The one whose id is `but` does not count.
        """
        closed = [
            track.closed_s
            for key, track in self._tracks.items()
            if track.closed_s is not None and key != but
        ]
        return now_s - min(closed) if closed else 0.0

    @property
    def unfinished(self) -> int:
        """Closed utterances that have neither a final caption nor a reason to have none."""
        return sum(track.closed_s is not None for track in self._tracks.values())

    def on_closed(self, utterance: Utterance) -> None:
        """Note that a final utterance is on its way."""
        if self._off_record(utterance):
            return
        self._tracks.setdefault(utterance.id, Track()).closed_s = utterance.closed_s

    def show(self, caption: Caption) -> None:
        """Publish a caption; with a final, write the journal and the utterance's record."""
        if self._off_record(caption.transcript.utterance):
            return
        message = self._board.show(caption)
        if message is None and caption.id not in self._tracks:
            return  # it is long final: a late partial, or an engine that hung and came back
        published_s = time.monotonic()
        track = self._tracks.setdefault(caption.id, Track())
        if message is not None:
            self.publish(message)
            for sink in self._sinks:
                sink.on_translated(caption)
            track.shown.append(caption.text)
            if track.first_shown_s is None:
                track.first_shown_s = published_s
        if not caption.final:
            if caption.transcript.utterance.final and track.draft is None:
                track.draft = caption
            return
        self._tracks.pop(caption.id)
        record = utterance_record(
            caption,
            draft=track.draft,
            shown=track.shown,
            published_s=published_s,
            first_shown_s=track.first_shown_s,
            mode=self._facts.mode,
            utc=utc_now(),
            queues={"unfinished": self.unfinished},
        )
        self._keep(record)

    def on_comparison(self, comparison: Comparison) -> None:
        """Keep a second final, and show it to operators."""
        if comparison.id in self._purged:
            return
        record = compare_record(comparison, utc=utc_now())
        for sink in self._sinks:
            sink.on_comparison(record)

    def on_filtered(self, transcript: Transcript) -> None:
        """Take back what was shown of a text that turned out not to be one, and record it."""
        if self._off_record(transcript.utterance):
            return
        track = self._tracks.pop(transcript.utterance.id, Track())
        self.publish(self._board.retract(transcript.utterance.id))
        record = filtered_record(
            transcript, mode=self._facts.mode, utc=utc_now(), shown=track.shown
        )
        self._keep(record)
        log.info("filtered", id=transcript.utterance.id, reason=transcript.filtered)
        log.debug("filtered text", id=transcript.utterance.id, text=transcript.raw_text)

    def on_level(self, level: Level) -> None:
        """Pass the input level on, and what it says of the state."""
        self._facts.is_speaking = level.speaking
        for sink in self._sinks:
            sink.on_level(level)
        self._announcer.announce()

    def on_fault(self, fault: Fault) -> None:
        """Log and record an error that the service goes on after."""
        log.warning("fault", stage=fault.stage, code=fault.code, message=fault.message)
        for sink in self._sinks:
            sink.on_fault(fault)

    def on_source(self, change: SourceChanged) -> None:
        """Show that the microphone is lost, or back."""
        log.warning("source", lost=change.lost, message=change.message)
        for sink in self._sinks:
            sink.on_source(change)
        self._facts.source_lost = change.message if change.lost else ""
        self._facts.is_speaking = False
        self._announcer.announce()

    @property
    def open_ids(self) -> tuple[int, ...]:
        """The utterances that are being spoken, or wait for their final."""
        return tuple(self._tracks)

    def redact(self, redaction: Redaction) -> set[int]:
        """Take what was said in a stretch of time off every screen; return the ids that go."""
        removed = self._board.purge(redaction)
        ids = {*redaction.ids, *(message.id for message in removed)}
        self._tracks.clear()
        self._purged.extend(ids)
        for sink in self._sinks:
            sink.on_redaction(redaction, removed)
        return ids

    def return_to_record(self, at_s: float) -> None:
        """Drop all that workers still report of what began before `at_s` of the audio."""
        self._record_s = at_s

    def _off_record(self, utterance: Utterance) -> bool:
        """Whether an utterance began before the record was last resumed: it is of no use now.

        What had its final by then needs nothing more, and what had none is not to get one.
        """
        if not (self._facts.off_record or utterance.start_s < self._record_s):
            return False
        if utterance.id not in self._purged:
            self._purged.append(utterance.id)
        return True

    def publish(self, message: CaptionMessage | None) -> None:
        """Show and keep a new version of a caption; None is no change."""
        if message is not None:
            for sink in self._sinks:
                sink.on_caption(message)

    def _keep(self, record: UtteranceRecord) -> None:
        for sink in self._sinks:
            sink.on_utterance(record)

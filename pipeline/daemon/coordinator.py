"""The main thread's desk: every report of a worker ends up on the board, the displays, the record.

Runs on the asyncio loop only. What state the daemon is in is not stored but worked out of a few
plain facts, so that no two of them can disagree.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import structlog

from pipeline.captions.board import CaptionBoard
from pipeline.captions.redaction import Redaction
from pipeline.core.errors import ProtocolError
from pipeline.core.metrics import Metrics
from pipeline.core.timestamps import utc_now
from pipeline.core.types import (
    Caption,
    Comparison,
    Fault,
    Level,
    Mode,
    SourceChanged,
    State,
    Transcript,
    Utterance,
)
from pipeline.daemon.operator_commands import OperatorCommands
from pipeline.daemon.screen import Screen
from pipeline.dictionary.store import Dictionary
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.commands import CommandMessage, caption_of
from pipeline.records.comparison import compare_record
from pipeline.records.events import FaultEvent, SourceEvent
from pipeline.records.utterance import UtteranceRecord, filtered_record, utterance_record
from pipeline.server.hub import Hub
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import REASON, Degradation, Rung

log = structlog.get_logger()

OFF_RECORD = "off the record"
OFF_RECORD_OWED = "what was said off the record is still in the files"

_MARK_S = 0.25
"""So long, at most, a disk may hold up everything when somebody goes off the record."""

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
    """Publishes captions and states, writes records, answers operators."""

    def __init__(
        self,
        *,
        board: CaptionBoard,
        hub: Hub,
        dictionary: Dictionary,
        recorder: SessionRecorder,
        metrics: Metrics,
        ladder: Degradation,
        screen: Screen,
        mode: Mode,
        off_record_s: float,
        heard_s: Callable[[], float],
    ) -> None:
        """Take the parts. `heard_s` tells where in the session's audio it is."""
        self._board = board
        self._hub = hub
        self._recorder = recorder
        self._metrics = metrics
        self._ladder = ladder
        self._screen = screen
        self._mode = mode
        self.controls = OperatorCommands(
            board=board,
            dictionary=dictionary,
            operators=hub.operators,
            recorder=recorder,
            publish=self._publish,
            off_record_s=off_record_s,
        )
        self._heard_s = heard_s
        self._record_s = 0.0
        """Where in the audio the last stretch off the record has ended."""
        self._purged: deque[int] = deque(maxlen=_PURGED)
        self._tracks: dict[int, Track] = {}
        self._speaking = False
        self._last_state: tuple[State, str] | None = None
        self.begun = False
        self.ended = False
        self.source_lost = ""
        self.broken = ""
        """Why the daemon cannot go on."""
        self.degraded = ""
        """Which engine is set aside."""

    @property
    def state(self) -> tuple[State, str]:
        """The state to show, and why."""
        rung = self._ladder.rung
        purging = OFF_RECORD_OWED if self._recorder.purging else ""
        disk = self._recorder.setback
        reason = _all(REASON[rung] or self.degraded, purging, disk)
        lost = _all(self.source_lost, disk)
        controls = self.controls
        facts: list[tuple[object, State, str]] = [
            (self.ended, "ended", ""),
            (self.broken, "fault", self.broken),
            (not self.begun, "starting", ""),
            (controls.off_record, "blank", _all(OFF_RECORD, purging, lost)),
            # Displays are dark in this state only, so a pause must not light them up again.
            # A microphone that is lost meanwhile is told, so that it is there when they go on.
            (
                controls.blank and controls.paused,
                "blank",
                _all("blanked and paused by the operator", lost),
            ),
            (controls.blank, "blank", _all("blanked by the operator", lost)),
            (controls.paused, "paused", _all("paused by the operator", lost)),
            (self.source_lost, "no-audio", lost),
            (rung >= Rung.SOURCE_CAPTIONS, "behind", reason),
            (self._speaking, "speech", reason),
        ]
        return next(((s, why) for fact, s, why in facts if fact), ("listening", reason))

    def announce(self) -> None:
        """Tell every display and the terminal if the state has changed."""
        if self.state != self._last_state:
            self._last_state = self.state
            self._hub.set_state(*self.state)
            self._screen.state(*self.state)

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

    def closed(self, utterance: Utterance) -> None:
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
            self._publish(message)
            kind = "final" if caption.final else "partial"
            self._metrics.captions.labels(kind, caption.engine).inc()
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
            mode=self._mode,
            utc=utc_now(),
            queues={"unfinished": self.unfinished},
        )
        self._keep(record)

    def compared(self, comparison: Comparison) -> None:
        """Keep a second final, and show it to operators."""
        if comparison.id in self._purged:
            return
        record = compare_record(comparison, utc=utc_now())
        self._recorder.record(record)
        self._hub.operators.compare(record)

    def filtered(self, transcript: Transcript) -> None:
        """Take back what was shown of a text that turned out not to be one, and record it."""
        if self._off_record(transcript.utterance):
            return
        track = self._tracks.pop(transcript.utterance.id, Track())
        self._publish(self._board.retract(transcript.utterance.id))
        record = filtered_record(transcript, mode=self._mode, utc=utc_now(), shown=track.shown)
        self._keep(record)
        log.info("filtered", id=transcript.utterance.id, reason=transcript.filtered)
        log.debug("filtered text", id=transcript.utterance.id, text=transcript.raw_text)

    def level(self, level: Level) -> None:
        """Pass the input level on, and what it says of the state."""
        self._speaking = level.speaking
        self._hub.operators.level(level.dbfs, level.clipped)
        self._screen.level(level)
        self.announce()

    def fault(self, fault: Fault) -> None:
        """Log and record something that went wrong."""
        log.warning("fault", stage=fault.stage, code=fault.code, message=fault.message)
        self._recorder.record(FaultEvent(utc=utc_now(), **asdict(fault)))
        self._metrics.engine_errors.labels(fault.stage).inc()
        self._hub.operators.fault(fault)
        self._screen.fault(fault)

    def source(self, change: SourceChanged) -> None:
        """Show that the microphone is lost, or back."""
        log.warning("source", lost=change.lost, message=change.message)
        self._recorder.record(SourceEvent(utc=utc_now(), **asdict(change)))
        self.source_lost = change.message if change.lost else ""
        self._speaking = False
        self.announce()

    def command(self, command: CommandMessage) -> None:
        """Do what an authorized operator asks. Raises ProtocolError."""
        was_off_record = self.controls.off_record
        if command.name == "off-record" and not was_off_record:
            self._leave_record()
        try:
            self.controls.obey(command)
        except ProtocolError:
            if command.name == "undo":  # what could not be taken back is forgotten all the same
                self._hub.operators.done(self.controls.done("undo"))
            raise
        if was_off_record and not self.controls.off_record:
            self._record_s = self._heard_s()
        log.info("command", name=command.name, id=caption_of(command))
        self.announce()
        self._hub.operators.done(self.controls.done(command.name))

    def _off_record(self, utterance: Utterance) -> bool:
        """Whether an utterance began before the record was last resumed: it is of no use now.

        What had its final by then needs nothing more, and what had none is not to get one.
        """
        if not (self.controls.off_record or utterance.start_s < self._record_s):
            return False
        if utterance.id not in self._purged:
            self._purged.append(utterance.id)
        return True

    def _leave_record(self) -> None:
        """Make everything forget what has just been said, and what is being said."""
        to_s = self._heard_s()
        from_s = max(0.0, to_s - self.controls.off_record_s)
        purge = Redaction(from_s, to_s, tuple(self._tracks))
        self._recorder.purge(purge)  # first: what follows could be cut short
        self.controls.off_record = True
        self.announce()
        gone = self._board.purge(purge)
        for message in gone:
            self._hub.publish(message)
        ids = {*purge.ids, *(message.id for message in gone)}
        self._tracks.clear()
        self._purged.extend(ids)
        self.controls.forget(ids)
        self._hub.operators.purge(purge)
        self._screen.purge()
        # Everything is hidden; who commanded it is answered when not even a kill can undo it.
        self._recorder.await_mark(_MARK_S)
        log.warning("off the record", captions=len(gone), from_s=round(from_s, 1))

    def _keep(self, record: UtteranceRecord) -> None:
        self._recorder.record(record)
        self._hub.operators.utterance(record)
        self._metrics.utterance(
            corrections=len(record.corrections),
            filtered=record.filtered,
            stage_ms={
                "stt": record.stt_ms,
                "partial": record.partial_ms,
                "final": record.final_ms,
                "overhead": record.overhead_ms,
            },
            latency_ms={
                "partial": record.last_syllable_to_partial_ms,
                "final": record.last_syllable_to_final_ms,
            },
        )
        self._screen.utterance(record)

    def _publish(self, message: CaptionMessage | None) -> None:
        if message is not None:
            # First: what was shown must outlive us. It keeps finals only.
            self._recorder.caption(message)
            self._hub.publish(message)
            self._screen.caption(message)


def _all(*reasons: str) -> str:
    """Return the reasons that there are, in one."""
    return "; ".join(filter(None, reasons))

"""Turn the workers' reports into captions on the board, records, and calls of every sink.

Belongs to the event loop's thread.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import structlog

from pipeline.captions.redaction import Redaction
from pipeline.core.errors import ProtocolError
from pipeline.core.formats import utc_now
from pipeline.core.reports import Fault, Level, SongChanged, SourceChanged
from pipeline.core.types import Caption, Comparison, Transcript, Utterance
from pipeline.daemon.captions.tracks import Track, Tracks
from pipeline.daemon.context.context import DaemonContext, Target
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.utterance import compare_record, translation_record

log = structlog.get_logger()

_PURGED = 1_000
"""The number of removed captions whose ids are remembered, for comparisons that come late."""


class CaptionCoordinator:
    """Follows every utterance from its first partial to its record, and notifies the sinks."""

    def __init__(self, context: DaemonContext, target: Target) -> None:
        self._lang = target.lang
        self._is_first = target is context.targets[0]
        self._facts = context.facts
        self._announcer = context.announcer
        self._board = target.board
        self._verses = target.verses
        self.doubts = target.doubts
        self._sinks = target.sinks
        self._leaving = Redaction(0.0, 0.0)
        """The last period that was taken off the record."""
        self._off_stretches: list[Redaction] = []
        """All finished periods off the record, each up to the return to the record."""
        self._purged: deque[int] = deque(maxlen=_PURGED)
        self.tracks = Tracks()
        self._released: list[Caption] = []
        """Finals that an operator has released and that have settled since."""
        self._hidden: deque[int] = deque(maxlen=_PURGED)
        """Captions hidden from the screens because an interpreter repeated an earlier caption."""

    def on_closed(
        self, utterance: Utterance, show: Callable[[Caption], Caption | None] | None = None
    ) -> Caption | None:
        """Note that an utterance is closed. A result prepared for it becomes its final.

        `show` shows a prepared caption (default: `self.show`), and its result is returned.
        """
        if self._off_record(utterance):
            return None
        match self.tracks.close(utterance):
            case Caption() as prepared:
                return (show or self.show)(prepared)
            case Transcript() as prepared:
                self.on_filtered(prepared)
        return None

    def on_resumed(self, utterance: Utterance) -> CaptionMessage | None:
        """Forget the results for an utterance, because its speaker has gone on.

        Reopens its caption and returns it; None if it had no final on screen.
        """
        if self._off_record(utterance):
            return None
        # First: a text that is held for the operator is no longer valid.
        self.doubts.release(utterance.id)
        self.tracks.resume(utterance)
        reopened = self._board.reopen(utterance.id)
        self.publish(reopened)
        return reopened

    def on_settled(self, utterance_id: int) -> Caption | None:
        """Write the record of a final that can no longer be resumed, if it is published."""
        return self._keep(self.tracks.settle(utterance_id))

    def settle(self) -> None:
        """Write the records of all published finals."""
        for track in self.tracks.settle_all():
            self._keep_released(track)

    def show(self, caption: Caption, change: Callable[[], None] | None = None) -> Caption | None:
        """Publish a caption; with a final, write the journal and the utterance's record.

        `change` publishes an operator's change of the final, which nobody may see without it.
        The final of an eager utterance waits until the utterance is closed. A doubtful final waits
        for an operator. A record waits until its final has settled. Returns the settled final.
        """
        utterance = caption.transcript.utterance
        if self._off_record(utterance) or self.tracks.is_stale(utterance):
            return None
        is_again = (
            caption.repeats is not None and self._facts.settings.translate.interpreter == "hidden"
        )
        # A late result of an engine that hung; or a repetition, where only the final counts.
        if caption.id in self.doubts or (is_again and not caption.final):
            return None
        if caption.final:
            final = self.tracks.final_caption(caption)
            # An eager final waits in the track until its utterance is closed (`on_closed`).
            if final is None:
                return None
            caption, utterance = final, final.transcript.utterance
        # `_put_aside` also shows a hidden caption again if it now says more.
        if caption.final and (is_again or caption.id in self._hidden):
            track = self._put_aside(caption, is_again=is_again)
            if change is not None:
                change()
            return self._keep(track)
        if caption.final and caption.id in self.tracks:  # not a late result
            caption = self._verses.look(caption)
            is_held = change is None and self.doubts.wants(caption)
            if is_held and not self._board.has_final(caption.id):
                # The time that it waits for the operator is not lag.
                self.tracks.of(caption.id).is_held = True
                # Nothing else changes the caption meanwhile, so its next revision is this final.
                revision = self._board.revision(caption.id) + 1
                self.doubts.hold(caption, time.monotonic(), revision)
                return None
        marked = self.doubts.is_marked(caption)
        track = self._put_out(caption, marked=marked, quietly=change is not None)
        if change is not None:
            change()
        return self._keep(track)

    def _put_aside(self, caption: Caption, *, is_again: bool) -> Track | None:
        """Hide a repeated final once (an operator may show it). Show it again if it says more."""
        is_theirs = self._board.has_final(caption.id)  # an operator has written it meanwhile
        track = self._put_out(caption, marked=False, quietly=True)
        # The board may have dropped a caption that was filled in late.
        with suppress(ProtocolError):
            if is_again and caption.id not in self._hidden:
                if not is_theirs:
                    self._hidden.append(caption.id)
                    self.publish(self._board.hide(caption.id))
                return track
            if not is_again:
                self._hidden.remove(caption.id)
                self._board.unhide(caption.id)
            if (message := self._board.message(caption.id)).target.text:
                self.publish(message)
        return track

    def revision(self, caption_id: int) -> int:
        """Return the revision of a caption's newest version, which may be a held final."""
        return self._board.revision(caption_id) + (caption_id in self.doubts)

    def _release(self, caption_id: int, *, quietly: bool = False) -> Track | None:
        """Show a held doubtful final with its mark. Do nothing if there is none.

        `quietly`: put it only on the board, for `deciding`. Returns the track if it has settled.
        """
        held = self.doubts.release(caption_id)
        if held is None:
            return None
        track = self.tracks.of(caption_id)
        track.is_held, track.held_s = False, time.monotonic() - held.since_s
        return self._put_out(held.caption, marked=True, quietly=quietly)

    def _keep_released(self, track: Track | None) -> None:
        if final := self._keep(track):
            self._released.append(final)

    @contextmanager
    def deciding(self, caption_id: int) -> Iterator[None]:
        """Let an operator change a held final before anybody has seen it.

        If the operator changes nothing, the final is shown unchanged.
        """
        if caption_id not in self.doubts:
            yield
            return
        # Quietly: displays must not briefly show a text that is about to change.
        settled = self._release(caption_id, quietly=True)
        before = self._board.message(caption_id)
        try:
            yield
        finally:
            # Compare by identity: every change of a caption makes a new message.
            if self._board.message(caption_id) is before:
                self.publish(before)
            # Last, so that the settled caption is sent as the operator decided.
            self._keep_released(settled)

    def release_due(self, now_s: float) -> list[Caption]:
        """Show the doubtful finals that have waited long enough.

        Returns the finals that have settled since the last call, also those released by operators.
        """
        for key in self.doubts.due(now_s):
            self._keep_released(self._release(key))
        released, self._released = self._released, []
        return released

    def release_all(self) -> None:
        """Show all held finals, because no operator will look at them any more."""
        for key in self.doubts.ids:
            self._keep_released(self._release(key))

    def _put_out(self, caption: Caption, *, marked: bool, quietly: bool = False) -> Track | None:
        """Show a caption; return its track if it has settled, for `_keep`."""
        utterance = caption.transcript.utterance
        message = self._board.show(caption, marked=marked)
        if message is None and caption.id not in self.tracks:
            return None  # already final: this is a late partial or from an engine that hung
        track = self.tracks.of(caption.id)
        # Before the sinks: their time does not count as the engines' time.
        published_s = time.monotonic()
        if message is not None and not quietly:
            self._publish_of(track, utterance, message)
            for sink in self._sinks:
                sink.on_translated(caption)
            track.note_shown(caption.text, published_s)
        if caption.final:
            mode = self._facts.mode
            return self.tracks.finish(caption, published_s, mode=mode, utc=utc_now())
        # Only the first: the final translator's words, laid over the draft, are captions as well.
        if utterance.is_whole and track.draft is None:
            track.draft = caption
        return None

    def on_comparison(self, comparison: Comparison) -> None:
        """Record a second final, and show it to operators."""
        if comparison.id in self._purged:
            return
        record = compare_record(comparison, utc=utc_now())
        for sink in self._sinks:
            sink.on_comparison(record)

    def on_filtered(self, transcript: Transcript) -> None:
        """Retract the caption of a transcript that was filtered out, and record it."""
        utterance = transcript.utterance
        if self._off_record(utterance) or self.tracks.is_stale(utterance):
            return
        final = self.tracks.final_transcript(transcript)
        if final is None:
            return
        utterance, track = final.utterance, self.tracks.of(utterance.id)
        self._publish_of(track, utterance, self._board.retract(utterance.id))
        if self._is_first:  # log it once, not for each language
            log.info("filtered", id=utterance.id, reason=final.filtered)
            # Only at debug level: systemd keeps the log, and words cannot be purged from it.
            log.debug("filtered text", id=utterance.id, text=final.raw_text)
        self._keep(self.tracks.drop(final, mode=self._facts.mode, utc=utc_now()))

    def on_level(self, level: Level) -> None:
        """Pass on the input level, and update the state by it."""
        self._facts.is_speaking = level.speaking
        for sink in self._sinks:
            sink.on_level(level)
        self._announcer.announce()

    def on_fault(self, fault: Fault) -> None:
        """Log and record an error that does not end the service."""
        log.warning("fault", stage=fault.stage, code=fault.code, message=fault.message)
        for sink in self._sinks:
            sink.on_fault(fault)

    def on_source(self, change: SourceChanged) -> None:
        """Show that the microphone is lost or back."""
        log.warning("source", lost=change.lost, message=change.message)
        for sink in self._sinks:
            sink.on_source(change)
        self._facts.source_lost = change.message if change.lost else ""
        self._facts.source_muted = change.muted
        # No level report follows that would reset this.
        self._facts.is_speaking = False
        self._announcer.announce()

    def on_song(self, change: SongChanged) -> None:
        """Show whether captions are held because of song."""
        log.info("song", held=change.held, by=change.by, from_s=change.from_s, to_s=change.to_s)
        for sink in self._sinks:
            sink.on_song(change)
        self._facts.is_song = change.held
        self._announcer.announce()

    def redact(self, redaction: Redaction) -> list[CaptionMessage]:
        """Forget the speech of a period; return the messages that remove it from displays."""
        self._leaving = redaction
        removed = self._board.purge(redaction)
        # Otherwise `clear` drops the records of finals from before that period. After the purge:
        # settled captions go to streams as the board has them, and streams cannot take them back.
        self.settle()
        said = ((final, final.transcript.utterance) for final in self._released)
        self._released = [f for f, u in said if not redaction.takes(u.id, u.start_s, u.end_s)]
        self._verses.forget()
        # Held finals are dropped, like everything that has no final on screen yet.
        self.doubts.forget()
        self.tracks.clear()
        self._purged.extend({*redaction.ids, *(message.id for message in removed)})
        return removed

    def rest(self) -> None:
        """Write the records of published finals, and forget unfinished utterances."""
        # First: held finals settle with the rest.
        self.release_all()
        self.settle()
        self.tracks.clear()

    def return_to_record(self, at_s: float) -> None:
        """Drop later reports about the period off the record, which ends at audio time `at_s`."""
        # From the start given to `redact` until now: reports about it may still be on their way.
        self._off_stretches.append(replace(self._leaving, to_s=at_s))

    def _off_record(self, utterance: Utterance) -> bool:
        """Whether an utterance is off the record, and must be dropped now.

        A final from before that period may be filled in later.
        """
        said = utterance.id, utterance.start_s, utterance.end_s
        is_gone = any(stretch.takes(*said) for stretch in self._off_stretches)
        if not (self._facts.off_record or is_gone):
            return False
        # Add each id once: the many reports of a long period would push other ids out.
        if utterance.id not in self._purged:
            # Needed for comparisons, which have no times.
            self._purged.append(utterance.id)
        return True

    def publish(self, message: CaptionMessage | None) -> None:
        """Send a new version of a caption to all sinks; None means no change."""
        if message is not None:
            for sink in self._sinks:
                sink.on_caption(message, self._lang)

    def _publish_of(
        self, track: Track, utterance: Utterance, message: CaptionMessage | None
    ) -> None:
        # Before the final itself, so that the recorder holds its transcript back.
        if message is not None and message.final and track.is_open(utterance):
            for sink in self._sinks:
                sink.on_resumable(message.id, self._lang)
        self.publish(message)

    def _keep(self, track: Track | None) -> Caption | None:
        """Write the record of an utterance that has settled; return its final caption."""
        if track is None or track.record is None:
            return None
        # The transcript is recorded once, with the first language's translation.
        if self._is_first:
            for sink in self._sinks:
                sink.on_utterance(track.record)
                if track.heard is not None:
                    sink.on_sound(track.record, track.heard)
        elif (translation := translation_record(track.record, self._lang)) is not None:
            for sink in self._sinks:
                sink.on_translation(translation)
        if track.caption is not None:
            self._tell_settled(track.caption)
        return track.caption

    def _tell_settled(self, final: Caption) -> None:
        """Send the board's current message of a final, not the final itself: it may be hidden."""
        if (message := self._board.find(final.id)) is None:  # it has left the history
            return
        utterance = final.transcript.utterance
        # Measure on the monotonic clock and convert now: the UTC clock may have been set since.
        ago_s = time.monotonic() - utterance.spoken_s + utterance.end_s - utterance.start_s
        spoken_utc = datetime.now(UTC) - timedelta(seconds=ago_s)
        for sink in self._sinks:
            sink.on_settled(message, spoken_utc, self._lang)

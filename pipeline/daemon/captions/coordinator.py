"""Act on the workers' reports: captions on the board, records, news for every sink.

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
from pipeline.protocol.messages import DoubtfulMessage
from pipeline.records.utterance import compare_record, translation_record

log = structlog.get_logger()

_PURGED = 1_000
"""Ids remembered of captions that are gone, for comparisons that come late."""


class CaptionCoordinator:
    """Follows every utterance from its first partial to its record, and tells the sinks."""

    def __init__(self, context: DaemonContext, target: Target) -> None:
        self._lang = target.lang
        self._is_first = target is context.targets[0]
        self._facts = context.facts
        self._announcer = context.announcer
        self._board = target.board
        self._verses = target.verses
        self._doubts = target.doubts
        self._sinks = target.sinks
        self._leaving = Redaction(0.0, 0.0)
        """The last stretch that was taken off the record."""
        self._off_stretches: list[Redaction] = []
        """All that are over, each to where the record went on."""
        self._purged: deque[int] = deque(maxlen=_PURGED)
        self._tracks = Tracks()
        self._released: list[Caption] = []
        """Finals that an operator has let go and that have settled with it."""
        self._hidden: deque[int] = deque(maxlen=_PURGED)
        """Captions that are off the screens because an interpreter said again what was there."""

    def lag_s(self, now_s: float) -> float:
        """Return the age of the oldest closed utterance without a final caption."""
        return self._tracks.lag_s(now_s)

    @property
    def unfinished(self) -> int:
        """Closed utterances that have neither a final caption nor a reason to have none."""
        return self._tracks.unfinished

    def on_closed(
        self, utterance: Utterance, show: Callable[[Caption], Caption | None] | None = None
    ) -> Caption | None:
        """Note that a final utterance is on its way; what was prepared for it is its final.

        Returns what `show` does, of the prepared one; without it the coordinator shows that.
        """
        if self._off_record(utterance):
            return None
        match self._tracks.close(utterance):
            case Caption() as prepared:
                return (show or self.show)(prepared)
            case Transcript() as prepared:
                self.on_filtered(prepared)
        return None

    def on_resumed(self, utterance: Utterance) -> CaptionMessage | None:
        """Forget what was made of an utterance: its speaker has gone on.

        Reopen its caption, and return it; None if it had no final on screen.
        """
        if self._off_record(utterance):
            return None
        # First: what is kept back at the desk is a text that no longer counts.
        self._doubts.release(utterance.id)
        self._tracks.resume(utterance)
        reopened = self._board.reopen(utterance.id)
        self.publish(reopened)
        return reopened

    def on_settled(self, utterance_id: int) -> Caption | None:
        """Write the record of a final that speech can no longer return to, if it is out."""
        return self._keep(self._tracks.settle(utterance_id))

    def settle(self) -> None:
        """Write the records of all finals that are out."""
        for track in self._tracks.settle_all():
            self._keep(track)

    def show(self, caption: Caption) -> Caption | None:
        """Publish a caption; with a final, write the journal and the utterance's record.

        That of an eager utterance waits until it is closed, a doubtful one for an operator, a
        record until it has settled. Returns the final caption that has settled.
        """
        utterance = caption.transcript.utterance
        if self._off_record(utterance) or self._tracks.is_stale(utterance):
            return None
        is_again = caption.repeats is not None and self._facts.hides_interpreter
        # An engine that hung and came back; and of what is said again the final alone decides.
        if caption.id in self._doubts or (is_again and not caption.final):
            return None
        if caption.final:
            final = self._tracks.final_caption(caption)
            # An eager one: until its utterance is closed it waits in the track (`on_closed`).
            if final is None:
                return None
            caption, utterance = final, final.transcript.utterance
        # What was hidden and now says more is brought back there.
        if caption.final and (is_again or caption.id in self._hidden):
            return self._keep(self._put_aside(caption, is_again=is_again))
        if caption.final and caption.id in self._tracks:  # not one that came back late
            caption = self._verses.look(caption)
            if self._doubts.wants(caption) and not self._board.has_final(caption.id):
                # Its time at the desk is no lag of the machine.
                self._tracks.of(caption.id).is_held = True
                # Nothing else changes the caption meanwhile: its next revision is this final.
                revision = self._board.revision(caption.id) + 1
                self._doubts.hold(caption, time.monotonic(), revision)
                return None
        return self._keep(self._put_out(caption, marked=self._doubts.is_marked(caption)))

    def _put_aside(self, caption: Caption, *, is_again: bool) -> Track | None:
        """Hide a final, once: an operator may show it. What turns out to say more comes back."""
        is_theirs = self._board.has_final(caption.id)  # an operator has written it meanwhile
        track = self._put_out(caption, marked=False, quietly=True)
        # The board may have let go of what was filled in late.
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

    @property
    def marks_doubt(self) -> bool:
        """Whether captions are marked that are probably wrong."""
        return self._facts.hold_doubtful

    def is_marked(self, caption: Caption) -> bool:
        """Whether a translation is to be shown with a mark."""
        return caption.final and self._doubts.is_marked(caption)

    def holds(self, caption_id: int) -> bool:
        """Whether a final is kept back for an operator."""
        return caption_id in self._doubts

    def revision(self, caption_id: int) -> int:
        """Return the revision of a caption's newest version; a final that is kept back counts."""
        return self._board.revision(caption_id) + self.holds(caption_id)

    def sound(self, caption_id: int) -> bytes:
        """Return what was said of a doubtful final, as WAV; b"" where it is not known any more."""
        return self._doubts.sound(caption_id)

    def doubtful(self, now_s: float) -> tuple[DoubtfulMessage, ...]:
        """Return what is kept back, for a page that comes late."""
        return self._doubts.messages(now_s)

    def _release(self, caption_id: int, *, quietly: bool = False) -> Track | None:
        """Show a doubtful final that was kept back, with its mark; without one nothing happens.

        `quietly`: only the board has it, for `deciding`. Returns the track if it has settled.
        """
        held = self._doubts.release(caption_id)
        if held is None:
            return None
        track = self._tracks.of(caption_id)
        track.is_held, track.held_s = False, time.monotonic() - held.since_s
        return self._put_out(held.caption, marked=True, quietly=quietly)

    def _keep_released(self, track: Track | None) -> None:
        if final := self._keep(track):
            self._released.append(final)

    @contextmanager
    def deciding(self, caption_id: int) -> Iterator[None]:
        """Let an operator change a final that is kept back before anybody has seen it.

        If nothing was changed it is shown as it is.
        """
        if not self.holds(caption_id):
            yield
            return
        # Quietly: displays must not show for a moment what is about to be changed.
        settled = self._release(caption_id, quietly=True)
        before = self._board.message(caption_id)
        try:
            yield
        finally:
            # By identity: whatever changes a caption makes a new message of it.
            if self._board.message(caption_id) is before:
                self.publish(before)
            # Last: what has settled is sent as the operator has decided.
            self._keep_released(settled)

    def release_due(self, now_s: float) -> list[Caption]:
        """Show the doubtful finals that have waited for long enough.

        Returns the finals that have settled since the last time, those that operators let go
        among them.
        """
        for key in self._doubts.due(now_s):
            self._keep_released(self._release(key))
        released, self._released = self._released, []
        return released

    def release_all(self) -> None:
        """Show all that is kept back: nobody will look any more."""
        for key in self._doubts.ids:
            self._keep_released(self._release(key))

    def _put_out(self, caption: Caption, *, marked: bool, quietly: bool = False) -> Track | None:
        """Show a caption; return its track if it has settled, for `_keep`."""
        utterance = caption.transcript.utterance
        message = self._board.show(caption, marked=marked)
        if message is None and caption.id not in self._tracks:
            return None  # it is long final: a late partial, or an engine that hung and came back
        track = self._tracks.of(caption.id)
        # Before the sinks: what they take is not the engines' time.
        published_s = time.monotonic()
        if message is not None and not quietly:
            self._publish_of(track, utterance, message)
            for sink in self._sinks:
                sink.on_translated(caption)
            track.note_shown(caption.text, published_s)
        if caption.final:
            mode = self._facts.mode
            return self._tracks.finish(caption, published_s, mode=mode, utc=utc_now())
        # The first one: the final translator's words, laid over it, come as captions as well.
        if utterance.is_whole and track.draft is None:
            track.draft = caption
        return None

    def on_comparison(self, comparison: Comparison) -> None:
        """Keep a second final, and show it to operators."""
        if comparison.id in self._purged:
            return
        record = compare_record(comparison, utc=utc_now())
        for sink in self._sinks:
            sink.on_comparison(record)

    def on_filtered(self, transcript: Transcript) -> None:
        """Take back what was shown of a text that turned out not to be one, and record it."""
        utterance = transcript.utterance
        if self._off_record(utterance) or self._tracks.is_stale(utterance):
            return
        final = self._tracks.final_transcript(transcript)
        if final is None:
            return
        utterance, track = final.utterance, self._tracks.of(utterance.id)
        self._publish_of(track, utterance, self._board.retract(utterance.id))
        if self._is_first:  # once is enough
            log.info("filtered", id=utterance.id, reason=final.filtered)
            # At this level only: systemd keeps the log, and words cannot be purged from it.
            log.debug("filtered text", id=utterance.id, text=final.raw_text)
        self._keep(self._tracks.drop(final, mode=self._facts.mode, utc=utc_now()))

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
        self._facts.source_muted = change.muted
        # No level follows that would say so.
        self._facts.is_speaking = False
        self._announcer.announce()

    def on_song(self, change: SongChanged) -> None:
        """Show that captions are held because of song, or no longer."""
        log.info("song", held=change.held, by=change.by, from_s=change.from_s, to_s=change.to_s)
        for sink in self._sinks:
            sink.on_song(change)
        self._facts.is_song = change.held
        self._announcer.announce()

    def ids_since(self, from_s: float) -> tuple[int, ...]:
        """Return the unsettled utterances of which something was said after `from_s`."""
        return self._tracks.ids_since(from_s)

    def redact(self, redaction: Redaction) -> list[CaptionMessage]:
        """Forget what was said in a stretch of time; return what takes it off displays."""
        self._leaving = redaction
        removed = self._board.purge(redaction)
        # Else the records of finals from before that stretch would go with the tracks. Behind the
        # purge: what settles is sent to streams as the board has it, which cannot take it back.
        self.settle()
        self._verses.forget()
        # Let go unseen, like all that has no final on screen yet.
        self._doubts.forget()
        self._tracks.clear()
        self._purged.extend({*redaction.ids, *(message.id for message in removed)})
        return removed

    def rest(self) -> None:
        """Write the records of finals that are out, and forget what is on its way."""
        # First: what is kept back settles with the rest.
        self.release_all()
        self.settle()
        self._tracks.clear()

    def return_to_record(self, at_s: float) -> None:
        """Drop all that workers still report of the stretch that ends at `at_s` of the audio."""
        # From where `redact` began to here: what was said in between may still be on its way.
        self._off_stretches.append(replace(self._leaving, to_s=at_s))

    def _off_record(self, utterance: Utterance) -> bool:
        """Whether an utterance is off the record: it is of no use now.

        What was said before that stretch, and had its final then, may be filled in later.
        """
        said = utterance.id, utterance.start_s, utterance.end_s
        is_gone = any(stretch.takes(*said) for stretch in self._off_stretches)
        if not (self._facts.off_record or is_gone):
            return False
        # Each once: the many reports of a long stretch would push the others out.
        if utterance.id not in self._purged:
            # For comparisons, which have no times of their own.
            self._purged.append(utterance.id)
        return True

    def publish(self, message: CaptionMessage | None) -> None:
        """Show and keep a new version of a caption; None is no change."""
        if message is not None:
            for sink in self._sinks:
                sink.on_caption(message, self._lang)

    def _publish_of(
        self, track: Track, utterance: Utterance, message: CaptionMessage | None
    ) -> None:
        # Before the final itself: the recorder is to hold its transcript back.
        if message is not None and message.final and track.is_open(utterance):
            for sink in self._sinks:
                sink.on_resumable(message.id, self._lang)
        self.publish(message)

    def _keep(self, track: Track | None) -> Caption | None:
        """Write the record of an utterance that has settled; return its final caption."""
        if track is None or track.record is None:
            return None
        # What was heard is recorded once: with what was made of it in the first language.
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
        """Hand on what the board shows of a final now; never the final, which may be hidden."""
        try:
            message = self._board.message(final.id)
        except ProtocolError:  # it has left the history
            return
        utterance = final.transcript.utterance
        # Counted on the monotonic clock, and only now in UTC: that may have been set since.
        ago_s = time.monotonic() - utterance.spoken_s + utterance.end_s - utterance.start_s
        spoken_utc = datetime.now(UTC) - timedelta(seconds=ago_s)
        for sink in self._sinks:
            sink.on_settled(message, spoken_utc, self._lang)

"""Track utterances in progress, and which results for them are still valid. Pure.

An utterance is passed on eagerly, then closed, perhaps resumed, and finally settled. Meanwhile
captions and filtered texts come from engines, in any order relative to these steps. The result of
an eager utterance waits here until it is closed; a record waits until it can no longer be resumed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from pipeline.core.types import Caption, Mode, Pcm, Transcript, Utterance
from pipeline.records.utterance import UtteranceRecord, filtered_record, utterance_record

_DONE = 64
"""The number of remembered utterances that have their record."""


@dataclass(slots=True)
class Track:
    """The history of an utterance until its record is written."""

    closed: Utterance | None = None
    """The final utterance, from its close until its caption is published."""
    revision: int = 0
    """Results for an earlier revision are void: speech has returned since."""
    prepared: Caption | Transcript | None = None
    """Its final, or its filtered transcript, if the speaker says no more."""
    draft: Caption | None = None
    shown: list[str] = field(default_factory=list)
    first_shown_s: float | None = None
    record: UtteranceRecord | None = None
    """The record of the published final, while speech may still return to it."""
    caption: Caption | None = None
    """The published final; None if its text was filtered."""
    held_s: float = 0.0
    """The time that its final was held for an operator."""
    is_held: bool = False
    """Whether it is held now."""
    heard: Pcm | None = None
    """The samples of the record's utterance."""
    is_settled: bool = False
    """Whether speech can no longer return to the closed utterance."""
    is_eager: bool = False
    """Whether the published final was prepared before the utterance was closed."""
    cancelled: int = 0
    """Number of eager utterances that speech returned to."""
    reopened: int = 0
    """Number of finals that speech returned to."""

    def note_shown(self, text: str, now_s: float) -> None:
        """Note a text that is on screen now."""
        self.shown.append(text)
        if self.first_shown_s is None:
            self.first_shown_s = now_s

    def is_open(self, utterance: Utterance) -> bool:
        """Whether speech may still return to a final."""
        return utterance.can_resume and not self.is_settled


class Tracks:
    """The tracks by the utterances' ids. Belongs to one thread."""

    def __init__(self) -> None:
        self._tracks: dict[int, Track] = {}
        self._done: deque[int] = deque(maxlen=_DONE)
        """Utterances with a record. Void: a late partial of an extra language, and a late final of
        an engine that hung, which would wait here for a close that never comes."""

    def __contains__(self, utterance_id: int) -> bool:
        return utterance_id in self._tracks

    def ids_since(self, from_s: float) -> tuple[int, ...]:
        """Return the utterances that have no final, or whose final ended after `from_s`."""
        return tuple(
            key
            for key, track in self._tracks.items()
            if track.record is None or track.record.end_s > from_s
        )

    @property
    def unfinished(self) -> int:
        """Closed utterances that have neither a final caption nor a reason to have none."""
        return sum(track.closed is not None for track in self._tracks.values())

    def of(self, utterance_id: int) -> Track:
        """Return an utterance's track; create it if there is none."""
        return self._tracks.setdefault(utterance_id, Track())

    def lag_s(self, now_s: float) -> float:
        """Return the age of the oldest closed utterance without a final caption.

        Finals held for an operator do not count.
        """
        closed = [
            track.closed.closed_s
            for track in self._tracks.values()
            if track.closed is not None and not track.is_held
        ]
        return now_s - min(closed) if closed else 0.0

    def close(self, utterance: Utterance) -> Caption | Transcript | None:
        """Note a final utterance; return what was prepared for it."""
        track = self.of(utterance.id)
        # `settle_all` may have set `is_settled` while it was open.
        track.closed, track.is_settled = utterance, False
        # Remove it from the track: a final is published once.
        prepared, track.prepared = track.prepared, None
        return prepared

    def resume(self, utterance: Utterance) -> None:
        """Speech has returned: discard all results from before this revision."""
        track = self.of(utterance.id)
        # It was not closed yet, so only an eager run is lost.
        if track.closed is None and track.record is None:
            track.cancelled += 1
        else:
            track.reopened += 1
        track.revision, track.is_eager = utterance.revision, False
        # The wait for the operator was for a text that is void now.
        track.is_held, track.held_s = False, 0.0
        track.closed = track.prepared = track.draft = track.record = track.caption = None

    def is_stale(self, utterance: Utterance) -> bool:
        """Whether speech has returned to an utterance since, or its final is published."""
        track = self._tracks.get(utterance.id)
        if track is None:
            return utterance.id in self._done
        return utterance.revision < track.revision or track.record is not None

    def final_caption(self, made: Caption) -> Caption | None:
        """Return the final caption of the closed utterance; None: it waits for the close."""
        closed = self._closed(made.transcript.utterance, made)
        if closed is None:
            return None
        return replace(made, transcript=replace(made.transcript, utterance=closed))

    def final_transcript(self, made: Transcript) -> Transcript | None:
        """Return the filtered transcript of the closed utterance; None: as `final_caption`."""
        closed = self._closed(made.utterance, made)
        return None if closed is None else replace(made, utterance=closed)

    def _closed(self, utterance: Utterance, made: Caption | Transcript) -> Utterance | None:
        if utterance.final:
            return utterance
        track = self.of(utterance.id)
        # The pause is not over, so the final waits until its utterance is closed.
        if track.closed is None:
            track.prepared = made
        # Also if the utterance was closed first: the text is from the eager version.
        track.is_eager = True
        return track.closed

    def finish(self, caption: Caption, published_s: float, *, mode: Mode, utc: str) -> Track | None:
        """Note that a final was published at `published_s`; return its track if it has settled."""
        track = self.of(caption.id)
        track.closed, track.caption = None, caption
        record = utterance_record(
            caption,
            draft=track.draft,
            shown=track.shown,
            published_s=published_s,
            first_shown_s=track.first_shown_s,
            mode=mode,
            utc=utc,
            queues={"unfinished": self.unfinished},
            held_s=track.held_s,
        )
        return self._keep(track, caption.transcript.utterance, record)

    def drop(self, transcript: Transcript, *, mode: Mode, utc: str) -> Track | None:
        """Note that a closed utterance gets no final; return its track if it has settled."""
        track = self.of(transcript.utterance.id)
        track.closed = track.caption = None
        record = filtered_record(transcript, mode=mode, utc=utc, shown=track.shown)
        return self._keep(track, transcript.utterance, record)

    def _keep(self, track: Track, utterance: Utterance, record: UtteranceRecord) -> Track | None:
        self._done.append(utterance.id)
        track.heard = utterance.pcm
        track.record = replace(
            record, eager=track.is_eager, cancelled_runs=track.cancelled, reopened=track.reopened
        )
        return None if track.is_open(utterance) else self._tracks.pop(utterance.id)

    def settle(self, utterance_id: int) -> Track | None:
        """Note that an utterance cannot be resumed; return its track if its final is published."""
        track = self._tracks.get(utterance_id)
        # It has already settled with its final, or no result has come.
        if track is None:
            return None
        track.is_settled = True
        # Its final may still be at the translator: then it settles with the final (`is_open`).
        return self._tracks.pop(utterance_id) if track.record is not None else None

    def settle_all(self) -> list[Track]:
        """Settle all utterances; return the tracks whose final is published."""
        # Copy the keys: `settle` removes tracks during the iteration.
        return [track for key in list(self._tracks) if (track := self.settle(key)) is not None]

    def clear(self) -> None:
        """Forget all."""
        self._tracks.clear()

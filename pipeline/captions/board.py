"""The caption board: the newest version of each caption, as every display should show it. Pure.

Belongs to the event loop's thread; nothing here waits, so a snapshot and what follows it cannot
have a gap. Keeps wire messages only, never the audio behind them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pipeline.captions.redaction import Redaction
from pipeline.core.errors import ProtocolError
from pipeline.core.types import HEARD, Caption, Verse
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText

_REMEMBERED = 500
"""Captions that have left the board but that displays may still have."""
_OPEN = 32
"""Unfinished captions kept. The pipeline has a handful; more are forgotten, oldest first."""

TYPED_S = 0.001
"""A typed caption has no length in the sound; its time is a moment that redactions can take."""


def is_by_operator(message: CaptionMessage) -> bool:
    """Whether an operator has written either text of a caption, or has hidden it."""
    return message.corrected or message.target.engine == "operator"


def stands(message: CaptionMessage) -> bool:
    """Whether only an operator, or the translation of what one has written, changes a caption."""
    return message.final or is_by_operator(message)


def is_hidden(message: CaptionMessage) -> bool:
    """Whether an operator has hidden a caption."""
    is_empty = not (message.source.text or message.target.text)
    return message.final and is_empty and message.target.engine == "operator"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a display needs to be up to date, sorted by id."""

    messages: tuple[CaptionMessage, ...]
    resumed: bool
    """The messages add to what the display has; otherwise they replace it."""


class CaptionBoard:
    """The last `history` final captions and those still open.

    `seq` counts all versions of all captions, a message's `revision` those of one caption. Methods
    that change something return the message to publish, or None if nothing has changed.
    """

    def __init__(self, session: str, source: str, target: str, history: int) -> None:
        self.session = session
        self.source = source
        self.target = target
        self.seq = 0
        self._history = history
        self._messages: dict[int, CaptionMessage] = {}
        self._passed_over: dict[int, CaptionMessage] = {}
        """The pipeline's newest version of each caption whose newest version is an operator's."""
        self._hidden: dict[int, CaptionMessage] = {}
        """What was on screen of the captions that operators have hidden, for `unhide`."""
        self._left: deque[CaptionMessage] = deque(maxlen=_REMEMBERED)
        """What has left the board, without its text."""
        self._forgotten_id = -1  # the highest id that has left the board
        self._forgotten_seq = 0  # the highest seq that has left the board

    @property
    def last_id(self) -> int:
        """The highest id so far, -1 before the first: a restarted session counts on from it."""
        return max(self._forgotten_id, max(self._messages, default=-1))

    def show(self, caption: Caption, *, marked: bool = False) -> CaptionMessage | None:
        """Put a caption on the board, perhaps marked as doubtful.

        Once a caption is final only an operator changes it, so whatever the pipeline has to say
        later is not shown. Neither is a repeat, or a late partial of a forgotten caption.
        """
        old = self._messages.get(caption.id)
        # A final that late is shown all the same: it was said, and nobody has seen it yet.
        if old is None and not caption.final and caption.id <= self._forgotten_id:
            return None
        utterance = caption.transcript.utterance
        message = CaptionMessage(
            seq=self.seq + 1,
            id=caption.id,
            revision=old.revision + 1 if old else 1,
            final=caption.final,
            start_s=round(utterance.start_s, 3),
            end_s=round(utterance.end_s, 3),
            source=SourceText(caption.transcript.lang, caption.transcript.text),
            target=TargetText(caption.lang, caption.text, caption.engine),
            # One that was resumed says so with each partial: a display may have missed the first.
            status="" if old is None or caption.final else old.status,
            stable=len(caption.text) if caption.final else min(caption.stable, len(caption.text)),
            verse=caption.verse,
            doubtful=marked,
        )
        if old and stands(old):
            self._pass_over(message)
            return None
        # Engines say the same twice; displays and `seq` need not know.
        if old and (message.final, message.stable, message.source.text, message.target.text) == (
            old.final,
            old.stable,
            old.source.text,
            old.target.text,
        ):
            return None
        return self._put(message)

    def reopen(self, caption_id: int) -> CaptionMessage | None:
        """Let the pipeline go on with a caption that was final: its speaker has gone on.

        One that an operator has changed stays as it is. None if nothing changes for displays.
        """
        old = self._messages.get(caption_id)
        if old is None:
            return None
        if is_by_operator(old):
            # Nobody sees it, but the longer final replaces the one of before here as well.
            if passed_over := self._passed_over.get(caption_id):
                self._passed_over[caption_id] = replace(passed_over, final=False)
            return None
        if not old.final:
            return None
        if not (old.source.text or old.target.text):  # filtered: there is nothing to take up
            self._messages[caption_id] = replace(old, final=False)
            return None
        # Judged anew with its next final: a mark that stayed would speak of another text.
        return self._put(self._next(old, final=False, status="resumed", doubtful=False))

    def edit(self, caption_id: int, text: str) -> CaptionMessage | None:
        """Replace a caption's target text by an operator's. Raises ProtocolError.

        A hidden caption comes back without its source text: that was hidden as well.
        """
        old = self.message(caption_id)
        target = TargetText(self.target, text, "operator")
        # An edit takes a printed verse away, so with one it changes something.
        if old.final and old.target == target and old.verse is None:
            return None
        return self._put(self._revised(old, old.source, target, len(text)))

    def correct(self, caption_id: int, text: str) -> CaptionMessage | None:
        """Replace a caption's source text by an operator's. Raises ProtocolError.

        Its target text stands, not final, until `retranslate` or `conclude`; where the spoken words
        stand in for it, it is the new text at once. None if the text is as it was.
        """
        old = self.message(caption_id)
        if stands(old) and old.source.text == text:
            return None
        source = SourceText(old.source.lang, text)
        are_heard = old.target.engine in ("source", HEARD)
        target = replace(old.target, text=text) if are_heard else old.target
        new = self._revised(old, source, target, len(target.text))
        # Pages that show finals only keep the last one while a caption is resumed.
        status = "resumed" if old.final else old.status
        return self._put(replace(new, corrected=True, final=False, status=status))

    def retranslate(
        self, caption_id: int, target: TargetText, *, final: bool = True, marked: bool = False
    ) -> CaptionMessage:
        """Show what was made of a source text later; `marked` as doubtful. Raises ProtocolError."""
        old = self.message(caption_id)
        new = self._revised(old, old.source, target, len(target.text))
        status = "" if final else old.status
        return self._put(replace(new, final=final, status=status, doubtful=marked))

    def conclude(self, caption_id: int, *, marked: bool) -> CaptionMessage | None:
        """Let a corrected caption be final as it stands: no other translation is waited for.

        None if it is final, is not corrected, or has left the board.
        """
        old = self._messages.get(caption_id)
        if old is None or old.final or not old.corrected:
            return None
        marked = marked and old.verse is None and bool(old.target.text)
        return self._put(self._next(old, final=True, status="", doubtful=marked))

    def add_typed(self, caption_id: int, at_s: float, text: str, lang: str) -> CaptionMessage:
        """Put a caption on the board that nobody has spoken; its id is above all others'.

        Text in the spoken language is final when it is translated; in another it is at once.
        """
        is_source = lang == self.source
        source = SourceText(self.source, text if is_source else "")
        target = TargetText(lang, text, "operator")
        if is_source:
            target = TargetText(self.target, "", "operator")
        message = CaptionMessage(
            seq=self.seq + 1,
            id=caption_id,
            revision=1,
            final=not is_source,
            start_s=round(at_s, 3),
            end_s=round(at_s + TYPED_S, 3),
            source=source,
            target=target,
            stable=len(target.text),
            corrected=is_source,
        )
        return self._put(message)

    def ids_since(self, from_s: float) -> tuple[int, ...]:
        """Return the captions of which anything was said or typed after a time of the audio.

        What was said of one after an operator had changed it counts as well.
        """
        known = (*self._messages.values(), *self._passed_over.values())
        return tuple(sorted({message.id for message in known if message.end_s > from_s}))

    def put_verse(self, caption_id: int, verse: Verse) -> CaptionMessage:
        """Show a printed verse with a caption, for its translation. Raises ProtocolError."""
        # A printed verse is no guess any more, so the mark goes.
        return self._put(self._next(self.message(caption_id), verse=verse, doubtful=False))

    def approve(self, caption_id: int) -> CaptionMessage:
        """Take the mark of a doubtful caption away. Raises ProtocolError."""
        old = self.message(caption_id)
        if not old.doubtful:
            told = f"Caption {caption_id} is not marked as doubtful."
            raise ProtocolError("not-doubtful", told)
        return self._put(self._next(old, doubtful=False))

    def hide(self, caption_id: int) -> CaptionMessage | None:
        """Take a caption away. Raises ProtocolError."""
        old = self.message(caption_id)
        is_empty = old.final and not (old.source.text or old.target.text)
        # One that was filtered could come back, if its speaker goes on.
        if is_empty and is_by_operator(old):
            return None
        # In an operator's name: what the pipeline says of it later must not bring it back.
        return self._put(self._withdrawn(old, "operator"))

    def unhide(self, caption_id: int) -> CaptionMessage | None:
        """Show a caption again that an operator has hidden, as it was.

        If the pipeline has a newer version by now, that is shown. None if the caption is not
        hidden. Raises ProtocolError.
        """
        old = self.message(caption_id)
        if old.source.text or old.target.text or not old.final:
            return None
        if not is_hidden(old) or caption_id not in self._hidden:
            told = f"Nothing that caption {caption_id} could show is known any more."
            raise ProtocolError("unknown-caption", told)
        return self.put_back(self._hidden[caption_id])

    def retract(self, caption_id: int) -> CaptionMessage | None:
        """Take away what partials have shown of an utterance whose final was filtered."""
        old = self._messages.get(caption_id)
        if old is None:
            return None
        # The pipeline's own version, also where an operator has corrected the one on screen.
        withdrawn = replace(self._withdrawn(old, ""), corrected=False)
        # A correction stands while its translation is made, though it is not final.
        if stands(old):
            self._pass_over(withdrawn)
            return None
        return self._put(withdrawn)

    def purge(self, purge: Redaction) -> list[CaptionMessage]:
        """Take off what was said off the record, for good; return what displays are to be sent.

        Whatever has no final goes as well. A display that was away gets the whole history without
        it. None of these captions can be edited or put back any more.
        """
        gone = [
            old
            # Displays may still show what the board has long dropped.
            for old in (*self._left, *self._sorted())
            if not stands(old) or purge.takes(old.id, old.start_s, self._end_s(old))
        ]
        sent = []
        for old in gone:
            self._messages.pop(old.id, None)
            self._passed_over.pop(old.id, None)
            self._hidden.pop(old.id, None)
            sent.append(self._withdrawn(old, ""))
            self.seq = sent[-1].seq
            # A partial of it that comes late is not shown then.
            self._forgotten_id = max(self._forgotten_id, old.id)
            self._forgotten_seq = self.seq  # a display that was away gets everything anew
        return sent

    def put_back(self, earlier: CaptionMessage) -> CaptionMessage:
        """Show a caption as it was before an operator changed it. Raises ProtocolError.

        If the pipeline had made it, it comes back as the pipeline has made it since. What an
        approval or a verse was for is not put in the place of a caption whose speaker has gone on.
        """
        old = self.message(earlier.id)
        are_own = not (is_by_operator(old) or is_by_operator(earlier))
        if are_own and old.end_s > earlier.end_s:
            told = f"The speaker of caption {old.id} has gone on since."
            raise ProtocolError("caption-changed", told)
        newest = self._newest(earlier)
        return self._put(replace(newest, seq=self.seq + 1, revision=old.revision + 1))

    def untranslated(self) -> list[CaptionMessage]:
        """Return the finals in which the spoken words stand in for a translation, newest first."""
        left = (each for each in self._messages.values() if each.target.engine == "source")
        shown = (each for each in left if each.final and each.target.text)
        return sorted(shown, key=lambda each: each.id, reverse=True)

    def snapshot(self) -> Snapshot:
        """Return all captions that have something to show."""
        shown = (
            message for message in self._sorted() if message.source.text or message.target.text
        )
        return Snapshot(tuple(shown), resumed=False)

    def since(self, seq: int | None) -> Snapshot:
        """Return the newest version of each caption that has changed after `seq`.

        Where that cannot be told (None, too old, beyond the newest): the whole snapshot.
        """
        # Below that a change may have left the board, and the display would keep the old version.
        # Beyond the newest the display was at another session, or at one whose journal is gone.
        if seq is None or not self._forgotten_seq <= seq <= self.seq:
            return self.snapshot()
        return Snapshot(tuple(m for m in self._sorted() if m.seq > seq), resumed=True)

    def set_history(self, history: int) -> None:
        """Keep so many final captions from now on."""
        self._history = history
        self._forget()

    def restore(self, messages: Iterable[CaptionMessage]) -> None:
        """Bring back a journal's captions, oldest line first; seq and ids count on from there."""
        for message in messages:
            self.seq = max(self.seq, message.seq)
            old = self._messages.get(message.id)
            # A journal that was rewritten or cut may hold an older line behind a newer one.
            if old is None or message.seq > old.seq:
                # As when it was shown: undo and `unhide` work after a restart as well.
                self._note_change(old, message)
                self._messages[message.id] = message
                self._forget()

    def take(self, message: CaptionMessage) -> CaptionMessage | None:
        """Put a version on the board that another board of this session made.

        None if it is not newer than all that has come: then displays have it, or better.
        """
        return self._put(message) if message.seq > self.seq else None

    def message(self, caption_id: int) -> CaptionMessage:
        """Return the newest version of a caption. Raises ProtocolError."""
        if caption_id not in self._messages:
            raise ProtocolError("unknown-caption", f"Caption {caption_id} is not in the history.")
        return self._messages[caption_id]

    def revision(self, caption_id: int) -> int:
        """Return the revision of a caption's newest version, 0 if it is not on the board."""
        return self._messages[caption_id].revision if caption_id in self._messages else 0

    def has_final(self, caption_id: int) -> bool:
        """Whether a caption is final or an operator's: what the pipeline says then is not shown."""
        return caption_id in self._messages and stands(self._messages[caption_id])

    def _pass_over(self, message: CaptionMessage) -> None:
        """Keep what the pipeline says of a caption that an operator has changed."""
        if not is_by_operator(self._messages[message.id]):
            return
        known = self._passed_over.get(message.id)
        # As on the screens: after a final nothing counts until its speaker goes on.
        if not (known and known.final):
            self._passed_over[message.id] = message

    def _newest(self, earlier: CaptionMessage) -> CaptionMessage:
        """Return what the pipeline has since made of a version of its own; else that version."""
        # What an operator has written is not made again by the pipeline.
        if is_by_operator(earlier):
            return earlier
        return self._passed_over.get(earlier.id, earlier)

    def _end_s(self, message: CaptionMessage) -> float:
        """Return where a caption ends, with what its speaker has said since it was hidden."""
        return max(message.end_s, self._passed_over.get(message.id, message).end_s)

    def _withdrawn(self, old: CaptionMessage, engine: str) -> CaptionMessage:
        source = SourceText(old.source.lang, "")
        return self._revised(old, source, TargetText(old.target.lang, "", engine), 0)

    def _revised(
        self, old: CaptionMessage, source: SourceText, target: TargetText, stable: int
    ) -> CaptionMessage:
        return self._next(
            old,
            final=True,
            status="",
            source=source,
            target=target,
            stable=stable,
            verse=None,
            doubtful=False,
        )

    def _next(self, old: CaptionMessage, **changes: Any) -> CaptionMessage:
        return replace(old, seq=self.seq + 1, revision=old.revision + 1, **changes)

    def _put(self, message: CaptionMessage) -> CaptionMessage:
        self.seq = message.seq
        self._note_change(self._messages.get(message.id), message)
        self._messages[message.id] = message
        self._forget()
        return message

    def _note_change(self, old: CaptionMessage | None, new: CaptionMessage) -> None:
        """Keep of an older version what an undo or `unhide` will need."""
        # The pipeline's newest version is on the board itself now.
        if not is_by_operator(new):
            self._passed_over.pop(new.id, None)
        elif old is not None and not is_by_operator(old):
            self._passed_over[new.id] = old
        if old is not None and is_hidden(new) and not is_hidden(old):
            self._hidden[new.id] = old

    def _sorted(self) -> list[CaptionMessage]:
        return [self._messages[key] for key in sorted(self._messages)]

    def _forget(self) -> None:
        """Drop the lowest ids beyond the bounds. Open captions do not push finals out."""
        # Each kind has a bound of its own, so that neither takes the other's places.
        for kept, most in ((True, self._history), (False, _OPEN)):
            ids = [key for key, message in self._messages.items() if stands(message) is kept]
            for key in sorted(ids)[: max(0, len(ids) - most)]:
                gone = self._messages.pop(key)
                self._passed_over.pop(gone.id, None)
                self._hidden.pop(gone.id, None)
                # Without its text: it is kept only so that it can be taken off displays later.
                self._left.append(self._withdrawn(gone, ""))
                # The highest so far: captions leave by id, and that is not the order of seq.
                self._forgotten_id = max(self._forgotten_id, gone.id)
                self._forgotten_seq = max(self._forgotten_seq, gone.seq)

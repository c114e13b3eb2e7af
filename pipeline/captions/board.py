"""The caption board: the newest version of each caption, as every display should show it. Pure.

Runs in the event loop's thread. Nothing here waits, so there is no gap between a snapshot and the
messages that follow it. The board keeps wire messages only, never audio.
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
"""Captions kept after they have left the board: displays may still show them."""
_OPEN = 32
"""Open captions kept. The pipeline has a handful; beyond the limit the oldest are dropped."""

TYPED_S = 0.001
"""Length of a typed caption: it has no audio, but a redaction must be able to match its time."""


def is_by_operator(message: CaptionMessage) -> bool:
    """Whether an operator has written either text of a caption, or has hidden it."""
    return message.corrected or message.target.engine == "operator"


def stands(message: CaptionMessage) -> bool:
    """Whether only an operator, or the translation of an operator's text, may change a caption."""
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
    """True if the messages add to what the display has; False if they replace it."""


class CaptionBoard:
    """The last `history` final captions and the open ones.

    `seq` counts the versions of all captions; `revision` counts the versions of one caption.
    Methods that change a caption return the message to publish, or None if nothing has changed.
    """

    def __init__(self, session: str, source: str, target: str, history: int) -> None:
        self.session = session
        self.source = source
        self.target = target
        self.seq = 0
        self._history = history
        self._messages: dict[int, CaptionMessage] = {}
        self._passed_over: dict[int, CaptionMessage] = {}
        """The pipeline's newest version of each caption that an operator has changed."""
        self._hidden: dict[int, CaptionMessage] = {}
        """The last shown version of each hidden caption, for `unhide`."""
        self._left: deque[CaptionMessage] = deque(maxlen=_REMEMBERED)
        """The captions that have left the board, without their text."""
        self._forgotten_id = -1  # the highest id that has left the board
        self._forgotten_seq = 0  # the highest seq that has left the board

    @property
    def last_id(self) -> int:
        """The highest id so far, -1 before the first. A restarted session continues from it."""
        return max(self._forgotten_id, max(self._messages, default=-1))

    def show(self, caption: Caption, *, marked: bool = False) -> CaptionMessage | None:
        """Put a caption on the board; `marked` shows it as doubtful.

        Once a caption is final, only an operator can change it: later versions from the pipeline
        are not shown. A repeat and a late partial of a dropped caption are not shown either.
        """
        old = self._messages.get(caption.id)
        # A late final is still shown: it was said, and nobody has seen it yet.
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
            # Each partial of a resumed caption repeats the status: a display may have missed one.
            status="" if old is None or caption.final else old.status,
            stable=len(caption.text[: None if caption.final else caption.stable]),
            verse=caption.verse,
            doubtful=marked,
        )
        if old and stands(old):
            self._pass_over(message)
            return None
        # Engines repeat themselves. A repeat is not published and takes no `seq`.
        if old and (message.final, message.stable, message.source.text, message.target.text) == (
            old.final,
            old.stable,
            old.source.text,
            old.target.text,
        ):
            return None
        return self._put(message)

    def reopen(self, caption_id: int) -> CaptionMessage | None:
        """Let the pipeline change a final caption again: its speaker has gone on.

        A caption that an operator has changed stays as it is. None if displays see no change.
        """
        old = self._messages.get(caption_id)
        if old is None:
            return None
        if is_by_operator(old):
            # Not shown, but here too the longer final must replace the earlier one.
            if passed_over := self._passed_over.get(caption_id):
                self._passed_over[caption_id] = replace(passed_over, final=False)
            return None
        if not old.final:
            return None
        if not (old.source.text or old.target.text):  # filtered: there is no text to resume
            self._messages[caption_id] = replace(old, final=False)
            return None
        # The next final is judged anew: the old mark would refer to another text.
        return self._put(self._next(old, final=False, status="resumed", doubtful=False))

    def edit(self, caption_id: int, text: str) -> CaptionMessage | None:
        """Replace a caption's target text by an operator's. Raises ProtocolError.

        A hidden caption is shown again without its source text, which was hidden as well.
        """
        old = self.message(caption_id)
        target = TargetText(self.target, text, "operator")
        # An edit removes the printed verse, so with a verse the same text is still a change.
        if old.final and old.target == target and old.verse is None:
            return None
        return self._put(self._revised(old, old.source, target))

    def correct(self, caption_id: int, text: str) -> CaptionMessage | None:
        """Replace a caption's source text by an operator's. Raises ProtocolError.

        The target text stays, not final, until `retranslate` or `conclude`. If the source text is
        shown in place of a translation, the new text is shown at once. None if nothing changes.
        """
        old = self.message(caption_id)
        if stands(old) and old.source.text == text:
            return None
        source = SourceText(old.source.lang, text)
        are_heard = old.target.engine in ("source", HEARD)
        target = replace(old.target, text=text) if are_heard else old.target
        new = self._revised(old, source, target)
        # Pages that show only finals keep the last final while a caption is resumed.
        status = "resumed" if old.final else old.status
        return self._put(replace(new, corrected=True, final=False, status=status))

    def retranslate(
        self, caption_id: int, target: TargetText, *, final: bool = True, marked: bool = False
    ) -> CaptionMessage:
        """Show a later translation of a caption's source text; `marked` shows it as doubtful.

        A printed verse stays: its words were said. Raises ProtocolError.
        """
        old = self.message(caption_id)
        new = self._revised(old, old.source, target)
        status, doubtful = "" if final else old.status, marked and old.verse is None
        return self._put(
            replace(new, final=final, status=status, verse=old.verse, doubtful=doubtful)
        )

    def conclude(self, caption_id: int, *, marked: bool) -> CaptionMessage | None:
        """Make a corrected caption final as it is: no other translation will come.

        None if it is final, is not corrected, or has left the board.
        """
        old = self._messages.get(caption_id)
        if old is None or old.final or not old.corrected:
            return None
        marked = marked and old.verse is None and bool(old.target.text)
        return self._put(self._next(old, final=True, status="", doubtful=marked))

    def add_typed(self, caption_id: int, at_s: float, text: str, lang: str) -> CaptionMessage:
        """Put a typed caption on the board; its id is the highest.

        Text in the spoken language is final once it is translated, other text at once.
        """
        is_source = lang == self.source
        source = SourceText(self.source, text if is_source else "")
        shown = (self.target, "") if is_source else (lang, text)
        target = TargetText(*shown, "operator")
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
        """Return the captions with speech or typed text after a time of the audio.

        Speech after an operator had changed the caption counts as well.
        """
        known = (*self._messages.values(), *self._passed_over.values())
        return tuple(sorted({message.id for message in known if message.end_s > from_s}))

    def put_verse(self, caption_id: int, verse: Verse) -> CaptionMessage:
        """Show a printed verse in place of a caption's translation. Raises ProtocolError."""
        # A printed verse is not a guess, so the mark goes.
        return self._put(self._next(self.message(caption_id), verse=verse, doubtful=False))

    def approve(self, caption_id: int) -> CaptionMessage:
        """Remove the mark of a doubtful caption. Raises ProtocolError."""
        old = self.message(caption_id)
        if not old.doubtful:
            reason = f"Caption {caption_id} is not marked as doubtful."
            raise ProtocolError("not-doubtful", reason)
        return self._put(self._next(old, doubtful=False))

    def hide(self, caption_id: int) -> CaptionMessage | None:
        """Hide a caption. Raises ProtocolError."""
        old = self.message(caption_id)
        is_empty = old.final and not (old.source.text or old.target.text)
        # A filtered caption is hidden too: it would come back if its speaker goes on.
        if is_empty and is_by_operator(old):
            return None
        # The operator is its author, so later versions from the pipeline cannot bring it back.
        return self._put(self._withdrawn(old, "operator"))

    def unhide(self, caption_id: int) -> CaptionMessage | None:
        """Show a hidden caption again as it was, or the pipeline's newer version if there is one.

        None if the caption is not hidden. Raises ProtocolError.
        """
        old = self.message(caption_id)
        if old.source.text or old.target.text or not old.final:
            return None
        if not is_hidden(old) or caption_id not in self._hidden:
            reason = f"Nothing that caption {caption_id} could show is known any more."
            raise ProtocolError("unknown-caption", reason)
        return self.put_back(self._hidden[caption_id])

    def retract(self, caption_id: int) -> CaptionMessage | None:
        """Remove the partial text of an utterance whose final was filtered."""
        old = self._messages.get(caption_id)
        if old is None:
            return None
        # This is the pipeline's version, even if an operator has corrected the shown one.
        withdrawn = replace(self._withdrawn(old, ""), corrected=False)
        # A correction is kept while it is translated, although it is not final.
        if stands(old):
            self._pass_over(withdrawn)
            return None
        return self._put(withdrawn)

    def purge(self, purge: Redaction) -> list[CaptionMessage]:
        """Remove captions of off-the-record speech for good; return the messages for displays.

        Captions without a final go as well. A display that was away gets a whole new snapshot.
        None of these captions can be edited or put back any more.
        """
        gone = [
            old
            # Displays may still show captions that have left the board.
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
            # This keeps a late partial of the caption off the board.
            self._forgotten_id = max(self._forgotten_id, old.id)
            self._forgotten_seq = self.seq  # a display that was away gets a whole snapshot
        return sent

    def put_back(self, earlier: CaptionMessage) -> CaptionMessage:
        """Show a caption as it was before an operator changed it. Raises ProtocolError.

        A version of the pipeline comes back as its newest version. An approval or a verse is not
        undone once the speaker has gone on: the older text would replace a longer one.
        """
        old = self.message(earlier.id)
        are_own = not (is_by_operator(old) or is_by_operator(earlier))
        if are_own and old.end_s > earlier.end_s:
            reason = f"The speaker of caption {old.id} has gone on since."
            raise ProtocolError("caption-changed", reason)
        newest = self._newest(earlier)
        return self._put(replace(newest, seq=self.seq + 1, revision=old.revision + 1))

    def untranslated(self) -> list[CaptionMessage]:
        """Return the finals that show the source text for lack of a translation, newest first."""
        left = (each for each in self._messages.values() if each.target.engine == "source")
        shown = (each for each in left if each.final and each.target.text)
        return sorted(shown, key=lambda each: each.id, reverse=True)

    def snapshot(self) -> Snapshot:
        """Return all captions that have text."""
        shown = (
            message for message in self._sorted() if message.source.text or message.target.text
        )
        return Snapshot(tuple(shown), resumed=False)

    def since(self, seq: int | None) -> Snapshot:
        """Return the newest version of each caption that has changed after `seq`.

        If `seq` is None, too old or beyond the newest: the whole snapshot.
        """
        # Too old: a changed caption may have left the board, and the display would keep the old
        # version. Beyond the newest: the display was at another session, or the journal is lost.
        if seq is None or not self._forgotten_seq <= seq <= self.seq:
            return self.snapshot()
        return Snapshot(tuple(m for m in self._sorted() if m.seq > seq), resumed=True)

    def set_history(self, history: int) -> None:
        """Set how many final captions are kept from now on."""
        self._history = history
        self._forget()

    def restore(self, messages: Iterable[CaptionMessage]) -> None:
        """Restore a journal's captions, oldest line first; seq and ids continue from there."""
        for message in messages:
            self.seq = max(self.seq, message.seq)
            old = self._messages.get(message.id)
            # A rewritten or cut journal may hold an older line after a newer one.
            if old is None or message.seq > old.seq:
                # Needed for undo and `unhide` to work after a restart.
                self._note_change(old, message)
                self._messages[message.id] = message
                self._forget()

    def take(self, message: CaptionMessage) -> CaptionMessage | None:
        """Put a version from another board of this session on this board.

        None if its `seq` is not newer: then displays have this version or a newer one.
        """
        return self._put(message) if message.seq > self.seq else None

    def find(self, caption_id: int) -> CaptionMessage | None:
        """Return the newest version of a caption, None if it is not on the board."""
        return self._messages.get(caption_id)

    def message(self, caption_id: int) -> CaptionMessage:
        """Return the newest version of a caption. Raises ProtocolError."""
        if (message := self.find(caption_id)) is None:
            raise ProtocolError("unknown-caption", f"Caption {caption_id} is not in the history.")
        return message

    def revision(self, caption_id: int) -> int:
        """Return the revision of a caption's newest version, 0 if it is not on the board."""
        return message.revision if (message := self.find(caption_id)) else 0

    def has_final(self, caption_id: int) -> bool:
        """Whether a caption is final or an operator's, so that the pipeline cannot change it."""
        return bool((message := self.find(caption_id)) and stands(message))

    def _pass_over(self, message: CaptionMessage) -> None:
        """Keep the pipeline's version of a caption that an operator has changed."""
        if not is_by_operator(self._messages[message.id]):
            return
        known = self._passed_over.get(message.id)
        # As for shown captions: after a final nothing changes until the speaker goes on.
        if not (known and known.final):
            self._passed_over[message.id] = message

    def _newest(self, earlier: CaptionMessage) -> CaptionMessage:
        """Return the pipeline's newest version if `earlier` is the pipeline's, else `earlier`."""
        if is_by_operator(earlier):
            return earlier
        return self._passed_over.get(earlier.id, earlier)

    def _end_s(self, message: CaptionMessage) -> float:
        """Return the end of a caption, with the speech since an operator changed it."""
        return max(message.end_s, self._passed_over.get(message.id, message).end_s)

    def _withdrawn(self, old: CaptionMessage, engine: str) -> CaptionMessage:
        source = SourceText(old.source.lang, "")
        return self._revised(old, source, TargetText(old.target.lang, "", engine))

    def _revised(
        self, old: CaptionMessage, source: SourceText, target: TargetText
    ) -> CaptionMessage:
        """Return a caption's next version, final, with other texts."""
        texts = {"source": source, "target": target, "stable": len(target.text)}
        return self._next(old, final=True, status="", verse=None, doubtful=False, **texts)

    def _next(self, old: CaptionMessage, **changes: Any) -> CaptionMessage:
        return replace(old, seq=self.seq + 1, revision=old.revision + 1, **changes)

    def _put(self, message: CaptionMessage) -> CaptionMessage:
        self.seq = message.seq
        self._note_change(self._messages.get(message.id), message)
        self._messages[message.id] = message
        self._forget()
        return message

    def _note_change(self, old: CaptionMessage | None, new: CaptionMessage) -> None:
        """Keep the older version if an undo or `unhide` will need it."""
        # The board itself now holds the pipeline's newest version.
        if not is_by_operator(new):
            self._passed_over.pop(new.id, None)
        elif old is not None and not is_by_operator(old):
            self._passed_over[new.id] = old
        if old is not None and is_hidden(new) and not is_hidden(old):
            self._hidden[new.id] = old

    def _sorted(self) -> list[CaptionMessage]:
        return [self._messages[key] for key in sorted(self._messages)]

    def _forget(self) -> None:
        """Drop the lowest ids beyond the limits. Open captions and finals have separate limits."""
        for kept, most in ((True, self._history), (False, _OPEN)):
            ids = [key for key, message in self._messages.items() if stands(message) is kept]
            for key in sorted(ids)[: max(0, len(ids) - most)]:
                gone = self._messages.pop(key)
                self._passed_over.pop(gone.id, None)
                self._hidden.pop(gone.id, None)
                # Without text: it is kept only so that `purge` can remove it from displays.
                self._left.append(self._withdrawn(gone, ""))
                # The maximum: captions leave in order of id, which is not the order of seq.
                self._forgotten_id = max(self._forgotten_id, gone.id)
                self._forgotten_seq = max(self._forgotten_seq, gone.seq)

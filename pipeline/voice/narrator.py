"""Choose what of the captions is said, and how fast: the rules of the church's voice. Pure.

They are those of the phone's own voice (displays/js/audience/speaker.js): only what is settled,
each word once, never far behind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.core.languages import language
from pipeline.protocol.caption import CaptionMessage
from pipeline.text.spoken import STOPS, phrase_ends

LATE_S = 6.0
"""So far behind, a listener is told what is said now, not what was."""
# Behind by less it speaks at its usual rate; beyond, the rate grows with the delay.
_SLOW_S = 1.5
_MOST_CHARACTERS = 200
"""Of a clause: one that is too long would keep what is said meanwhile waiting."""
# Nothing is being said yet: each character more is silence that a listener hears.
_FIRST_CHARACTERS = 20
_MADE_A_S = 25
"""Characters that a machine makes sound of in a second: a longer piece would come after a gap."""
_FEWEST_WORDS = 4
"""Of each piece: one of fewer sounds cut off."""
_OLD_S = 15.0
"""A caption that comes so long after its own time is for readers only. A language that has rested
gets its earlier captions in this way, the newest first."""
_KEPT = 200
"""Captions whose words are remembered: none that old changes its words in speech."""
# Greedy, so that all whole clauses are one match; a stop within "3:16" is none.
_CLAUSE = re.compile(r"^.*[.!?…;:,،؛؟、。，；：！？][\"'”’»)\]]*(?=\s|$)", re.DOTALL)
# No space follows a stop there; a Western one within a number would cut it.
_UNSPACED_CLAUSE = re.compile(r"^.*[、。，；：！？…]", re.DOTALL)
NOTICE = -1
"""Stands for a notice among the ids of captions."""


@dataclass(frozen=True, slots=True)
class Clause:
    """What is to be said next: a clause, or the next phrase of it."""

    caption_id: int
    """-1 for a notice."""
    text: str
    rate: float
    """1.25 is a quarter faster than usual."""
    is_end: bool = True
    """False where more of the same clause follows."""


class Narrator:
    """What was and is to be said in one language.

    What is next is looked up when its turn comes: a caption that was hidden or corrected meanwhile
    is never said as it was.
    """

    def __init__(self, lang: str, fastest: float) -> None:
        """`fastest`: how much faster it may speak when it is behind."""
        self._lang = lang
        self._fastest = fastest
        self._has_spaces = language(lang).has_spaces
        # No lock here: the voice that owns it calls under its own.
        self._captions: dict[int, CaptionMessage] = {}
        self._said: dict[int, int] = {}  # by id, how many words were said
        self._since_s: dict[int, float] = {}  # by id, when its first word came that was not said
        self._notice = ""
        self._has_noticed = False

    def take(self, message: CaptionMessage, now_s: float) -> None:
        """Take a caption that is new or has changed."""
        before = self._captions.get(message.id)
        if before is None and self._is_old(message):
            self.pass_over(message)
            return
        # The newest version in any case: `is_silenced` asks it whether the caption is hidden.
        self._captions[message.id] = message
        # What is put right is not said twice.
        if self._said.get(message.id, 0) > 0 and self._is_mended(before, message):
            self.pass_over(message)
        if not self._rest(message):
            self._since_s.pop(message.id, None)
        else:
            # The first time holds: each partial would make a clause that waits look new.
            self._since_s.setdefault(message.id, now_s)
        self._forget_oldest()

    def notice(self, text: str, *, is_new: bool = True) -> None:
        """Say this before all else, once; "" takes back what was not said yet.

        One that is not `is_new` is a better translation of the last one.
        """
        self._has_noticed = self._has_noticed and not is_new
        self._notice = "" if self._has_noticed else text

    def pass_over(self, message: CaptionMessage) -> None:
        """Leave out what of a caption has not been said yet."""
        self._captions[message.id] = message
        # What was said stays said, also where it is hidden now and shown again later.
        words = len(self._words(self._spoken(message)))
        self._said[message.id] = max(words, self._said.get(message.id, 0))
        self._since_s.pop(message.id, None)
        # Here as well: while nobody listens, captions come this way only.
        self._forget_oldest()

    def pass_over_all(self) -> None:
        """Leave out whatever of captions has not been said yet."""
        # A copy: passing over one may forget the oldest.
        for message in tuple(self._captions.values()):
            self.pass_over(message)

    def is_silenced(self, caption_id: int) -> bool:
        """Whether a caption has gone off the screens: what is being said of it is cut off."""
        message = self._captions.get(caption_id)
        return message is not None and self._spoken(message) == ""

    def next(self, now_s: float, queued_s: float) -> Clause | None:
        """Return what is to be said next, None if nothing is; it counts as said.

        `queued_s`: how long what was said before it will go on to be heard.
        """
        if notice := self._notice:
            self._notice = ""
            self._has_noticed = True
            # Never faster: a notice is said once, and nobody can ask for it again.
            return Clause(NOTICE, notice, 1.0)
        # By id, which grows with time: a caption that was changed late keeps its place.
        waiting = sorted(self._since_s)
        if not waiting:
            return None
        behind_s = now_s - self._since_s[waiting[0]] + queued_s
        # The newest stays: what is being said in the hall now is worth more than what was.
        if behind_s > LATE_S:
            for caption_id in waiting[:-1]:
                self.pass_over(self._captions[caption_id])
            del waiting[:-1]
        caption_id = waiting[0]
        rest = self._rest(self._captions[caption_id])
        clause = self._cut(rest)
        words = self._phrase(clause, queued_s)
        self._said[caption_id] = self._said.get(caption_id, 0) + len(words)
        if len(words) == len(rest):
            del self._since_s[caption_id]
        text = (" " if self._has_spaces else "").join(words)
        rate = min(self._fastest, max(1.0, behind_s / _SLOW_S))
        return Clause(caption_id, text, rate, is_end=len(words) == len(clause))

    def _forget_oldest(self) -> None:
        while len(self._captions) > _KEPT:
            oldest = min(self._captions)
            for kept in (self._captions, self._said, self._since_s):
                kept.pop(oldest, None)

    def _is_old(self, message: CaptionMessage) -> bool:
        newest = self._captions.get(max(self._captions, default=message.id), message)
        return newest.id > message.id and newest.end_s - message.end_s > _OLD_S

    def _is_mended(self, before: CaptionMessage | None, message: CaptionMessage) -> bool:
        """Whether the words of a caption that were said are others now."""
        # Behind a partial a final is the usual case.
        if message.corrected or before is None or not (before.final and message.final):
            return message.corrected
        # Nothing was shown that could be compared: it was hidden, or its final was filtered.
        if not (shown := self._words(self._spoken(before))):
            return message.target.engine == "operator"
        said = self._said.get(message.id, 0)
        # An approval changes no word: what follows is still to be said.
        return shown[:said] != self._words(self._spoken(message))[:said]

    def _spoken(self, message: CaptionMessage) -> str:
        """Return what is said of a caption: a printed verse without its place, no other lang."""
        # Without a text it is hidden, although the verse may still be there.
        if message.verse is not None and message.target.text:
            return message.verse.text if message.verse.lang == self._lang else ""
        return message.target.text if message.target.lang == self._lang else ""

    def _settled(self, message: CaptionMessage) -> str:
        """Return what cannot change any more, up to the end of a clause; all of a final."""
        spoken = self._spoken(message)
        if message.final:
            return spoken
        if message.corrected:  # until it is translated anew it says what was heard wrongly
            return ""
        if spoken != message.target.text:  # `stable` is about that
            return ""
        ends = _CLAUSE if self._has_spaces else _UNSPACED_CLAUSE
        clause = ends.match(spoken[: message.stable])
        return clause[0] if clause else ""

    def _words(self, text: str) -> list[str]:
        return text.split() if self._has_spaces else list(text)

    def _rest(self, message: CaptionMessage) -> list[str]:
        """Return the settled words not said yet; those that a final replaced count as said."""
        return self._words(self._settled(message))[self._said.get(message.id, 0) :]

    def _phrase(self, words: list[str], queued_s: float) -> list[str]:
        """Return as many words as are made while what is queued is heard, up to a phrase's end.

        Where nothing is being said, a clause of ten words would be heard a second later.
        """
        most = max(_FIRST_CHARACTERS, queued_s * _MADE_A_S)
        if not self._has_spaces or len(" ".join(words)) <= most:
            return words
        # The rest counts as well: its last word alone would sound as cut off as a first one.
        latest = len(words) - _FEWEST_WORDS
        ends = [at for at in phrase_ends(words, self._lang) if _FEWEST_WORDS <= at <= latest]
        fitting = [at for at in ends if len(" ".join(words[:at])) <= most]
        # None fits: the earliest end makes the shortest gap.
        return words[: max(fitting, default=min(ends, default=len(words)))]

    def _cut(self, words: list[str]) -> list[str]:
        """Return the words of one clause: all, or as many as are said in one go."""
        size, ends = 0, 0
        for number, word in enumerate(words, 1):
            size += len(word) + self._has_spaces
            if size > _MOST_CHARACTERS:
                # At least one word, however long: else the same clause would come for ever.
                return words[: ends or max(1, number - 1)]
            if word[-1] in STOPS:
                ends = number
        return words

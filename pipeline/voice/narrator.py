"""Choose which caption text the church's voice says, and how fast. Pure.

The rules are those of the phone's own voice (displays/js/audience/speaker.js): only settled text,
each word once, never far behind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.core.languages import language
from pipeline.protocol.caption import CaptionMessage
from pipeline.text.spoken import STOPS, phrase_ends

LATE_S = 6.0
"""Delay after which a listener gets the current speech and earlier text is skipped."""
# With a smaller delay it speaks at its usual rate; beyond, the rate grows with the delay.
_SLOW_S = 1.5
_MOST_CHARACTERS = 200
"""Limit of a clause: a longer one would delay later text."""
# For the first piece in silence: each further character makes the silence longer.
_FIRST_CHARACTERS = 20
_MADE_A_S = 25
"""Characters that a machine turns into sound in a second: a longer piece would come after a gap."""
_FEWEST_WORDS = 4
"""Least words of each piece: a shorter one sounds cut off."""
_OLD_S = 15.0
"""A caption that comes so long after its own time is not spoken. A language that has rested gets
its earlier captions like this, the newest first."""
_KEPT = 200
"""Number of captions whose words are remembered. Older ones do not change during speech."""
# Greedy, so that all whole clauses are one match; the colon in "3:16" ends no clause.
_CLAUSE = re.compile(r"^.*[.!?…;:,،؛؟、。，；：！？][\"'”’»)\]]*(?=\s|$)", re.DOTALL)
# Unspaced scripts have no space after a stop. No Western stops, since they would cut numbers.
_UNSPACED_CLAUSE = re.compile(r"^.*[、。，；：！？…]", re.DOTALL)
NOTICE = -1
"""Caption id of a notice."""


@dataclass(frozen=True, slots=True)
class Clause:
    """The next text to say: a clause, or its next phrase."""

    caption_id: int
    """-1 for a notice."""
    text: str
    rate: float
    """1.25 is a quarter faster than usual."""
    is_end: bool = True
    """False if more of the same clause follows."""


class Narrator:
    """The spoken and the waiting text of one language.

    The text is looked up when its turn comes, so a caption that was hidden or corrected meanwhile
    is never said in its old form.
    """

    def __init__(self, lang: str, fastest: float) -> None:
        """`fastest` is the highest rate when it is behind."""
        self._lang = lang
        self._fastest = fastest
        self._has_spaces = language(lang).has_spaces
        # No lock here: the voice calls it under its own lock.
        self._captions: dict[int, CaptionMessage] = {}
        self._said: dict[int, int] = {}  # by id, the number of words said
        self._since_s: dict[int, float] = {}  # by id, when its first unsaid word came
        self._notice = ""
        self._has_noticed = False

    def take(self, message: CaptionMessage, now_s: float) -> None:
        """Take a new or changed caption."""
        before = self._captions.get(message.id)
        if before is None and self._is_old(message):
            self.pass_over(message)
            return
        # Always keep the newest version: `is_silenced` reads from it whether the caption is hidden.
        self._captions[message.id] = message
        # A corrected caption is not said twice.
        if self._said.get(message.id, 0) > 0 and self._is_mended(before, message):
            self.pass_over(message)
        if not self._rest(message):
            self._since_s.pop(message.id, None)
        else:
            # The first time is kept: otherwise each partial would make a waiting clause look new.
            self._since_s.setdefault(message.id, now_s)
        self._forget_oldest()

    def notice(self, text: str, *, is_new: bool = True) -> None:
        """Say this notice once, before everything else; "" takes back an unsaid one.

        If `is_new` is False, it is a better translation of the last notice.
        """
        self._has_noticed = self._has_noticed and not is_new
        self._notice = "" if self._has_noticed else text

    def pass_over(self, message: CaptionMessage) -> None:
        """Skip the unsaid words of a caption."""
        self._captions[message.id] = message
        # Said words stay said, even if the caption is hidden now and shown again later.
        words = len(self._words(self._spoken(message)))
        self._said[message.id] = max(words, self._said.get(message.id, 0))
        self._since_s.pop(message.id, None)
        # Also here: without listeners, captions come only this way.
        self._forget_oldest()

    def pass_over_all(self) -> None:
        """Skip the unsaid words of all captions."""
        # A copy, since `pass_over` may remove the oldest.
        for message in tuple(self._captions.values()):
            self.pass_over(message)

    def is_silenced(self, caption_id: int) -> bool:
        """Whether a caption was removed from the screens, so that its sound must stop."""
        message = self._captions.get(caption_id)
        return message is not None and self._spoken(message) == ""

    def next(self, now_s: float, queued_s: float) -> Clause | None:
        """Return the next clause, None if there is none; it then counts as said.

        `queued_s` is the length of the earlier sound that is still to be heard.
        """
        if notice := self._notice:
            self._notice = ""
            self._has_noticed = True
            # Never faster, since a notice is said only once.
            return Clause(NOTICE, notice, 1.0)
        # By id, which grows with time: a late change does not move a caption.
        waiting = sorted(self._since_s)
        if not waiting:
            return None
        behind_s = now_s - self._since_s[waiting[0]] + queued_s
        # Keep only the newest: the current speech is worth more than earlier speech.
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
        """Whether the said words of a caption have changed."""
        # Usually a final follows a partial; that is no change.
        if message.corrected or before is None or not (before.final and message.final):
            return message.corrected
        # There is no earlier text to compare: it was hidden, or its final was filtered.
        if not (shown := self._words(self._spoken(before))):
            return message.target.engine == "operator"
        said = self._said.get(message.id, 0)
        # An approval changes no word, so the rest is still to be said.
        return shown[:said] != self._words(self._spoken(message))[:said]

    def _spoken(self, message: CaptionMessage) -> str:
        """Return a caption's text to say: a printed verse without its reference, only in `lang`."""
        # A caption without text is hidden, although its verse may still be there.
        if message.verse is not None and message.target.text:
            return message.verse.text if message.verse.lang == self._lang else ""
        return message.target.text if message.target.lang == self._lang else ""

    def _settled(self, message: CaptionMessage) -> str:
        """Return the text that cannot change any more, up to a clause's end; all of a final."""
        spoken = self._spoken(message)
        if message.final:
            return spoken
        if message.corrected:  # until its new translation it has the misheard text
            return ""
        if spoken != message.target.text:  # `stable` counts characters of that text
            return ""
        ends = _CLAUSE if self._has_spaces else _UNSPACED_CLAUSE
        clause = ends.match(spoken[: message.stable])
        return clause[0] if clause else ""

    def _words(self, text: str) -> list[str]:
        return text.split() if self._has_spaces else list(text)

    def _rest(self, message: CaptionMessage) -> list[str]:
        """Return the settled, unsaid words; words that a final replaced count as said."""
        return self._words(self._settled(message))[self._said.get(message.id, 0) :]

    def _phrase(self, words: list[str], queued_s: float) -> list[str]:
        """Return the words that can be made during the queued sound, up to a phrase's end.

        In silence, a whole clause of ten words would start a second later.
        """
        most = max(_FIRST_CHARACTERS, queued_s * _MADE_A_S)
        if not self._has_spaces or len(" ".join(words)) <= most:
            return words
        # The rest needs _FEWEST_WORDS too, since a single last word would sound cut off.
        latest = len(words) - _FEWEST_WORDS
        ends = [at for at in phrase_ends(words, self._lang) if _FEWEST_WORDS <= at <= latest]
        fitting = [at for at in ends if len(" ".join(words[:at])) <= most]
        # If none fits, the earliest end makes the shortest gap.
        return words[: max(fitting, default=min(ends, default=len(words)))]

    def _cut(self, words: list[str]) -> list[str]:
        """Return the words of one clause: all, or as many as are said in one piece."""
        size, ends = 0, 0
        for number, word in enumerate(words, 1):
            size += len(word) + self._has_spaces
            if size > _MOST_CHARACTERS:
                # At least one word, however long: otherwise the same clause would repeat forever.
                return words[: ends or max(1, number - 1)]
            if word[-1] in STOPS:
                ends = number
        return words

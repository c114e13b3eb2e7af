"""Which of several spoken languages is spoken now: detections, with hysteresis. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SURE = 0.8
"""Share of a language, of those that are spoken here, below which a detection says nothing."""
LONG_S = 3.0
"""Speech from which on one utterance changes the language."""
SOME_S = 1.5
"""Speech below which nothing is known: "amen" may be any language."""


class SpokenLanguage:
    """Follows the language. One thread hears; any may read and force."""

    def __init__(self, langs: Sequence[str]) -> None:
        """`langs`: those that are spoken; a service begins in the first."""
        self.langs = tuple(langs)
        self.now = langs[0]
        """The language of what was said last."""
        self.forced = ""
        """The one that an operator has chosen; "": it is detected."""
        self._other = ""
        self._other_id = -1

    @property
    def expected(self) -> str:
        """The language in which the next utterance is heard first."""
        return self.forced or self.now

    def hear(
        self, shares: Mapping[str, float], speech_s: float, utterance_id: int, *, is_whole: bool
    ) -> str:
        """Return the language in which an utterance is to be heard, "" if that is not known yet.

        `shares` are how likely each language is, together 1; `speech_s` is the length of speech.
        The language changes with one long utterance, or with two short ones that agree; a short
        one alone is heard as what it is, and what is unsure or very short goes with the others.
        """
        if self.forced:
            self.now = self.forced
            return self.now
        likely = max(shares, key=lambda lang: shares[lang], default=self.now)
        if shares.get(likely, 0.0) < SURE:
            return self.now
        is_second = self._other == likely and self._other_id != utterance_id
        if speech_s >= LONG_S or (is_whole and is_second) or likely == self.now:
            # Of two versions of an utterance the later one counts.
            self.now, self._other = likely, ""
            return likely
        if is_whole:
            self._other, self._other_id = likely, utterance_id
        if speech_s >= SOME_S:
            return likely
        return self.now if is_whole else ""

"""Notice that a translator writes another language than it is asked for. Pure.

Spanish and Portuguese have one script, so what is told by letters (`language_check`) does not tell
them apart. The commonest little words do: of a text of some length about every second word is one,
and few of them are the same in two languages. The method is the oldest of language identification
(the share of function words: Grefenstette, "Comparing two language identification schemes", 1995).
"""

from __future__ import annotations

from collections import deque

from pipeline.core.languages import LANGUAGES, language
from pipeline.text.words import words

WINDOW = 80
"""Words that are judged together: a quoted hymn in Latin is shorter than most of them."""
LEAST = 40
"""Words before anything is said: of fewer, names and loan words can be most."""
MARGIN = 0.12
"""By how much the share of another language's little words must be above that of its own: tested on
windows of LEAST words in tests/unit/text/test_output_language.py.
"""


class OutputLanguage:
    """Follows the finals of one language. For a language without `common` words it says nothing."""

    def __init__(self, lang: str) -> None:
        self._own = language(lang)
        self._others = [
            each
            for each in LANGUAGES.values()
            # Those of another script `language_check` tells by their letters, at the first caption.
            if each.common and each.code != lang and each.script & self._own.script
        ]
        self._said: deque[str] = deque(maxlen=WINDOW)
        self._told = ""

    def take(self, text: str) -> str:
        """Take a final; return the code of the language that it has changed to, once, else "".

        It is told again only after its own language was ahead of all others.
        """
        if not self._own.common:
            return ""
        # A compound is one word: its halves are none of the little words.
        self._said.extend(filter(None, ("-".join(words(each)) for each in text.split())))
        if len(self._said) < LEAST:
            return ""
        shares = {each.code: self._share(each.common) for each in self._others}
        best = max(shares, key=shares.__getitem__, default="")
        ahead = shares.get(best, 0.0) - self._share(self._own.common)
        told, found = self._told, best if ahead > MARGIN else ""
        # Between the two it stays as it was: a share that wavers around the margin is told once.
        if found or ahead < 0:
            self._told = found
        return found if found != told else ""

    def _share(self, common: frozenset[str]) -> float:
        return sum(word in common for word in self._said) / len(self._said)

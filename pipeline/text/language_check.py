"""Detect model output that must not be shown: empty, control tokens, another language. Pure.

A failing model (numeric overflow on a GPU, a wrong prompt, too strong quantization) writes its own
control tokens, or changes to a language of another script.

Spanish and Portuguese share one script, so letters do not distinguish them. Function words do: in a
longer text about every second word is one, and two languages share few of them. This is the oldest
method of language identification (the share of function words: Grefenstette, "Comparing two
language identification schemes", 1995).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, deque

from pipeline.core.languages import LANGUAGES, language
from pipeline.text.words import words

_CONTROL = re.compile(
    r"<\|[^|<>]{1,40}\|>"  # Whisper, GPT: <|endoftext|>
    r"|<(?:/?s|pad|unk|bos|eos|mask|(?:start|end)_of_turn|(?:start|end)_of_text)>"
    r"|<unused\d+>|<0x[0-9A-Fa-f]{2}>"  # Gemma's spare and byte tokens
    r"|\[/?INST\]|\[UNK\]|▁"
)
_MIN_LETTERS = 3
WINDOW = 80
"""Number of words judged together; a quoted hymn in Latin is less than most of it."""
LEAST = 40
"""Least number of words for a result: with fewer, most can be names and loan words."""
MARGIN = 0.12
"""By how much another language's share of function words must exceed the own language's: tested on
windows of LEAST words in tests/unit/text/test_language_check.py.
"""


def gibberish(text: str, lang: str) -> str:
    """Return why `text` in `lang` ("es") must not be shown, "" when it may.

    `empty`: it has no text; `control-tokens`: it has control tokens of a model; `wrong-script`:
    most of its letters are of another script than the language's. A Greek word that a preacher
    explains is no reason.
    """
    if not text.strip():
        return "empty"
    if _CONTROL.search(text):
        return "control-tokens"
    own = language(lang).script
    # Letters only: digits and punctuation have no script, and can be most of a reference.
    letters = Counter(script_of(sign) for sign in text if sign.isalpha())
    foreign = sum(count for script, count in letters.items() if script not in own)
    # A language that is not in languages.toml has no known script, so it is not checked.
    if own and foreign >= _MIN_LETTERS and 2 * foreign > letters.total():
        return "wrong-script"
    return ""


def script_of(letter: str) -> str:
    """Return the first word of a letter's name, which is its script for all relevant scripts."""
    # Cut at "-": "KATAKANA-HIRAGANA PROLONGED SOUND MARK" counts as katakana, "CJK-..." as CJK.
    return unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]


class OutputLanguage:
    """Checks the finals of one language. A language without `common` words is not checked."""

    def __init__(self, lang: str) -> None:
        self._own = language(lang)
        self._others = [
            each
            for each in LANGUAGES.values()
            # `gibberish` detects languages of another script by letters, at the first caption.
            if each.common and each.code != lang and each.script & self._own.script
        ]
        self._said: deque[str] = deque(maxlen=WINDOW)
        self._told = ""

    def take(self, text: str) -> str:
        """Take a final; return once the code of the language that finals changed to, else "".

        It is returned again only after the own language was ahead of all others.
        """
        if not self._own.common:
            return ""
        # A compound is one word: its halves are no function words.
        self._said.extend(filter(None, ("-".join(words(each)) for each in text.split())))
        if len(self._said) < LEAST:
            return ""
        shares = {each.code: self._share(each.common) for each in self._others}
        best = max(shares, key=shares.__getitem__, default="")
        ahead = shares.get(best, 0.0) - self._share(self._own.common)
        previous, found = self._told, best if ahead > MARGIN else ""
        # Between the two the state stays: a share that varies around the margin is reported once.
        if found or ahead < 0:
            self._told = found
        return found if found != previous else ""

    def _share(self, common: frozenset[str]) -> float:
        return sum(word in common for word in self._said) / len(self._said)

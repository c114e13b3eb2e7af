"""Detect model output that must not be shown: empty, control tokens, another language. Pure.

A model that has lost its footing (numbers that overflow on a GPU, a wrong prompt, a quantization
too far) writes its own control tokens, or goes over to a language of another script.

Spanish and Portuguese have one script, so letters do not tell them apart. The commonest little
words do: of a text of some length about every second word is one, and few of them are the same in
two languages. The method is the oldest of language identification (the share of function words:
Grefenstette, "Comparing two language identification schemes", 1995).
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
"""Words that are judged together: a quoted hymn in Latin is shorter than most of them."""
LEAST = 40
"""Words before anything is said: of fewer, names and loan words can be most."""
MARGIN = 0.12
"""By how much the share of another language's little words must be above that of its own: tested on
windows of LEAST words in tests/unit/text/test_language_check.py.
"""


def gibberish(text: str, lang: str) -> str:
    """Return why `text` in `lang` ("es") must not be shown, "" when it may.

    `empty`: nothing is in it; `control-tokens` of a model's vocabulary stand in it; `wrong-script`:
    most of its letters are of another script than the language's. A Greek word that a preacher
    explains is no reason.
    """
    if not text.strip():
        return "empty"
    if _CONTROL.search(text):
        return "control-tokens"
    own = language(lang).script
    # Letters only: digits and punctuation are of no script, and could be most of a reference.
    letters = Counter(script_of(sign) for sign in text if sign.isalpha())
    foreign = sum(count for script, count in letters.items() if script not in own)
    # Of a language that is not in languages.toml no script is known, and nothing is said.
    if own and foreign >= _MIN_LETTERS and 2 * foreign > letters.total():
        return "wrong-script"
    return ""


def script_of(letter: str) -> str:
    """Return the first word of a letter's name, which is its script for all that matter here."""
    # By its hyphen "KATAKANA-HIRAGANA PROLONGED SOUND MARK" counts as katakana, "CJK-..." as CJK.
    return unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]


class OutputLanguage:
    """Follows the finals of one language. For a language without `common` words it says nothing."""

    def __init__(self, lang: str) -> None:
        self._own = language(lang)
        self._others = [
            each
            for each in LANGUAGES.values()
            # `gibberish` knows those of another script by their letters, at the first caption.
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

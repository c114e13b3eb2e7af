"""Detect model output that must not be shown: empty, control tokens, wrong script. Pure.

A model that has lost its footing (numbers that overflow on a GPU, a wrong prompt, a quantization
too far) writes its own control tokens, or goes over to a language of another script.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from pipeline.core.languages import language

_CONTROL = re.compile(
    r"<\|[^|<>]{1,40}\|>"  # Whisper, GPT: <|endoftext|>
    r"|<(?:/?s|pad|unk|bos|eos|mask|(?:start|end)_of_turn|(?:start|end)_of_text)>"
    r"|<unused\d+>|<0x[0-9A-Fa-f]{2}>"  # Gemma's spare and byte tokens
    r"|\[/?INST\]|\[UNK\]|▁"
)
_MIN_LETTERS = 3


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
    letters = Counter(_script(sign) for sign in text if sign.isalpha())
    foreign = sum(count for script, count in letters.items() if script not in own)
    # Of a language that is not in languages.toml no script is known, and nothing is said.
    if own and foreign >= _MIN_LETTERS and 2 * foreign > letters.total():
        return "wrong-script"
    return ""


def _script(letter: str) -> str:
    """Return the first word of a letter's name, which is its script for all that matter here."""
    return unicodedata.name(letter, "").partition(" ")[0].partition("-")[0]

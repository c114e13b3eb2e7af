"""Prepare a caption's text for speech, and split it into pieces. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from pipeline.core.languages import language
from pipeline.text.language_check import script_of
from pipeline.text.spoken_forms import as_said

_BETWEEN_NUMBERS = re.compile(r"(?<=\d)\s*[:–—-]\s*(?=\d)")
"""In verses, ranges, times: "3:16-17" is said as three numbers; French would read it as a time."""
_BEGINNINGS = {
    "es": """a al ante aunque como con contra cuando de del desde donde durante e el en entre hacia
        hasta la las los mientras ni o para pero por porque que quien según si sin sino sobre u un
        una y""",
    "fr": """à afin au aux avec car chez comme contre d dans de depuis des dont du en entre et
        jusqu l la le les lorsqu lorsque mais ni ou où par parce pendant pour puis qu quand que qui
        sans si sous sur un une vers""",
    "pt": """a à ao aos as às até com como contra da das de desde do dos durante e em entre mas na
        nas nem no nos o os ou para pela pelo por porque quando que quem se sem sobre um uma""",
}
"""Words that begin a phrase: a voice may take a breath before them."""
STOPS = ".!?…;:,،؛؟、。，；：！？"
_ENDS = re.compile(r"(?<=[.!?…;:。！？；,、，،])(?!(?<=\d[.:,])\d)(?:(?<![,、，،])[\"'”’»)\]]+)?")
"""Not within a number such as 3.500."""


def sayable(text: str, lang: str) -> str:
    """Return `text` without unspeakable parts: emoji, signs, words of another script.

    References and ranges of numbers are written so that their numbers are said one by one. "" if
    nothing is left.
    """
    scripts = language(lang).script
    # Half of a surrogate pair cannot be sent to a speech engine, so it is left out.
    text = unicodedata.normalize("NFC", text.encode(errors="ignore").decode())
    text = _BETWEEN_NUMBERS.sub(", ", as_said(" ".join(text.split()), lang))
    words = text.split()
    kept = ("".join(filter(_can_be_said, word)) for word in words if _is_of(word, scripts))
    said = " ".join(filter(None, kept))
    return said if any(map(str.isalnum, said)) else ""


def _can_be_said(sign: str) -> bool:
    # Marks belong to the letters before them. Only signs that have a name are read.
    return unicodedata.category(sign)[0] in "LMNP" or sign in "$€£%+=°"


def _is_of(word: str, scripts: frozenset[str]) -> bool:
    # The signs of "1º" and "2ª" are letters without a script.
    letters = [sign for sign in word if sign.isalpha() and sign not in "ºª"]
    # Numbers have no script, and an unknown language has no known script.
    if not (letters and scripts):
        return True
    return any(script_of(sign) in scripts for sign in letters)


def phrase_ends(words: Sequence[str], lang: str) -> list[int]:
    """Return the word counts where a phrase ends: at a stop, or before a word that begins one."""
    begins = _BEGINNINGS.get(lang, "").split()
    # French joins such a word to the next one: "l'église" begins with "l", "qu'elle" with "qu".
    are = [word.casefold().replace("’", "'").partition("'")[0] in begins for word in words]
    return [
        at
        for at in range(1, len(words))
        # No breath between two such words: "et de la maison" is one phrase.
        if words[at - 1][-1] in STOPS or (are[at] and not are[at - 1])
    ]


def pieces(text: str, most: int) -> Iterator[str]:
    """Yield a text in pieces of at most `most` characters, split after clauses, else words."""
    while len(text) > most:
        # Search the whole text: at the end of a part it is unknown whether a number goes on.
        ends = [at for end in _ENDS.finditer(text) if (at := end.end()) <= most]
        # A cut near the beginning would isolate a word.
        end = next((at for at in reversed(ends) if at > most // 4), 0)
        end = end or text.rfind(" ", 1, most) + 1 or most
        yield text[:end].strip()
        text = text[end:].lstrip()
    if text.strip():
        yield text.strip()

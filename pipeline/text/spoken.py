"""Make a caption's text one that can be said, and cut it into pieces. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from pipeline.core.languages import language
from pipeline.text.language_check import script_of

_BETWEEN_NUMBERS = re.compile(r"(?<=\d)\s*[:–—-]\s*(?=\d)")
"""Of verses, ranges, times: "3:16-17" is said as three numbers; French would make a time of it."""
_ABBREVIATIONS = {
    "es": {"Ud.": "usted", "Uds.": "ustedes", "cap.": "capítulo", "v.": "versículo"},
    "fr": {"M.": "monsieur", "Mme": "madame", "chap.": "chapitre", "v.": "verset"},
    "pt": {"cap.": "capítulo", "v.": "versículo", "Pr.": "pastor"},
}
"""Those that espeak-ng spells; it knows the others."""
_ENDS = re.compile(r"(?<=[.!?…;:。！？；])[\"'”’»)\]]*\s*|(?<=[,、，،])\s*")


def sayable(text: str, lang: str) -> str:
    """Return `text` without what nobody says: emoji, signs, words of another script.

    References and ranges of numbers are written so that their numbers are said one by one. "" if
    nothing is left.
    """
    scripts = language(lang).script
    text = unicodedata.normalize("NFC", text.encode(errors="ignore").decode())
    text = _BETWEEN_NUMBERS.sub(", ", text)
    known = _ABBREVIATIONS.get(lang, {})
    words = (known.get(word, word) for word in text.split())
    kept = ("".join(filter(_can_be_said, word)) for word in words if _is_of(word, scripts))
    said = " ".join(filter(None, kept))
    return said if any(map(str.isalnum, said)) else ""


def _can_be_said(sign: str) -> bool:
    # Marks belong to the letters before them; of signs only those that have a name are read.
    return unicodedata.category(sign)[0] in "LMNP" or sign in "$€£%+=°"


def _is_of(word: str, scripts: frozenset[str]) -> bool:
    letters = [sign for sign in word if sign.isalpha()]
    if not (letters and scripts):
        return True
    return any(script_of(sign) in scripts for sign in letters)


def pieces(text: str, most: int) -> Iterator[str]:
    """Yield a text in pieces of at most `most` characters: at ends of clauses, else of words."""
    while len(text) > most:
        ends = [end.end() for end in _ENDS.finditer(text, 0, most)]
        # A cut near the beginning would leave a word alone.
        end = next((at for at in reversed(ends) if at > most // 4), 0)
        end = end or text.rfind(" ", 1, most) + 1 or most
        yield text[:end].strip()
        text = text[end:]
    if text.strip():
        yield text.strip()

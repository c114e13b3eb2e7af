"""How words change with number and gender, as far as comparing them needs it. Pure.

Spanish has rules here; of another language words count as they are written, with or without an s.
"""

from __future__ import annotations

import re

from pipeline.text.words import is_unspaced, plain, words

_SHORT = 4
"""Words of so many letters keep their vowel: what is left would be in too many other words."""

_DETERMINERS = {
    "es": (
        *(("el", "la"), ("los", "las"), ("un", "una"), ("unos", "unas"), ("del", "de la")),
        *(("al", "a la"), ("este", "esta"), ("estos", "estas"), ("ese", "esa"), ("esos", "esas")),
        *(("aquel", "aquella"), ("nuestro", "nuestra"), ("nuestros", "nuestras")),
        *(("todo el", "toda la"), ("todos los", "todas las"), ("otro", "otra")),
    ),
}


def plural(noun: str, lang: str) -> str:
    """Return the plural of a single word, "" where no rule is known."""
    if lang != "es" or " " in noun or not noun:
        return ""
    if noun[-1] in "aeoáéó":
        return f"{noun}s"
    if noun[-1] == "z":
        return f"{noun[:-1]}ces"
    if noun[-1] in "sx":
        return noun
    if ending := re.search(r"[áéíóú](?=n$)", noun):  # the accent falls away: pasión, pasiones
        bare = plain(ending[0])
        noun = noun[: ending.start()] + bare + noun[ending.end() :]
    return f"{noun}es"


def pattern(rendering: str, lang: str) -> str:
    """Return a regular expression of a rendering in all its forms, words parted by one space.

    A `*` at a word's end stands for any ending. It is for words as `plain` gives them.
    """
    # Without spaces there are no endings to vary; each letter is matched by itself.
    if is_unspaced(rendering):
        return " ".join(map(re.escape, words(rendering)))
    return " ".join(_word_pattern(word, lang) for word in rendering.split())


def _word_pattern(word: str, lang: str) -> str:
    bare = plain(word)
    if bare.endswith("*"):
        return re.escape(bare.rstrip("*")) + (r"\w+" if bare == "*" else r"\w*")
    if lang != "es":
        return re.escape(bare) + "s?"
    if bare.endswith("z"):
        return f"{re.escape(bare[:-1])}(?:z|ces)"
    if len(bare) <= _SHORT:
        return f"{re.escape(bare)}(?:e?s)?"
    stem = bare.removesuffix("s")
    stem = stem[:-1] if stem[-1] in "aeo" else stem
    return f"{re.escape(stem)}(?:[aeo]s?|s)?"


def swapped(text: str, lang: str) -> tuple[str, str] | None:
    """Return the determiner that a text ends with and the same of the other gender.

    None where it ends with none. The case of its first letter is kept.
    """
    for one, other in _DETERMINERS.get(lang, ()):
        for here, there in ((one, other), (other, one)):
            if found := re.search(rf"(?<!\S)[\"“«¡¿(]*({here})\s*$", text, re.IGNORECASE):
                new = there.capitalize() if found[1][0].isupper() else there
                return found[1], new
    return None

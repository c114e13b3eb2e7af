"""Bible references as they are said, and as they are printed: "Romans eight twenty-eight". Pure.

Every form that preachers use leads to one value: book, chapter, verses, valid in the numbering of
the chapters. What is also ordinary speech ("I met John three times") never counts as a reference:
names that are ordinary words need a chapter and a verse, or a cue before them.
"""

from __future__ import annotations

import re

from pipeline.church.books import LANGS, PRINTED, chapters
from pipeline.church.mention import Mention, Reference
from pipeline.church.reference_reader import Reader
from pipeline.church.tokens import Tokens

__all__ = ["LANGS", "Mention", "Reference", "find", "printed", "slot", "spelled"]


def find(text: str, lang: str, *, strict: bool = True) -> tuple[Mention, ...]:
    """Return the references in a text, left to right; none in a language that is not known.

    Without `strict` a name that is an ordinary word counts as soon as numbers follow that are valid
    for it: for a translation of a text in which the reference is known to be.
    """
    if lang not in LANGS:
        return ()
    reader = Reader(Tokens(text), lang, strict=strict)
    return tuple(reader.mentions())


def printed(reference: Reference, lang: str) -> str:
    """Return a reference as a language prints it: "1 Corintios 13:4-8"."""
    name = PRINTED[lang][reference.book - 1]
    if chapters(reference.book) == 1 and reference.verse:
        place = f"{reference.verse}"
    else:
        place = f"{reference.chapter}" + (f":{reference.verse}" if reference.verse else "")
    return f"{name} {place}" + (f"-{reference.last}" if reference.last else "")


def spelled(text: str, lang: str) -> str:
    """Return a text with its references as they are printed: "Psalm 23" for the twenty-third psalm.

    Translators copy digits more faithfully than they translate words. Nothing else is changed.
    """
    # From the end: what is put in is longer or shorter, and moves all behind it.
    for mention in reversed(find(text, lang)):
        start, new = slot(text, mention, printed(mention.reference, lang), lang)
        text = text[:start] + new + text[mention.end :]
    return text


def slot(text: str, mention: Mention, new: str, lang: str) -> tuple[int, str]:
    """Return where the text that a mention is replaced in begins, and what is to stand there.

    An article before "chapter" or "psalm" goes with it.
    """
    article = None if mention.book_first else _ARTICLE[lang].search(text[: mention.start])
    if article is None:
        return mention.start, new
    left = _LEFT.get(article.group(1).lower(), "")
    if article.group(1)[0].isupper():
        left = left.capitalize()
    return article.start(), f"{left} {new}" if left else new


_ARTICLE = {
    lang: re.compile(rf"(?<![^\W\d_])({words})\s+$", re.IGNORECASE)
    for lang, words in (("en", "the"), ("es", "el|la|los|las|al|del"), ("fr", "le|la|les|au|du"))
}
"""An article before a chapter or psalm."""
_LEFT = {"al": "a", "del": "de", "au": "à", "du": "de"}
"""What of an article and a preposition in one is left when the article goes."""

"""Bible references, spoken ("Romans eight twenty-eight") and printed. Pure.

Every form that preachers use gives one value: book, chapter and verses that exist. Ordinary speech
("I met John three times") never counts as a reference: names that are also ordinary words need a
chapter and a verse, or a cue before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from pipeline.church.scripture.books import (
    LANGS,
    NAMES,
    PRINTED,
    PSALMS,
    Mention,
    Reference,
    chapters,
)
from pipeline.church.scripture.reference_reader import REFERENCE_WORDS, Reader
from pipeline.church.scripture.tokens import Tokens
from pipeline.text.words import plain, word_set

_NUMBERS = re.compile(r"[\s,]*\d+(?:[:.,\-–]\d+)*(?![\w%])")
_WORD_BEFORE = re.compile(r"([^\W\d_]+)\s+$")
_SMALL = word_set(
    "el la los las en a al de del y e lean leemos the in to of and read "
    "le les l' du des d' dans au aux et lisez lisons"
)
"""Words that are no name. Any other word before a bare "3:16" may be the name."""
_ALIKE = 0.6


def end_of_numbers(text: str, end: int) -> int:
    """Return the end of the numbers that still belong to a wrongly built reference."""
    more = _NUMBERS.match(text, end)
    return more.end() if more else end


def find_slot(text: str, reference: Reference, langs: tuple[str, str]) -> tuple[int, int] | None:
    """Return the one part of a translation that renders a reference, None if it is uncertain.

    It is the book's name in either language with any numbers that follow; or else the bare "3:16"
    with a word before it that looks like the name.
    """
    # Chapters may stand before the name: "los capítulos 5, 6 y 7 de Mateo".
    if reference.is_chapters:
        return None
    # A set: a name that both languages have is found twice in the same place.
    names = set(_named(text, reference.book, langs))
    if len(names) == 1:
        ((start, end),) = names
        return start, end_of_numbers(text, end)
    return None if names or not reference.verse else _bare(text, reference, langs)


def _named(text: str, book: int, langs: tuple[str, str]) -> Iterator[tuple[int, int]]:
    for lang in langs:
        tokens = Tokens(text)
        for name, first, end in Reader(tokens, lang, strict=False).books():
            if name.number == book:
                yield tokens.spans[first][0], tokens.spans[end - 1][1]


def _bare(text: str, reference: Reference, langs: tuple[str, str]) -> tuple[int, int] | None:
    first, end = rf"{reference.chapter}\s*:\s*{reference.verse}", reference.ending or 0
    place = re.compile(rf"(?<![\d:.,]){first}(?:-{end})?(?![\d:%])")
    matches = list(place.finditer(text))
    # With two matches, the wrong one would be overwritten half of the time.
    if len(matches) != 1:
        return None
    start, end = matches[0].span()
    before = _WORD_BEFORE.search(text[:start])
    if before is None:
        return None if text[:start].strip() else (start, end)
    word = plain(before.group(1))
    if word in _SMALL:
        return start, end
    return (before.start(), end) if _is_like(word, reference.book, langs) else None


def _is_like(word: str, book: int, langs: tuple[str, str]) -> bool:
    """Whether a word looks like a book's name in either language: "Zephanías"."""
    if any(word in NAMES[lang] for lang in langs):
        return False  # it is another book
    # Without the number of "1 Samuel": only the name can be misspelled.
    names = (plain(PRINTED[lang][book - 1]).split()[-1] for lang in langs)
    return any(SequenceMatcher(None, word, name).ratio() >= _ALIKE for name in names)


def find(text: str, lang: str, *, strict: bool = True) -> tuple[Mention, ...]:
    """Return the references in a text, left to right; none in an unknown language.

    Without `strict`, a name that is also an ordinary word counts if valid numbers follow it. This
    is for a translation whose source text is known to have the reference.
    """
    if lang not in LANGS:
        return ()
    reader = Reader(Tokens(text), lang, strict=strict)
    return tuple(reader.mentions())


def printed(reference: Reference, lang: str, dash: str = "-") -> str:
    """Return a reference as a language prints it: "1 Corintios 13:4-8", "Salmos 120-134".

    Where nobody has listed the books of a language, their English names are printed.
    """
    name = PRINTED.get(lang, PRINTED["en"])[reference.book - 1]
    # "Jude 3": a book with one chapter is printed without the chapter number.
    if chapters(reference.book) == 1 and reference.verse:
        place = f"{reference.verse}"
    else:
        place = f"{reference.chapter}" + (f":{reference.verse}" if reference.verse else "")
    name += "s" * (reference.book == PSALMS and reference.is_chapters)
    return f"{name} {place}" + (f"{dash}{reference.ending}" if reference.ending else "")


def spelled(text: str, lang: str) -> str:
    """Return a text with its references in printed form: "Psalm 23" for the twenty-third psalm.

    Translators copy digits more faithfully than they translate words. Nothing else is changed.
    """
    # From the end: a replacement is longer or shorter and moves the text after it.
    for mention in reversed(find(text, lang)):
        # Small translators make "Romanos 911" of "Romans 9-11".
        dash = REFERENCE_WORDS[lang].between if mention.reference.is_chapters else "-"
        start, new = slot(text, mention, printed(mention.reference, lang, dash), lang)
        text = text[:start] + new + text[mention.end :]
    return text


def slot(text: str, mention: Mention, new: str, lang: str) -> tuple[int, str]:
    """Return where the text to replace for a mention begins, and the new text.

    An article before "chapter" or "psalm" is replaced with it.
    """
    article = None if mention.book_first else _ARTICLE[lang].search(text[: mention.start])
    if article is None:
        return mention.start, new
    left = _LEFT.get(article.group(1).lower(), "")
    if article.group(1)[0].isupper():
        left = left.capitalize()
    return article.start(), f"{left} {new}" if left else new


_ARTICLE = {
    lang: re.compile(rf"(?<![^\W\d_])({'|'.join(words.before_chapter)})\s+$", re.IGNORECASE)
    for lang, words in REFERENCE_WORDS.items()
}
"""An article before a chapter or psalm."""
_LEFT = {"al": "a", "del": "de", "au": "à", "du": "de"}
"""The preposition that remains when the article of a contraction is removed."""

"""Extract names, verses, numbers and translations from a preacher's notes. Pure.

Names are words with a capital letter where other words have none. Verses are found as in captions
(church.scripture.references). A line "covenant = pacto", or with an arrow, gives the preacher's
translation of a word. The words of the notes are kept as well, since a word that the preacher uses
is no misheard name.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from pipeline.church.scripture.books import PRINTED, Reference
from pipeline.church.scripture.references import find, printed
from pipeline.core.errors import NotesError
from pipeline.core.languages import language
from pipeline.dictionary.store import common_words
from pipeline.text.words import is_free

MOST_NAMES = 200
"""Limit of names: more of them come from a text in capitals or a list of members."""
MOST_ENTRIES = 500
"""Limit of verses, of numbers and of translations: ten times as many as a sermon has."""
_SHORTEST = 4
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE = re.compile(r"(?<=[.!?:;])[\"'”’)]*\s+|\n+|^\W*", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.,:])\d[\d,.]*\d(?![\w:])")
_WORDS = re.compile(r"\w.*\w")
_ARROW = re.compile("=>|->|=|→")
_DIGIT = re.compile(r"\d")
_AFFIX = re.compile(r"^un|(?:ed|ing|ness|ly|s)$")
_MOST_WORDS = 5
"""Limit for each side of a translation: a longer line is something else."""
_KNOWN = """
god lord jesus christ father holy spirit bible scripture gospel amen hallelujah church christian
christians english spanish america american easter testament christmas monday tuesday wednesday
thursday friday saturday sunday january february march april june july august september october
november december
"""
_EVERYBODY_KNOWS = frozenset(_KNOWN.split())
_LISTS = ("names", "verses", "numbers", "terms")
"""The fields of `Notes` that are ordered lists of entries."""


@dataclass(frozen=True, slots=True)
class Notes:
    """The content extracted from notes, perhaps corrected later."""

    names: tuple[str, ...] = ()
    verses: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    """Translations of words: "covenant = pacto"."""
    words: frozenset[str] = frozenset()
    """All words of the notes that occur in lower case."""


def draw(text: str, lang: str, known: Collection[str] = ()) -> Notes:
    """Extract the notes of a text; entries are in order of their first occurrence.

    `known` are names that count at the beginning of a sentence too.
    """
    # A word that occurs in lower case is no name, however often it has a capital.
    small = {word for word in _WORD.findall(text) if word[0].islower()}
    found = find(text, lang)
    verses = _few(printed(each.reference, lang) for each in found)
    places = [(each.start, each.end) for each in found]
    numbers = _few(
        # Shorter numbers are chapters, list items and hours, which every sermon has.
        match[0]
        for match in _NUMBER.finditer(text)
        # "Psalm 121" is a verse.
        if is_free(match.span(), places) and sum(map(str.isdigit, match[0])) > 2
    )
    names = tuple(_names(text, small, lang, known))[:MOST_NAMES]
    words = frozenset(map(str.lower, small))
    return Notes(names, verses, numbers, _few(_terms(text, common_words(lang))), words)


def _few(entries: Iterable[str]) -> tuple[str, ...]:
    """Return each entry once, in order, at most MOST_ENTRIES."""
    return tuple(dict.fromkeys(entries))[:MOST_ENTRIES]


def _terms(text: str, everyday: frozenset[str]) -> Iterator[str]:
    """Yield the translations; an explanation in `everyday` words of the notes' language is none."""
    for line in text.splitlines():
        # Without a bullet before the words and a full stop after them.
        words = _WORDS.search(line)
        sides = [" ".join(side.split()) for side in _ARROW.split(words[0])] if words else []
        # Formulas and sums also contain "=".
        are_words = all(_WORD.search(side) and not _DIGIT.search(side) for side in sides)
        are_short = all(len(side.split()) <= _MOST_WORDS and len(side) <= 80 for side in sides)
        # "Grace = unmerited favor" explains; a single word may be one of both languages.
        is_said = [
            not everyday.isdisjoint((word, word.removeprefix("un"), _AFFIX.sub("", word)))
            for word in " ".join(sides[1:]).lower().split()
        ]
        if len(sides) == 2 and are_words and are_short and not (len(is_said) > 1 and all(is_said)):
            yield " = ".join(sides)


def renderings(notes: Notes) -> tuple[tuple[str, str], ...]:
    """Return the translations of words as pairs; an entry without both sides is left out."""
    pairs = (entry.partition("=") for entry in notes.terms)
    stripped = ((say.strip(), write.strip()) for say, _, write in pairs)
    return tuple((say, write) for say, write in stripped if say and write)


def _names(text: str, small: set[str], lang: str, known: Collection[str]) -> list[str]:
    """Return the names of a text: words capitalized inside a sentence, never in lower case.

    In a language of capital nouns only known names: "Versammlungen" must not become "Versammlung".
    """
    capital_tells = language(lang).nouns == "small"  # whether it shows a name
    # The name of a Bible book belongs to a reference, which is found separately.
    books = {word.lower() for name in PRINTED.get(lang, ()) for word in name.split()}
    inside: Counter[str] = Counter()
    for sentence in _SENTENCE.split(text):
        for at, word in enumerate(_WORD.findall(sentence or "")):
            # "Boaz's" is the name Boaz.
            name = re.sub(r"['’]s$", "", word)
            # The first word always has a capital.
            if (at and capital_tells) or name in known:
                inside[name] += 1
    return [
        word
        for word in inside
        if len(word) >= _SHORTEST
        and word[0].isupper()
        # In a heading in capitals names cannot be recognized.
        and not word.isupper()
        and word.lower() not in small | _EVERYBODY_KNOWS | books
    ]


def joined(several: Iterable[Notes]) -> Notes:
    """Return all notes as one, each entry once."""
    parts = tuple(several)
    lists = {key: [entry for part in parts for entry in getattr(part, key)] for key in _LISTS}
    return Notes(
        **{key: tuple(dict.fromkeys(entries)) for key, entries in lists.items()},
        words=frozenset(chain.from_iterable(part.words for part in parts)),
    )


def without(notes: Notes, entry: str) -> Notes:
    """Return notes without an entry, in any of their lists."""
    lists = {key: tuple(e for e in getattr(notes, key) if e != entry) for key in _LISTS}
    # The words stay: they are no names, whatever is removed from the lists.
    return Notes(**lists, words=notes.words)


def references(notes: Notes, lang: str) -> tuple[Reference, ...]:
    """Return the notes' verses as references; other entries are left out."""
    return tuple(mention.reference for verse in notes.verses for mention in find(verse, lang))


def written(notes: Notes, source: str) -> str:
    """Return notes as the file that people correct: TOML, one entry per line."""

    def listed(key: str, entries: tuple[str, ...]) -> str:
        lines = "".join(f"    {_quoted(each)},\n" for each in entries)
        return f"{key} = [\n{lines}]\n"

    return (
        f"# Drawn out of {source}, for the next service only. Take out what is wrong, and add\n"
        "# what is missing.\n"
        "# A name that is nearly heard is written as it stands here.\n"
        + listed("names", notes.names)
        + "# A verse of these is shown as soon as enough of it is read.\n"
        + listed("verses", notes.verses)
        + "# Only to compare: numbers are checked in every service.\n"
        + listed("numbers", notes.numbers)
        + '# How a word is translated in this service: "covenant = pacto".\n'
        + listed("terms", notes.terms)
        + "# Words of the notes: none of them is taken for a name.\n"
        + f"words = {_quoted(' '.join(sorted(notes.words)))}\n"
    )


def _quoted(text: str) -> str:
    # JSON strings are valid TOML strings, except for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def parse(content: str, where: str) -> Notes:
    """Parse a file from `written`. Raises NotesError (notes-broken)."""
    try:
        said = tomllib.loads(content)
    except ValueError as error:  # also a number of thousands of digits
        message = f"{where}: {error}"
        raise NotesError("notes-broken", message, "Correct the line, or draw them again.") from None
    lists = {}
    for key in _LISTS:
        entries = said.get(key, [])
        if not (isinstance(entries, list) and all(_is_text(each) for each in entries)):
            fix = f'Write {key} as {key} = ["one", "another"].'
            raise NotesError("notes-broken", f"{where}: {key} are not all words.", fix)
        lists[key] = tuple(entries)
    return Notes(**lists, words=frozenset(str(said.get("words", "")).split()))


def _is_text(entry: object) -> bool:
    return isinstance(entry, str) and bool(entry.strip())

"""What a preacher's notes tell beforehand: names, verses, numbers and translations. Pure.

Names are words that stand with a capital letter where any other word would not. Verses are found as
they are in captions (church.scripture.references). A line "covenant = pacto", or with an arrow,
says how the preacher wants a word translated. The words of the notes come along, since a word
that the preacher uses is no misheard name.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from pipeline.church.scripture.books import PRINTED, Reference
from pipeline.church.scripture.references import find, printed
from pipeline.core.errors import NotesError

MOST_NAMES = 200
"""More than these are no names, but a text in capitals or a list of members."""
MOST_ENTRIES = 500
"""Of verses, numbers and translations each: ten times as many as a sermon has."""
_SHORTEST = 4
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE = re.compile(r"(?<=[.!?:;])[\"'”’)]*\s+|\n+|^\W*", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.,:])\d[\d,.]*\d(?![\w:])")
_WORDS = re.compile(r"\w.*\w")
_ARROW = re.compile("=>|->|=|→")
_DIGIT = re.compile(r"\d")
_MOST_WORDS = 5
"""Of each side of a translation: longer lines say something else."""
_KNOWN = """
god lord jesus christ father holy spirit bible scripture gospel amen hallelujah church christian
christians english spanish america american easter testament christmas monday tuesday wednesday
thursday friday saturday sunday january february march april june july august september october
november december
"""
_EVERYBODY_KNOWS = frozenset(_KNOWN.split())
_LISTS = ("names", "verses", "numbers", "terms")
"""Of `Notes`, each of entries in an order."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What was drawn out of notes, or corrected since."""

    names: tuple[str, ...] = ()
    verses: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    """How words are to be translated: "covenant = pacto"."""
    words: frozenset[str] = frozenset()
    """All words of the notes that are written small."""


def draw(text: str, lang: str) -> Notes:
    """Draw out of a text what is worth knowing beforehand, each in the order of its first place."""
    # A word that is small anywhere in the notes is no name, however often it has a capital.
    small = {word for word in _WORD.findall(text) if word[0].islower()}
    verses = _few(printed(each.reference, lang) for each in find(text, lang))
    numbers = _few(
        # Short ones are chapters, lists and hours, which come up in every sermon.
        match
        for match in _NUMBER.findall(text)
        if sum(map(str.isdigit, match)) > 2
    )
    names = tuple(_names(text, small, lang))[:MOST_NAMES]
    words = frozenset(map(str.lower, small))
    return Notes(names, verses, numbers, _few(_terms(text)), words)


def _few(entries: Iterable[str]) -> tuple[str, ...]:
    """Return entries once each, in order, no more than a sermon has."""
    return tuple(dict.fromkeys(entries))[:MOST_ENTRIES]


def _terms(text: str) -> Iterator[str]:
    for line in text.splitlines():
        # Without a bullet before it and a full stop behind it.
        words = _WORDS.search(line)
        sides = [" ".join(side.split()) for side in _ARROW.split(words[0])] if words else []
        # Formulas and sums have an = as well.
        are_words = all(_WORD.search(side) and not _DIGIT.search(side) for side in sides)
        are_short = all(len(side.split()) <= _MOST_WORDS and len(side) <= 80 for side in sides)
        if len(sides) == 2 and are_words and are_short:
            yield " = ".join(sides)


def renderings(notes: Notes) -> tuple[tuple[str, str], ...]:
    """Return how words are to be translated as pairs; an entry without both sides is left out."""
    pairs = (entry.partition("=") for entry in notes.terms)
    told = ((say.strip(), write.strip()) for say, _, write in pairs)
    return tuple((say, write) for say, write in told if say and write)


def _names(text: str, small: set[str], lang: str) -> list[str]:
    """Return the names of a text: words with a capital inside a sentence, never written small."""
    # The name of a book belongs to a reference, and is found as one.
    books = {word.lower() for name in PRINTED.get(lang, ()) for word in name.split()}
    inside: Counter[str] = Counter()
    for sentence in _SENTENCE.split(text):
        # Not the first word: it has its capital from the sentence.
        for word in _WORD.findall(sentence or "")[1:]:
            # "Boaz's" is the name Boaz.
            inside[re.sub(r"['’]s$", "", word)] += 1
    return [
        word
        for word in inside
        if len(word) >= _SHORTEST
        and word[0].isupper()
        # A heading in capitals says nothing of which of its words is a name.
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
    """Return notes that do not have an entry, in any of their lists."""
    lists = {key: tuple(e for e in getattr(notes, key) if e != entry) for key in _LISTS}
    # The words stay: they tell what is no name, whatever is taken out of the lists.
    return Notes(**lists, words=notes.words)


def references(notes: Notes, lang: str) -> tuple[Reference, ...]:
    """Return the notes' verses as references; what is none is left out."""
    return tuple(mention.reference for verse in notes.verses for mention in find(verse, lang))


def written(notes: Notes, source: str) -> str:
    """Return notes as the file that people correct: TOML, one entry a line."""

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
    # JSON's strings are TOML's, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def parse(content: str, where: str) -> Notes:
    """Read that file. Raises NotesError (notes-broken)."""
    try:
        said = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
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

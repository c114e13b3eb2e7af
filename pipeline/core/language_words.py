"""languages/CODE.toml: what church truth, the glossary and inflection know of a language's words.

Somebody who speaks a language adds it by such a file; docs/LANGUAGES.md explains every key. Each
section may be missing: then the part that needs it leaves this language alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pipeline.core.resources import bundled


def _words(line: object) -> object:
    # What is no text goes through: pydantic then names the key, and what is expected there.
    return frozenset(line.split()) if isinstance(line, str) else line


def _in_order(line: object) -> object:
    return tuple(line.split()) if isinstance(line, str) else line


def _by_word(table: object) -> object:
    """Turn {2 = "dos"} around: {"dos": 2}."""
    if not isinstance(table, dict):
        return table
    # The keys of TOML are texts, also those that look like numbers.
    return {word: int(value) for value, line in table.items() for word in str(line).split()}


def _by_phrase(lines: object) -> object:
    """Return the place in the list by each way to say it, a tuple of words."""
    if not isinstance(lines, list):
        return lines
    return {
        tuple(way.split()): value
        for value, line in enumerate(lines)
        for way in str(line).split(",")
        if way.strip()
    }


def _ignoring_case(alternatives: object) -> object:
    if isinstance(alternatives, str):
        alternatives = [alternatives]
    if not isinstance(alternatives, list):
        return alternatives
    return re.compile("|".join(map(str, alternatives)), re.IGNORECASE)


Words = Annotated[frozenset[str], BeforeValidator(_words)]
"""Written as one line with spaces between the words."""
Numbered = Annotated[Mapping[str, int], BeforeValidator(_by_word)]
"""Values by word; written as words by value."""
Phrases = Annotated[Mapping[tuple[str, ...], int], BeforeValidator(_by_phrase)]
"""Values by phrase; written as a list from 0 on, other ways to say a value behind a comma."""
Pattern = Annotated[re.Pattern[str], BeforeValidator(_ignoring_case)]
"""Written as a regular expression, or as a list of alternatives."""


class _Table(BaseModel):
    # A misspelt key is refused: most have a default, which would take its place in silence.
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class BookNames(_Table):
    """[books]"""

    names: tuple[str, ...] = Field(min_length=66, max_length=66)
    """In the order of the Bible: "Psalm, Psalms"; the first is printed; `*` and `+` mark words."""
    ordinals: tuple[str, str, str]
    """Ways to say the 1, 2 and 3 of "1 Samuel"."""


class NumberWords(_Table):
    """[numbers]: how a language says numbers. All words as `tokens.plain` has them."""

    small: Numbered = {}
    """From 0 on, in one word."""
    tens: Numbered = {}
    tens_join: str = ""
    """Between tens and units; "" where nothing is said."""
    hundreds: Numbered = {}
    """Hundreds in one word."""
    hundred: Words = frozenset()
    """The word behind how many hundreds; none where hundreds are one word."""
    hundred_join: str = ""
    scales: Numbered
    bare_scales: Words = frozenset()
    """Of these one may be said without "one" before it."""
    article: str = ""
    """What stands instead of "one" before a hundred or a scale."""
    ordinals: Numbered = {}
    ordinal_signs: Words
    """Behind digits."""
    phrases: Phrases = {}
    """0 to 99 word by word, instead of `small` and `tens`: French counts in twenties."""
    ordinal_phrases: Phrases = {}
    counts_hundreds: frozenset[int] = frozenset(range(1, 100))
    """How many hundreds are said so."""
    written: str
    """2, 3 ... as a caption has them, as far as each has one form."""
    year_halves: bool = False
    """Whether a year is said in two numbers: "nineteen eighty-four"."""


class QuantityWords(_Table):
    """[quantities]: the words around numbers, as `tokens.plain` has them."""

    time: Literal["english", "spanish", "french"]
    """Whose way of saying the time of day this is."""
    half: Words
    quarter: Words
    past: Words
    to: Words
    before_time: Words
    after_time: Words
    noon: Numbered = {}
    """Hours that have a name."""
    meaning: Mapping[int, Words]
    """Words that say a number without being one."""
    idioms: Pattern
    """Numbers in these are figures of speech."""
    unsure: Words
    """What alone may be something else: a room, a beer, a part of a minute."""
    percent: Pattern | None = None
    """What stands behind a number as "%" does."""
    share: Pattern | None = None
    """Between the numbers of "nine out of ten"."""
    spelled: tuple[tuple[Pattern, str], ...] = ()
    """What translators get instead of a phrase: ["half a million", "500,000"]. None: no digits."""
    decades: Numbered = {}
    """As in "the eighteen nineties"."""
    century: re.Pattern[str] | None = None
    """One or two numerals of centuries, each a group; capitals count."""
    and_half: Annotated[tuple[str, ...], BeforeValidator(_in_order)] = ()
    """Behind millions, or before them: "y medio"."""
    point: Words = frozenset()
    """Between the digits of "three point five"."""
    digits: Literal["", "spaced", "french"] = ""
    """Whose signs stand in digits, beyond those of all: "40 000"; "15 h 30" as well."""


class ReferenceWords(_Table):
    """[references]: what a language says around the numbers of a Bible reference."""

    chapter: Words
    verse: Words
    until: Words
    both: str
    of: Words
    articles: Words
    fillers: Words
    """Between "first" and "Corinthians": letter, of, Paul, to, the."""
    cues: Words
    """Before a book whose name is an ordinary word."""
    turns: Words = frozenset()
    """Some words before such a book, with one of `ways` right before it: "turn ... to John 11"."""
    ways: Words = frozenset()
    tells: Words = frozenset()
    """Behind the chapter of such a book: "John 15 reminds us"."""
    follow: Words
    """May stand behind a chapter where "Romans 12" may as well be twelve people."""
    counted: Words
    """Behind a number these say that it counts something, or is a time."""
    when: Words = frozenset()
    """Behind a name and two numbers these say that it is a time."""
    people: Words
    """Before a name these say that it is somebody's."""
    begins: Words = frozenset()
    """Before the first verse that is read: "starting at", "beginning with"."""
    nth: Words = frozenset()
    """Before the number of a chapter or verse: "chapter number 3"."""
    possessed: Words = frozenset()
    """Behind the name of a writer: "Mark's gospel"."""
    zero: Words = frozenset()
    """As in "Psalm one oh five"."""
    before_chapter: Words
    """Articles that go where "the chapter" becomes the name of a book."""


class NegationWords(_Table):
    """[negation]: regular expressions; all in small letters, case does not count."""

    strong: Pattern
    """What surely denies."""
    any: Pattern
    """All that might stand for a "not": wide on purpose, it keeps an alarm silent."""
    tags: Pattern | None = None
    """Phrases with a negation that denies nothing: question tags, "not only"."""
    only: Pattern | None = None
    """Negations that only limit: "ne ... que"."""
    limits: Pattern | None = None
    """Words that limit: "only"."""


class InflectionWords(_Table):
    """[inflection]"""

    rules: Literal["spanish", "french"]
    """Whose rules for plurals and endings these are."""
    determiners: tuple[tuple[str, ...], ...]
    """Masculine, feminine, and in French those before a vowel."""
    no_plural: Words = frozenset()
    """Words whose plural would be another word: "fois" is "times"."""
    kept_h: Pattern | None = None
    """Words with an h that keep their article: "la honte"."""
    verb_endings: Mapping[str, Words] = {}
    """All endings of regular verbs, by that of the infinitive, as `plain` has them."""
    enclitics: Words = frozenset()
    """Pronouns that are written onto a verb: "bautizarnos"."""


class NameWords(_Table):
    """[names]: words around people's names, as `tokens.plain` has them."""

    translated: Words
    """Written with a capital, and translated: days, months, nations, what is holy."""
    titles: Words
    """Before a name: "Brother", "Pastor"."""
    addressed: Words
    """Behind a name and a comma these say that somebody is called: "Grace, would you"."""


class SpellingRules(_Table):
    """[spelling]"""

    contractions: tuple[tuple[Pattern, str], ...]
    """Two words that are written as one: what is found, and what it becomes."""


class LanguageWords(_Table):
    """A whole file."""

    books: BookNames | None = None
    numbers: NumberWords | None = None
    quantities: QuantityWords | None = None
    references: ReferenceWords | None = None
    names: NameWords | None = None
    negation: NegationWords | None = None
    inflection: InflectionWords | None = None
    spelling: SpellingRules | None = None


def read_words(toml_text: str) -> LanguageWords:
    """Return the words of a file. Raises ValueError (pydantic's ValidationError is one)."""
    document = tomllib.loads(toml_text)
    if "negation" in document:
        document["negation"] = _expanded(document["negation"])
    return LanguageWords.model_validate(document)


def _expanded(negation: Mapping[str, Any]) -> dict[str, Any]:
    """Put the named parts of [negation] in the place of their names in braces.

    A list is a look-behind: not behind any of these words.
    """
    parts: dict[str, str] = {}
    for name, part in negation.get("parts", {}).items():
        # One look-behind for each word: Python's have a fixed width.
        behind = "".join(rf"(?<!\b{word} )" for word in part) if isinstance(part, list) else part
        parts[f"{{{name}}}"] = behind

    def whole(pattern: str) -> str:
        for name, part in parts.items():
            pattern = pattern.replace(name, part)
        return pattern

    lists = {
        # A single expression is a string, which a loop would take apart into letters.
        key: [each] if isinstance(each, str) else each
        for key, each in negation.items()
        if key != "parts"
    }
    return {key: [whole(pattern) for pattern in each] for key, each in lists.items()}


# Read once, at import: it ships with the program and changes with it only.
WORDS: Mapping[str, LanguageWords] = {
    file.stem: read_words(file.read_text("utf-8"))
    for file in sorted(Path(bundled("languages")).glob("*.toml"))
}
"""By the language's code."""

"""languages/CODE.toml: the words of a language for church truth, the glossary and inflection.

A speaker of a language adds it with such a file; docs/LANGUAGES.md explains every key. A section
may be missing: then the part that needs it does nothing for this language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pipeline.core.languages import Words
from pipeline.core.resources import bundled


def _in_order(line: object) -> object:
    return tuple(line.split()) if isinstance(line, str) else line


def _by_word(table: object) -> object:
    """Turn {2 = "dos"} around: {"dos": 2}."""
    if not isinstance(table, dict):
        return table
    # TOML keys are strings, even if they look like numbers.
    return {word: int(value) for value, line in table.items() for word in str(line).split()}


def _by_phrase(lines: object) -> object:
    """Return a dict from each phrase (a tuple of words) to its index in the list."""
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


Numbered = Annotated[Mapping[str, int], BeforeValidator(_by_word)]
"""Values by word; written as words by value."""
Phrases = Annotated[Mapping[tuple[str, ...], int], BeforeValidator(_by_phrase)]
"""Values by phrase; written as a list from 0 on, with commas between phrases for one value."""
Pattern = Annotated[re.Pattern[str], BeforeValidator(_ignoring_case)]
"""Written as a regular expression, or as a list of alternatives."""


class _Table(BaseModel):
    # A misspelt key is refused: most keys have a default, which would silently be used.
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
    """The word between tens and units; "" if there is none."""
    hundreds: Numbered = {}
    """Hundreds in one word."""
    hundred: Words = frozenset()
    """The word after the number of hundreds; none if hundreds are one word."""
    hundred_join: str = ""
    scales: Numbered
    bare_scales: Words = frozenset()
    """Scales that may be said without "one" before them."""
    article: str = ""
    """The word that replaces "one" before a hundred or a scale."""
    ordinals: Numbered = {}
    ordinal_signs: Words
    """Suffixes of digits."""
    phrases: Phrases = {}
    """0 to 99 word by word, instead of `small` and `tens`: French counts in twenties."""
    ordinal_phrases: Phrases = {}
    counts_hundreds: frozenset[int] = frozenset(range(1, 100))
    """The numbers that can be said before `hundred`."""
    written: str
    """The words for 2, 3 ... in a caption, as long as each has only one form."""
    year_halves: bool = False
    """Whether a year is said in two numbers: "nineteen eighty-four"."""


class QuantityWords(_Table):
    """[quantities]: the words around numbers, as `tokens.plain` has them."""

    time: Literal["english", "spanish", "french"]
    """The language whose way to say the time of day is used."""
    half: Words
    quarter: Words
    past: Words
    to: Words
    before_time: Words
    after_time: Words
    noon: Numbered = {}
    """Hours that have a name."""
    meaning: Mapping[int, Words]
    """Words that mean a number without being a number word."""
    idioms: Pattern
    """Phrases whose numbers are figures of speech."""
    unsure: Words
    """Words that alone may mean something else: a room, a beer, a part of a minute."""
    percent: Pattern | None = None
    """The words after a number that mean "%"."""
    share: Pattern | None = None
    """The words between the numbers of "nine out of ten"."""
    spelled: tuple[tuple[Pattern, str], ...] = ()
    """Phrases and their text for translators: ["half a million", "500,000"]. None: no digits."""
    rank: re.Pattern[str] | None = None
    """A small ordinal in digits that counts things, its number in a group; case-sensitive."""
    decades: Numbered = {}
    """As in "the eighteen nineties"."""
    century: re.Pattern[str] | None = None
    """One or two century numerals, each in a group; case-sensitive."""
    and_half: Annotated[tuple[str, ...], BeforeValidator(_in_order)] = ()
    """The words for a half after or before millions: "y medio"."""
    point: Words = frozenset()
    """The word between the digits of "three point five"."""
    digits: Literal["", "spaced", "french"] = ""
    """Extra forms of digits: "spaced" has "40 000", "french" also has "15 h 30"."""


class ReferenceWords(_Table):
    """[references]: the words around the numbers of a Bible reference."""

    chapter: Words
    verse: Words
    like_verse: Words = frozenset()
    """What recognizers hear instead of "verse" before the last number of a sentence: "for"."""
    until: Words
    between: str = "-"
    """What translators get between the first and last chapter of a range: " to "."""
    both: str
    of: Words
    articles: Words
    fillers: Words
    """Words between "first" and "Corinthians": letter, of, Paul, to, the."""
    cues: Words
    """Words before a book whose name is an ordinary word."""
    turns: Words = frozenset()
    """Words some way before such a book, with one of `ways` right before it: "turn to John 11"."""
    ways: Words = frozenset()
    tells: Words = frozenset()
    """Words after the chapter of such a book: "John 15 reminds us"."""
    follow: Words
    """Words allowed after a chapter if "Romans 12" could also mean twelve people."""
    counted: Words
    """Words after a number that make it a count or a time."""
    when: Words = frozenset()
    """Words after a name and two numbers that make it a time."""
    people: Words
    """Words before a name that make it a person's name."""
    begins: Words = frozenset()
    """Words before the first verse that is read: "starting at", "beginning with"."""
    nth: Words = frozenset()
    """Words before the number of a chapter or verse: "chapter number 3"."""
    possessed: Words = frozenset()
    """Words after the name of a writer: "Mark's gospel"."""
    zero: Words = frozenset()
    """Words for zero as in "Psalm one oh five"."""
    before_chapter: Words
    """Articles that are dropped when "the chapter" is replaced by the name of a book."""


class NegationWords(_Table):
    """[negation]: regular expressions in small letters; case is ignored."""

    strong: Pattern
    """Certain negations."""
    any: Pattern
    """Every possible negation. It is wide on purpose, to avoid false alarms."""
    tags: Pattern | None = None
    """Phrases whose negation denies nothing: question tags, "not only"."""
    only: Pattern | None = None
    """Negations that only limit: "ne ... que"."""
    limits: Pattern | None = None
    """Words that limit: "only"."""


class InflectionWords(_Table):
    """[inflection]"""

    rules: Literal["spanish", "french"]
    """The language whose rules for plurals and endings are used."""
    determiners: tuple[tuple[str, ...], ...]
    """Masculine, feminine, and in French the forms before a vowel."""
    possessives: Words = frozenset()
    """Words of more than three letters that belong to the noun behind them: "nuestro"."""
    no_plural: Words = frozenset()
    """Words whose plural would be another word: "fois" is "times"."""
    kept_h: Pattern | None = None
    """Words with an h that keep their article: "la honte"."""
    verb_endings: Mapping[str, Words] = {}
    """All endings of regular verbs by the infinitive's ending, normalized by `plain`."""
    enclitics: Words = frozenset()
    """Pronouns that are attached to a verb: "bautizarnos"."""


class NameWords(_Table):
    """[names]: words around people's names, as `tokens.plain` has them."""

    translated: Words
    """Capitalized words that are translated: days, months, nations, holy things."""
    titles: Words
    """Words before a name: "Brother", "Pastor"."""
    addressed: Words
    """Words after a name and a comma that address a person: "Grace, would you"."""
    asked: re.Pattern[str] | None = None
    """A request of a prayer with the name of God behind it; three groups; case-sensitive."""


class AddressWords(_Table):
    """[address]: how a preacher addresses the congregation."""

    plural: str
    """A sentence to several people. The three mean the same in every file."""
    formal: str
    """A sentence to one person, politely."""
    familiar: str
    """A sentence to a friend."""
    prayer: str
    """A sentence to God."""
    you: Pattern | None = None
    """Words for the person addressed, in a spoken language whose word does not tell which."""
    god: Pattern | None = None
    """God is addressed."""
    begins: Pattern | None = None
    """A prayer begins after it."""
    amen: Pattern | None = None
    """The end of a prayer."""
    quoted: Pattern | None = None
    """Before words that somebody said to somebody else."""


class SpellingRules(_Table):
    """[spelling]"""

    contractions: tuple[tuple[Pattern, str], ...]
    """Two words that are written as one: the pattern and its replacement."""


class LanguageWords(_Table):
    """A whole file."""

    books: BookNames | None = None
    numbers: NumberWords | None = None
    quantities: QuantityWords | None = None
    references: ReferenceWords | None = None
    names: NameWords | None = None
    negation: NegationWords | None = None
    inflection: InflectionWords | None = None
    address: AddressWords | None = None
    spelling: SpellingRules | None = None


def read_words(toml_text: str) -> LanguageWords:
    """Return the words of a file. Raises ValueError (pydantic's ValidationError is one)."""
    document = tomllib.loads(toml_text)
    if "negation" in document:
        document["negation"] = _expanded(document["negation"])
    return LanguageWords.model_validate(document)


def _expanded(negation: Mapping[str, Any]) -> dict[str, Any]:
    """Replace names in braces by the named parts of [negation].

    A list becomes a look-behind: not after any of these words.
    """
    parts: dict[str, str] = {}
    for name, part in negation.get("parts", {}).items():
        # One look-behind for each word: in Python a look-behind has a fixed width.
        behind = "".join(rf"(?<!\b{word} )" for word in part) if isinstance(part, list) else part
        parts[f"{{{name}}}"] = behind

    def whole(pattern: str) -> str:
        for name, part in parts.items():
            pattern = pattern.replace(name, part)
        return pattern

    lists = {
        # A single expression is a string, and a loop would split it into letters.
        key: [each] if isinstance(each, str) else each
        for key, each in negation.items()
        if key != "parts"
    }
    return {key: [whole(pattern) for pattern in each] for key, each in lists.items()}


# Read once, at import: the files change only with the program.
WORDS: Mapping[str, LanguageWords] = {
    file.stem: read_words(file.read_text("utf-8"))
    for file in sorted(Path(bundled("languages")).glob("*.toml"))
}
"""By the language's code."""

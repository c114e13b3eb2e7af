"""The languages of languages.toml: names, scripts, directions, and words that other parts use.

A language that is not in the file works as well. It is assumed to be written from left to right
with spaces between words, and its word lists are empty.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from pipeline.core.resources import bundled

FILE = bundled("languages.toml")


def _words(line: object) -> object:
    # Other types pass through: then pydantic names the key and the expected type.
    return frozenset(line.split()) if isinstance(line, str) else line


Words = Annotated[frozenset[str], BeforeValidator(_words)]
"""Written as one line with spaces between the words."""


class Language(BaseModel):
    """One entry of languages.toml, which explains each field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str
    name: str
    own: str
    script: Words = frozenset()
    direction: Literal["ltr", "rtl"] = "ltr"
    spaces: Literal["words", "sentences", "nowhere"] = "words"
    starts: Words = frozenset()
    ties: Words = frozenset()
    unclear: Words = frozenset()
    titles: Words = frozenset()
    numbered: Words = frozenset()
    capital: Words = frozenset()
    nouns: Literal["small", "capital"] = "small"
    worship: Words = frozenset()
    common: Words = frozenset()
    stock: tuple[str, ...] = ()
    weak: frozenset[str] = frozenset()
    examples: tuple[str, ...] = ()

    @property
    def has_spaces(self) -> bool:
        """Whether spaces separate its words."""
        return self.spaces == "words"

    def keeps_capital(self, word: str) -> bool:
        """Whether the first word of a sentence has its capital inside another sentence as well."""
        is_noun = self.nouns == "capital" and word.casefold() not in self.common
        return is_noun or word in self.capital

    @property
    def leaning(self) -> frozenset[str]:
        """Words that should not end a line."""
        return self.starts | self.ties


def read_languages(toml_text: str) -> dict[str, Language]:
    """Return the languages of a file by code. Raises ValueError (pydantic's is one)."""
    document = tomllib.loads(toml_text)
    return {code: Language(code=code, **entry) for code, entry in sorted(document.items())}


# Read once, at import: the file changes only with the program.
LANGUAGES: Mapping[str, Language] = read_languages(Path(FILE).read_text("utf-8"))
"""By code, in alphabetical order."""


def language(code: str) -> Language:
    """Return a language; a default entry if it is not in the file."""
    return LANGUAGES.get(code) or Language(code=code, name=code, own=code)


def words_of_all(lists: Iterable[frozenset[str]]) -> frozenset[str]:
    """Merge the lists of several languages, for use before the language is known."""
    # The empty first set is needed, because `lists` may be empty.
    return frozenset[str]().union(*lists)


def for_pages() -> dict[str, dict[str, object]]:
    """Return the data for displays as JSON values: for most languages only their own name."""
    pages: dict[str, dict[str, object]] = {}
    for code, each in LANGUAGES.items():
        # Defaults are left out: every page's script contains this data, also on slow phones.
        pages[code] = {"own": each.own}
        if each.direction != "ltr":
            pages[code]["direction"] = each.direction
        if each.spaces != "words":
            pages[code]["spaces"] = each.spaces
        if each.leaning:
            pages[code]["leaning"] = sorted(each.leaning)
    return pages

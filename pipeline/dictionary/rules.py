"""Parse the rules of a dictionary file, with errors that a volunteer can understand. Pure.

names = ["Okonkwo", "Nwosu"]        # church members: matched where the recognizer is unsure

[lists]                             # word lists to share between the rules of this file
scripture = ["chapter", "verse"]

[[rule]]
hear = ["romance", "row mans"]      # as recognized; one phrase or several
write = "Romans"                    # what to write instead
near = ["@scripture", "paul"]       # only with one of these words nearby
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache
from itertools import count
from typing import Any, TypeVar

from pipeline.core.errors import DictionaryError, quoted
from pipeline.text.words import WORD, words

ANY_NUMBER = "#"
LIST_MARK = "@"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of a dictionary file.

    `hear` are the phrases as recognized; `write` replaces any of them. With `near`, at least one
    of its words must be at most `within_words` words away, on either side; with `not_near`, none
    may be. The near word `#` is any number in digits. `hotword` offers `write` to the recognizer
    as a hint. `example`, `becomes` and `untouched` are the rule's own test. `source`: its file.
    """

    id: str
    hear: tuple[str, ...]
    write: str
    near: frozenset[str] = frozenset()
    not_near: frozenset[str] = frozenset()
    within_words: int = 8
    hotword: bool = False
    example: str = ""
    becomes: str = ""
    untouched: tuple[str, ...] = ()
    source: str = ""


def key(text: str) -> str:
    """Return `text` for comparison: lower case, single spaces, straight apostrophes."""
    return " ".join(words(text))


@lru_cache(maxsize=4)  # when the church's file changes, the shipped file is parsed again
def parse_rules(toml_text: str, name: str) -> tuple[Rule, ...]:
    """Return the rules of one file in file order; `name` is the file's name, for messages.

    Raises DictionaryError, which names the file, the rule and the fix.
    """
    top = Table(read_toml(toml_text, name), {"lists", "names", "bible_names", "rule"}, name)
    words = lists_of(top, name)
    # A name's rule does not change the name: `near_names` uses it, and the church's are hotwords.
    names = {
        " ".join(each.split()): section == "names"
        for section in ("bible_names", "names")
        for each in top.texts(section)
        if key(each)
    }
    rules = [
        Rule(f"name-{_default_id(each)}", (each,), each, hotword=is_own, source=name)
        for each, is_own in names.items()
    ]
    ids = {rule.id for rule in rules}
    heard: dict[str, str] = {}
    for table in tables_of(top, "rule", _KEYS, name):
        where = table.where
        rule = _rule(table, words, name)
        if rule.id in ids:
            raise DictionaryError(
                "dictionary-duplicate-id",
                f"{where}: another rule above has the id {rule.id!r}.",
                "Put the phrases into one rule, or give this one its own `id`.",
            )
        ids.add(rule.id)
        for phrase in rule.hear:
            # Within one file this is a mistake. Across files the later rule wins, as churches want.
            if key(phrase) in heard:
                raise DictionaryError(
                    "dictionary-duplicate-phrase",
                    f"{where} ({rule.id}): {phrase!r} is already in rule {heard[key(phrase)]!r}.",
                    "Keep it once.",
                )
            heard[key(phrase)] = rule.id
        rules.append(rule)
    return tuple(rules)


def read_toml(toml_text: str, name: str) -> dict[str, Any]:
    """Return a file's tables; `name` is the file's name. Raises DictionaryError."""
    try:
        # Some Windows editors begin a file with a byte order mark, which TOML does not allow.
        return tomllib.loads(toml_text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:  # too many digits or brackets
        raise DictionaryError(
            "dictionary-not-toml",
            f"{name} cannot be read: {error}.",
            "Put every text in double quotes and every list in square brackets.",
        ) from error


def appended(
    content: str, kind: str, values: Mapping[str, object], utc: datetime
) -> tuple[str, str]:
    """Return a file's content with an operator's table `[[kind]]` at its end, and the table's text.

    With that text, `without` takes it out again.
    """
    # A JSON string is a TOML string, except for raw control characters, which do not occur here.
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    comment = f"# Added by an operator on {utc:%Y-%m-%d at %H:%M} UTC"
    # A file that was edited with Notepad keeps its own line ends.
    newline = "\r\n" if "\r\n" in content else "\n"
    text = newline.join(["", comment, f"[[{kind}]]", *lines, ""])
    ended = content if content.endswith("\n") or not content else content + newline
    return ended + text, text


def without(content: str, text: str, file: object) -> str:
    """Return the content of a file without a table from `appended`. Raises DictionaryError."""
    # Somebody has edited the file since: refuse, rather than remove another person's text.
    if content.count(text) != 1:
        message = f"{file} has been changed: the entry is not as it was added."
        raise DictionaryError("dictionary-rule-gone", message, "Remove it in the file.")
    return content.replace(text, "")


def free_id(write: str, taken: Collection[str]) -> str:
    """Return the default id of a rule, with a number at the end if it is taken."""
    name = _default_id(write)
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def _default_id(write: str) -> str:
    return key(write).replace(" ", "-").replace("'", "")


# The keys of a rule in a file; `source` is known without a key.
_KEYS = {field.name for field in fields(Rule)} - {"source"}


class Table:
    """A TOML table that checks its values and reports what is wrong with them."""

    def __init__(self, values: Mapping[str, Any], known: Collection[str], where: str) -> None:
        self.values = values
        self.where = where
        # If unknown keys were ignored, a mistyped `not_near` would let a rule apply everywhere.
        for unknown in values.keys() - known:
            near = get_close_matches(unknown, known, 1)
            raise DictionaryError(
                "dictionary-unknown-key",
                f"{where}: unknown key {unknown!r}.",
                f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(sorted(known))}.",
            )

    def take(self, at: str, kind: type[T], named: str, default: T) -> T:
        """Return a value of type `kind`, which messages call `named`. Raises DictionaryError."""
        value = self.values.get(at, default)
        # Not isinstance: in Python a bool is an int.
        if type(value) is not kind:
            raise DictionaryError(
                "dictionary-wrong-type",
                f"{self.where}: {at!r} must be {named}, not {quoted(value)}.",
                f"Correct {at!r}.",
            )
        return value

    def text(self, at: str) -> str:
        """Return a text with single spaces, "" if it is missing. Raises DictionaryError."""
        return " ".join(self.take(at, str, "a text in quotes", "").split())

    def texts(self, at: str) -> tuple[str, ...]:
        """Return the texts of a key that holds one text or a list. Raises DictionaryError."""
        value = self.values.get(at, [])
        values = value if type(value) is list else [value]
        for each in values:
            if type(each) is not str:
                raise DictionaryError(
                    "dictionary-wrong-type",
                    f"{self.where}: {at!r} must be a text or a list of texts, not {quoted(each)}.",
                    f"Correct {at!r}.",
                )
        return tuple(values)

    def require(self, **values: object) -> None:
        """Raise DictionaryError for the first key whose value is empty."""
        for at, value in values.items():
            if not value:
                missing = f"{self.where} has no {at!r}."
                raise DictionaryError("dictionary-missing-key", missing, f"Add {at} = ...")

    def within_words(self) -> int:
        """Return the largest distance of context words, 1 or more. Raises DictionaryError."""
        within_words = self.take("within_words", int, "a whole number", 8)
        if within_words < 1:
            wrong = f"{self.where}: 'within_words' is {within_words}."
            raise DictionaryError("dictionary-out-of-range", wrong, "Write 1 or more.")
        return within_words


def lists_of(top: Table, name: str) -> dict[str, frozenset[str]]:
    """Return the word lists of a file, by name. Raises DictionaryError."""
    table = top.take("lists", dict, "a table", {})
    # Any key is allowed: users name their lists.
    lists = Table(table, set(table), f"{name}, [lists]")
    # {}: a list cannot refer to a list, so there is no recursion.
    return {at: context(lists, at, {}) for at in table}


def tables_of(top: Table, kind: str, keys: Collection[str], name: str) -> Iterator[Table]:
    """Yield the tables `[[kind]]` of a file, each with its position. Raises DictionaryError."""
    for number, values in enumerate(top.take(kind, list, f"[[{kind}]] entries", []), 1):
        where = f"{name}, {kind} {number}"
        if not isinstance(values, dict):
            raise DictionaryError(
                "dictionary-wrong-type", f"{where} is not a table.", f"Begin it with [[{kind}]]."
            )
        yield Table(values, keys, where)


def _rule(table: Table, lists: Mapping[str, frozenset[str]], name: str) -> Rule:
    write, hear = table.text("write"), table.texts("hear")
    table.require(write=write, hear=hear)
    for phrase in (write, *hear):
        if not key(phrase):
            raise DictionaryError(
                "dictionary-empty-phrase",
                f"{table.where}: {phrase!r} has no word in it.",
                "Write at least one word.",
            )
    example, becomes = table.text("example"), table.text("becomes")
    if bool(example) != bool(becomes):
        raise DictionaryError(
            "dictionary-half-example",
            f"{table.where} has only one of 'example' and 'becomes'.",
            "Write both, or neither.",
        )
    return Rule(
        id=table.text("id") or _default_id(write),
        hear=hear,
        write=write,
        near=context(table, "near", lists),
        not_near=context(table, "not_near", lists),
        within_words=table.within_words(),
        hotword=table.take("hotword", bool, "true or false", False),
        example=example,
        becomes=becomes,
        untouched=table.texts("untouched"),
        source=name,
    )


def context(table: Table, at: str, lists: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return normalized context words, with the words of named lists included.

    Raises DictionaryError.
    """
    words: set[str] = set()
    for word in table.texts(at):
        if word.startswith(LIST_MARK):
            if word[1:] not in lists:
                raise DictionaryError(
                    "dictionary-unknown-list",
                    f"{table.where}: {at!r} names the list {word!r}, which this file has not.",
                    f"Known: {', '.join(sorted(lists)) or 'none'}; add it under [lists].",
                )
            words |= lists[word[1:]]
        elif word == ANY_NUMBER or WORD.fullmatch(word):
            # The key of "#" is empty, because it has no letter.
            words.add(key(word) or word)
        else:
            raise DictionaryError(
                "dictionary-not-one-word",
                f"{table.where}: {at!r} holds {word!r}, which is not one word.",
                "Name single words, # for any number, or a list as @name.",
            )
    return frozenset(words)

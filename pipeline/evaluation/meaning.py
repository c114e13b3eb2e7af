"""Check what a translation must say and must not say, sentence by sentence. Pure functions.

A condition is met by the consecutive words of one of its alternatives. The comment at the top of
scripts/bench/meaning/sentences.toml describes the format.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.errors import UsageError, reading
from pipeline.core.resources import bundled

FILE = bundled("scripts", "bench", "meaning", "sentences.toml")
"""The shipped sentences."""

# All benchmark sentences are English: only the translations are in several languages.
_SOURCE = "en"
_OWN = {"id", "kind", "spoken", "before", _SOURCE}
_FORM = "The comment at the top of scripts/bench/meaning/sentences.toml says what it has to have."

_NUMBER = r"\d+(?:[.,:]\d+)*"
# After `plain` Spanish and French have no other letters.
_WORDS = re.compile(rf"{_NUMBER}|[a-zñ]+")
_PATTERNS = re.compile(rf"{_NUMBER}|[a-zñ]+\*?")
# NFD does not split ligatures: Unicode treats them as letters, but people type two letters.
_ALIKE = str.maketrans({"œ": "oe", "æ": "ae"})


def plain(text: str) -> str:
    """Return a text in lower case without accents; ñ stays, since it is a letter of its own."""
    parts = unicodedata.normalize("NFD", text.lower().translate(_ALIKE))
    # Before accents are dropped: "año" is a year, "ano" is not.
    parts = parts.replace("n\N{COMBINING TILDE}", "ñ")
    return "".join(each for each in parts if not unicodedata.combining(each))


def words(text: str) -> list[str]:
    """Return the words to compare with conditions; numbers keep an inner `.`, `,`, `:`."""
    return _WORDS.findall(plain(text))


def patterns(phrase: str) -> list[str]:
    """Return the words of one alternative; a final `*` in a word matches any ending."""
    return _PATTERNS.findall(plain(phrase))


def is_met(condition: str, said: Sequence[str]) -> bool:
    """Whether the words contain one of the condition's alternatives as consecutive words."""
    return any(_is_there(patterns(phrase), said) for phrase in condition.split("|"))


def _is_there(phrase: Sequence[str], said: Sequence[str]) -> bool:
    # A phrase without words must match nowhere; `all` of an empty list would match everywhere.
    starts = range(len(said) - len(phrase) + 1) if phrase else range(0)
    return any(all(map(_fits, phrase, said[start:])) for start in starts)


def _fits(pattern: str, word: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a translation must say, and must not say."""

    # Not only `ref`: a good translation may use other words, but it must not lack these.
    must: tuple[str, ...]
    never: tuple[str, ...]
    ref: str
    """One good translation."""

    def mistakes(self, text: str) -> tuple[str, ...]:
        """Return what is wrong with a translation, each as "lacks ..." or "says ..."."""
        said = words(text)
        lacks = [f"lacks {each}" for each in self.must if not is_met(each, said)]
        says = [f"says {each}" for each in self.never if is_met(each, said)]
        return (*lacks, *says)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A source sentence, and what its translations must say."""

    id: str
    kind: str
    """What it tests."""
    said: str
    is_spoken: bool
    """Whether the benchmark's part with sound uses it too."""
    meanings: Mapping[str, Meaning]
    """By target language."""
    before: str = ""
    """The sentence before it, if that decides the meaning."""


def read(file: Path = FILE) -> tuple[Sentence, ...]:
    """Return the sentences of a file, in its order. Raises UsageError that names the mistake."""
    wrong = (tomllib.TOMLDecodeError, UnicodeDecodeError)
    with reading(file, UsageError, "sentences-unreadable", _FORM, wrong):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    entries = content.get("sentence")
    if not isinstance(entries, list) or not entries:
        raise _wrong(file, "has no [[sentence]]")
    found: dict[str, Sentence] = {}
    for number, entry in enumerate(entries, 1):
        sentence = _sentence(file, number, entry)
        # A second sentence with the same id would silently replace the first.
        if sentence.id in found:
            raise _wrong(file, f"two sentences have the id {sentence.id!r}")
        found[sentence.id] = sentence
    return tuple(found.values())


def _sentence(file: Path, number: int, entry: Mapping[str, Any]) -> Sentence:
    name = entry.get("id", f"number {number}")
    for key in ("id", "kind", _SOURCE):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise _wrong(file, f"sentence {name} lacks {key}")
    if not isinstance(entry.get("spoken", False), bool):
        raise _wrong(file, f"sentence {name}: spoken is true or false")
    if not isinstance(entry.get("before", ""), str):
        raise _wrong(file, f"sentence {name}: before is a sentence")
    # Any other key is a language, so that a new language needs no change here.
    langs = [key for key in entry if key not in _OWN]
    if not langs:
        raise _wrong(file, f"sentence {name} says nothing of any translation")
    return Sentence(
        id=entry["id"],
        kind=entry["kind"],
        said=entry[_SOURCE],
        is_spoken=entry.get("spoken", False),
        meanings={lang: _meaning(file, f"{name}, {lang}", entry[lang]) for lang in langs},
        before=entry.get("before", ""),
    )


def _meaning(file: Path, name: str, entry: Any) -> Meaning:
    if not isinstance(entry, dict) or set(entry) != {"must", "never", "ref"}:
        raise _wrong(file, f"sentence {name}: must, never and ref are asked for, and nothing else")
    for key in ("must", "never"):
        conditions = entry[key]
        if not isinstance(conditions, list) or not all(map(_is_condition, conditions)):
            raise _wrong(file, f"sentence {name}: {key} has a condition without a word")
    if not entry["must"] and not entry["never"]:
        raise _wrong(file, f"sentence {name} asks for nothing")
    if not isinstance(entry["ref"], str) or not entry["ref"].strip():
        raise _wrong(file, f"sentence {name} lacks ref")
    meaning = Meaning(tuple(entry["must"]), tuple(entry["never"]), entry["ref"])
    # If `ref` fails, the conditions are wrong: they would count a good translation as a mistake.
    if mistakes := meaning.mistakes(meaning.ref):
        raise _wrong(file, f"sentence {name}: its own ref {'; '.join(mistakes)}")
    return meaning


def _is_condition(condition: Any) -> bool:
    # An alternative without a word, such as the second of "a|", could never be met.
    return isinstance(condition, str) and all(map(patterns, condition.split("|")))


def _wrong(file: Path, message: str) -> UsageError:
    return UsageError("sentences-wrong", f"{file}: {message}.", _FORM)

"""The sentences of the quality gate, and the check for their terms in a translation."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipeline.core.errors import UsageError, reading
from pipeline.core.resources import bundled
from pipeline.text.words import ELIDED, words

FILES = {
    ("en", "es"): bundled("scripts", "quality", "sentences.toml"),
    ("en", "fr"): bundled("scripts", "quality", "sentences_fr.toml"),
}
"""The shipped sentences, by their languages."""
# Separate from everyday speech, in which church words hardly occur.
THEOLOGICAL = "theological"
KINDS = ("general", THEOLOGICAL)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A source sentence, a careful interpreter's translation, and the required terms."""

    kind: str
    source: str
    target: str
    terms: tuple[str, ...]
    """Each is `word|other word`; a `*` at a word's end matches any ending."""

    def found(self, text: str) -> int:
        """Return how many of the terms `text` contains, without case and punctuation."""
        return len(self.terms) - len(self.missing(text))

    def missing(self, text: str) -> list[str]:
        """Return the terms that `text` lacks."""
        # Joined by single spaces, so that punctuation does not hide a term of two words.
        plain = " ".join(words(text))
        return [term for term in self.terms if not _pattern(term).search(plain)]


def read(path: Path | None = None, source: str = "en", target: str = "es") -> tuple[Sentence, ...]:
    """Read the sentences of all kinds, in the file's order; without a path the shipped ones.

    Raises UsageError.
    """
    path = path or FILES.get((source, target))
    if path is None:
        raise UsageError(
            "sentences-none",
            f"No sentences from {source} to {target} ship with the program.",
            f"Write your own with {source} and {target}, in the form of {FILES['en', 'es'].name}.",
        )
    fix = f"Every sentence has {source}, {target} and terms, under {' or '.join(KINDS)}."
    wrong = (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError)
    with reading(path, UsageError, "sentences-unreadable", fix, wrong):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return tuple(
            Sentence(kind, entry[source], entry[target], tuple(entry["terms"]))
            # A missing kind is an error: without it, half of the gate would pass unchecked.
            for kind in KINDS
            for entry in content[kind]
        )


@cache
def _pattern(term: str) -> re.Pattern[str]:
    alternatives = [
        " ".join(
            # A term also matches after a French elision: "l'alliance".
            f"(?:{ELIDED})?{re.escape(word)}" + (r"\w*" if starred.endswith("*") else "")
            for starred in alternative.split()
            for word in words(starred)
        )
        for alternative in term.split("|")
    ]
    # Between spaces, not \b: the words are joined by spaces, and may be in any script.
    return re.compile(rf"(?<!\S)(?:{'|'.join(alternatives)})(?!\S)")

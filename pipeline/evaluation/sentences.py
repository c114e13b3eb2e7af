"""The sentences of the quality gate, and whether a translation has their terms."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
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
"""The sentences that ship, by their languages."""
# Apart from everyday speech: there a church's words decide, here they hardly occur.
THEOLOGICAL = "theological"
KINDS = ("general", THEOLOGICAL)


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is said, how a careful interpreter puts it, and what no translation may lack."""

    kind: str
    source: str
    target: str
    terms: tuple[str, ...]
    """Each `word|other word`, a `*` at a word's end for any ending."""

    def found(self, text: str) -> int:
        """Return how many of the terms `text` has, whatever their case and punctuation."""
        return len(self.terms) - len(self.missing(text))

    def missing(self, text: str) -> list[str]:
        """Return the terms that `text` lacks."""
        # Words with one space between, so that a term of two words is found over any punctuation.
        plain = " ".join(words(text))
        return [term for term in self.terms if not _pattern(term).search(plain)]


def read(path: Path | None = None, source: str = "en", target: str = "es") -> tuple[Sentence, ...]:
    """Read the sentences of all kinds, in the file's order; without a path those that ship.

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
            # A kind that the file lacks is an error: half of the gate would pass unseen without it.
            for kind in KINDS
            for entry in content[kind]
        )


def few(sentences: Sequence[Sentence], count: int) -> tuple[Sentence, ...]:
    """Return the first `count` sentences of each kind."""
    return tuple(
        sentence
        for kind in KINDS
        # Of each kind: the first of the file would all be general ones.
        for sentence in [each for each in sentences if each.kind == kind][:count]
    )


@cache
def _pattern(term: str) -> re.Pattern[str]:
    alternatives = [
        " ".join(
            # Behind what French elides it is the same term: "l'alliance".
            f"(?:{ELIDED})?{re.escape(word)}" + (r"\w*" if starred.endswith("*") else "")
            for starred in alternative.split()
            for word in words(starred)
        )
        for alternative in term.split("|")
    ]
    # Between spaces, not \b: words were joined by spaces, and letters of every script count.
    return re.compile(rf"(?<!\S)(?:{'|'.join(alternatives)})(?!\S)")

"""Word errors of a transcript against its reference."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.evaluation import word_errors as counted
from training.data.corpora import words
from training.data.spoken import spoken


def comparable(text: str) -> tuple[str, ...]:
    """Return lower-case words, numerals in words, no punctuation: "3:16" is "three sixteen"."""
    return words(spoken(text).replace("-", " "))


def word_errors(reference: str, heard: str) -> tuple[int, int]:
    """Return (insertions + deletions + substitutions, reference words) by least edit distance."""
    return counted.word_errors(" ".join(comparable(reference)), " ".join(comparable(heard)))


def word_error_rate(pairs: Iterable[tuple[str, str]]) -> float:
    """Return the errors per reference word over all (reference, heard) pairs."""
    plain = ((" ".join(comparable(said)), " ".join(comparable(heard))) for said, heard in pairs)
    return counted.word_error_rate(plain) or 0.0

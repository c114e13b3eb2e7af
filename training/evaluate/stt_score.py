"""Word errors of a transcript against its reference."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.evaluation import word_errors as counted
from training.data.corpora import words
from training.data.spoken import spoken


def comparable(text: str) -> tuple[str, ...]:
    """Words in lower case, numerals read out, no punctuation: "3:16" equals "three sixteen"."""
    return words(spoken(text).replace("-", " "))


def word_errors(reference: str, heard: str) -> tuple[int, int]:
    """(insertions + deletions + substitutions, words of the reference) by least edit distance."""
    return counted.word_errors(" ".join(comparable(reference)), " ".join(comparable(heard)))


def word_error_rate(pairs: Iterable[tuple[str, str]]) -> float:
    """Errors per reference word over all (reference, heard) pairs."""
    plain = ((" ".join(comparable(said)), " ".join(comparable(heard))) for said, heard in pairs)
    return counted.word_error_rate(plain) or 0.0

"""Word errors of a transcript against its reference."""

from __future__ import annotations

from collections.abc import Iterable

from training.data.corpora import words
from training.data.spoken import spoken


def comparable(text: str) -> tuple[str, ...]:
    """Words in lower case, numerals read out, no punctuation: "3:16" equals "three sixteen"."""
    return words(spoken(text).replace("-", " "))


def word_errors(reference: str, heard: str) -> tuple[int, int]:
    """(insertions + deletions + substitutions, words of the reference) by least edit distance."""
    expected, found = comparable(reference), comparable(heard)
    row = list(range(len(found) + 1))
    for i, word in enumerate(expected, 1):
        above_left, row[0] = row[0], i
        for j, other in enumerate(found, 1):
            above_left, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, above_left + (word != other)),
            )
    return row[-1], len(expected)


def word_error_rate(pairs: Iterable[tuple[str, str]]) -> float:
    """Errors per reference word over all (reference, heard) pairs."""
    counted = [word_errors(reference, heard) for reference, heard in pairs]
    return sum(errors for errors, _ in counted) / max(1, sum(count for _, count in counted))

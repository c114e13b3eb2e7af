"""Word errors of a transcript against its reference, by the least edits (jiwer). Pure.

Words are compared in lower case without punctuation (`text.words`).
"""

from __future__ import annotations

from collections.abc import Iterable

import jiwer

from pipeline.text.words import words


def word_errors(said: str, heard: str) -> tuple[int, int]:
    """Return the words substituted, left out and put in, and how many words were said."""
    reference, recognized = words(said), words(heard)
    if not reference:
        # Nothing was said: every word that was heard is one too many.
        return len(recognized), 0
    # With one space between: jiwer parts texts at spaces, and these words are ours.
    aligned = jiwer.process_words(" ".join(reference), " ".join(recognized))
    wrong = aligned.substitutions + aligned.deletions + aligned.insertions
    return int(wrong), len(reference)


def word_error_rate(pairs: Iterable[tuple[str, str]]) -> float | None:
    """Return the errors a word that was said, over all pairs of (said, heard).

    0..1, and above where more is heard than said; None where nothing was said.
    """
    # Summed before it is divided: a short utterance must not weigh as much as a long one.
    counted = [word_errors(said, heard) for said, heard in pairs]
    spoken = sum(count for _, count in counted)
    return sum(errors for errors, _ in counted) / spoken if spoken else None

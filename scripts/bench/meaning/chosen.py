"""Which of the sentences are asked."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.errors import UsageError
from pipeline.evaluation.meaning import Sentence


def chosen(
    sentences: Sequence[Sentence], langs: Sequence[str], *, kinds: Sequence[str], most: int
) -> list[Sentence]:
    """Return those of some kinds, and of each kind the first `most`; 0: all of them.

    Raises UsageError where a kind is not there, or a sentence says nothing of a language.
    """
    there = list(dict.fromkeys(each.kind for each in sentences))
    for kind in kinds:
        if kind not in there:
            message = f"There is no sentence of the kind {kind!r}."
            raise UsageError("kind-unknown", message, f"There are: {', '.join(there)}.")
    found: list[Sentence] = []
    for kind in kinds or there:
        alike = [each for each in sentences if each.kind == kind]
        found += alike[:most] if most else alike
    for lang in langs:
        lacking = [each.id for each in found if lang not in each.meanings]
        if lacking:
            message = (
                f"{len(lacking)} sentences say nothing of {lang!r}, the first is {lacking[0]}."
            )
            raise UsageError("language-unknown", message, "Add it to them, or leave it out.")
    return found

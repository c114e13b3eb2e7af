"""Stretches of a text, from one character up to another. Pure."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[int, int]


def is_free(span: Span, taken: Iterable[Span]) -> bool:
    """Whether a stretch overlaps none of those that are taken."""
    return all(span[1] <= start or span[0] >= end for start, end in taken)

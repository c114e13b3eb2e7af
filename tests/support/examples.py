"""How many generated examples a test tries."""

from __future__ import annotations

from hypothesis import settings


def examples(most: int) -> int:
    """Return `most`, or fewer where hypothesis was asked to be quick (see tests/conftest.py)."""
    return min(most, settings().max_examples)

"""What translators get of a text that was said. Pure."""

from __future__ import annotations

from pipeline.church.scripture.references import spelled


def given(text: str, lang: str) -> str:
    """Return a text as translators get it: its references as they are printed.

    What judges a translation compares it with this text, not with the words that were said.
    """
    return spelled(text, lang)

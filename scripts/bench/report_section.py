"""A benchmark's section in a document that has others."""

from __future__ import annotations

import re


def with_section(text: str, title: str, new: str) -> str:
    """Return the text with the section under `title` replaced by `new`, or added at its end."""
    old = re.search(rf"^{re.escape(title)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if old is None:
        return f"{text.rstrip()}\n\n{new}" if text.strip() else new
    rest = text[old.end() :]
    return text[: old.start()] + new + (f"\n{rest}" if rest else "")

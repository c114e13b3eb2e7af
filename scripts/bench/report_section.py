"""A benchmark's section in a document that has others."""

from __future__ import annotations

import re


def with_section(
    text: str, title: str, new: str, *, behind: str = "", is_first: bool = False
) -> str:
    """Return the text with the section under `title` replaced by `new`, or added.

    It is added behind the last section whose title begins with `behind`, or `is_first` before all
    others, else at the text's end.
    """
    old = re.search(rf"^{re.escape(title)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if old is None and behind:
        alike = rf"^{re.escape(behind)}[^\n]*\n.*?(?=^## |\Z)"
        found = list(re.finditer(alike, text, re.MULTILINE | re.DOTALL))
        if found and (rest := text[found[-1].end() :]):
            return f"{text[: found[-1].end()].rstrip()}\n\n{new.rstrip()}\n\n{rest}"
    if old is None and is_first and (found_first := re.search("^## ", text, re.MULTILINE)):
        at = found_first.start()
        return f"{text[:at]}{new.rstrip()}\n\n{text[at:]}"
    if old is None:
        return f"{text.rstrip()}\n\n{new}" if text.strip() else new
    rest = text[old.end() :]
    return text[: old.start()] + new + (f"\n{rest}" if rest else "")

"""The languages of the pages, and the texts of the operator's console in each."""

from __future__ import annotations

import re

from tests.support.paths import ROOT

LANGS = ("en", "es", "fr", "de", "pt", "ko", "zh", "ar")
CONSOLE = ROOT / "displays" / "js" / "operator"
_TEXT = re.compile(r'^  (\w+): "([^"\\]+)",$', re.MULTILINE)


def texts(lang: str) -> dict[str, str]:
    """Return the console's texts in a language, by key."""
    found = _TEXT.findall((CONSOLE / f"words/{lang}.js").read_text("utf-8"))
    assert len(found) == len(dict(found)), f"{lang} has a text twice"
    return dict(found)

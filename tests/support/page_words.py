"""The languages of the pages; the texts of the pages and the operator's console in each."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.paths import ROOT

LANGS = ("en", "es", "fr", "de", "pt", "ko", "zh", "ar")
PAGES = ROOT / "displays" / "js" / "words"
CONSOLE = ROOT / "displays" / "js" / "operator" / "words"
_TEXT = re.compile(r'^  "?([\w-]+)"?: "([^"\\]+)",$', re.MULTILINE)


def texts(lang: str, folder: Path = CONSOLE) -> dict[str, str]:
    """Return the texts of a folder in a language, by key."""
    found = _TEXT.findall((folder / f"{lang}.js").read_text("utf-8"))
    assert len(found) == len(dict(found)), f"{lang} has a text twice"
    return dict(found)

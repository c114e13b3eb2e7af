"""Make docs/sentences.tsv: every sentence of the pages in every language, for native speakers.

    python -m scripts.docs.make_sentences

Any spreadsheet opens the table. It has each sentence's place, its key, and a column per language.
Corrections in it go back into the module that the first column names.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import orjson

from scripts.support.paths import ROOT

FILE = ROOT / "docs" / "sentences.tsv"
LANGS = ("en", "es", "fr", "de", "pt", "ko", "zh", "ar")
_JS = ROOT / "displays" / "js"
# One module per language, one sentence per line: `key: "text",`.
_LINE = re.compile(r'^  "?([\w-]+)"?: ("(?:[^"\\]|\\.)*"),$', re.MULTILINE)
# All languages in one module, one language per line: `en: { key: "text", ... },`.
_TABLE = re.compile(r"^  ([a-z]{2}): \{ (.*) \},$", re.MULTILINE)
_PAIR = re.compile(r'"?([\w-]+)"?: ("(?:[^"\\]|\\.)*")')

Sentences = dict[str, dict[str, str]]
"""Sentences by key, then by language."""


def places() -> dict[str, Sentences]:
    """Return the sentences by their folder or file."""
    return {
        "words": _of_folder(_JS / "words"),
        "operator/words": _of_folder(_JS / "operator" / "words"),
        "join/words.js": _of_file(_JS / "join" / "words.js"),
        "services/words.js": _of_file(_JS / "services" / "words.js"),
    }


def text() -> str:
    """Return the table."""
    out = io.StringIO()
    table = csv.writer(out, delimiter="\t", lineterminator="\n")
    table.writerow(("where", "key", *LANGS))
    for place, sentences in places().items():
        for key, said in sentences.items():
            table.writerow((f"displays/js/{place}", key, *(said.get(lang, "") for lang in LANGS)))
    return out.getvalue()


def _of_folder(folder: Path) -> Sentences:
    found: Sentences = {}
    for lang in LANGS:
        for key, said in _LINE.findall((folder / f"{lang}.js").read_text("utf-8")):
            found.setdefault(key, {})[lang] = orjson.loads(said)
    return found


def _of_file(file: Path) -> Sentences:
    found: Sentences = {}
    for lang, pairs in _TABLE.findall(file.read_text("utf-8")):
        for key, said in _PAIR.findall(pairs):
            found.setdefault(key, {})[lang] = orjson.loads(said)
    return found


def main() -> None:
    """Write the file."""
    FILE.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()

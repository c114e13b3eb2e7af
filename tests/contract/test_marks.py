"""Modules that `make check` does not even read: each of their tests has the mark that says so."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.paths import ROOT

BROWSER = sorted((ROOT / "tests" / "browser").glob("test_*.py"))
TRAIN = [
    path
    for path in sorted((ROOT / "tests").rglob("test_*.py"))
    if "\nneeds_train_extra()\n" in path.read_text("utf-8")
]
HEAVY = {"gguf", "peft", "playwright", "safetensors", "tokenizers", "torch", "transformers"}
"""What no module may import at its top that is read for the fast tests."""


def marks(path: Path) -> set[str]:
    """Return the marks that a module gives to all its tests."""
    found: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node.targets[0]):
            found |= {
                each.attr for each in ast.walk(node.value) if isinstance(each, ast.Attribute)
            } - {"mark"}
    return found


@pytest.mark.parametrize(("mark", "paths"), [("browser", BROWSER), ("train", TRAIN)])
def test_a_module_that_is_left_unread_is_marked_as_a_whole(mark: str, paths: list[Path]) -> None:
    assert len(paths) >= 5
    assert [path for path in paths if mark not in marks(path)] == []


def test_what_is_read_for_the_fast_tests_imports_nothing_heavy_at_its_top() -> None:
    read = {*(ROOT / "tests").rglob("test_*.py")} - {*BROWSER, *TRAIN}
    heavy = []
    for path in sorted(read):
        text = path.read_text("utf-8")
        # Parsing takes time: who has none of these words imports none of them.
        for node in ast.parse(text).body if any(map(text.__contains__, HEAVY)) else ():
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            heavy += [path for name in names if name.partition(".")[0] in HEAVY]
    assert heavy == []

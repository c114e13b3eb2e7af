"""Modules that `make check` does not read: each of their tests has a mark that excludes it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.marks import left_out, marks_of_all
from tests.support.paths import ROOT

MARKS = {"slow", "browser", "sound", "train"}
"""Marks of the tests that `make check` leaves out."""
EVERY = sorted((ROOT / "tests").rglob("test_*.py"))
BROWSER = [path for path in EVERY if path.parent.name == "browser"]
TRAIN = [path for path in EVERY if "\nneeds_train_extra()\n" in path.read_text("utf-8")]
HEAVY = {"gguf", "peft", "playwright", "safetensors", "tokenizers", "torch", "transformers"}
"""Libraries that no module of the fast tests may import at its top."""
AT_TOP = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
"""A module's top-level imports; ruff enforces one per line."""


def marks(text: str) -> set[str]:
    """Return the marks that a module gives to all its tests, as Python reads it."""
    found: set[str] = set()
    for node in ast.parse(text).body if "pytestmark" in text else ():
        if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node.targets[0]):
            found |= {
                each.attr for each in ast.walk(node.value) if isinstance(each, ast.Attribute)
            } - {"mark"}
    return found


@pytest.mark.parametrize(("mark", "paths"), [("browser", BROWSER), ("train", TRAIN)])
def test_a_module_that_needs_what_takes_seconds_to_load_is_marked_as_a_whole(
    mark: str, paths: list[Path]
) -> None:
    assert len(paths) >= 5
    assert [path for path in paths if mark not in marks_of_all(path.read_text("utf-8"))] == []


def test_the_marks_of_a_module_are_found_without_reading_it() -> None:
    texts = {path: path.read_text("utf-8") for path in EVERY}
    found = {path: marks_of_all(text) for path, text in texts.items()}
    assert found == {path: marks(text) for path, text in texts.items()}
    assert sum("slow" in each for each in found.values()) > 20


def test_what_an_expression_leaves_out_for_sure() -> None:
    assert left_out("not slow and not browser") == {"slow", "browser"}
    assert left_out("not slow and train") == {"slow"}
    assert left_out("not slow or train") == left_out("not slow and train or sound") == set()
    assert left_out("slow") == left_out("not (slow or train)") == left_out("") == set()


def test_what_is_read_for_the_fast_tests_imports_nothing_heavy_at_its_top() -> None:
    heavy = []
    for path in EVERY:
        text = path.read_text("utf-8")
        if MARKS.isdisjoint(marks_of_all(text)) and not HEAVY.isdisjoint(AT_TOP.findall(text)):
            heavy.append(path)
    assert heavy == []

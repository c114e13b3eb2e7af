"""Every log line of the program has a sentence, made of fields that the line has."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from pipeline.core.log_sentences import SENTENCES, UNSAID, keys_of, sentence
from tests.support.paths import ROOT

SPOKEN = {"info", "warning", "error", "exception"}
CALL = re.compile(rf"\b({'|'.join(SPOKEN)}|say)\(")


def logs(func: ast.expr) -> bool:
    """Whether this is a method of a logger, or a method bound earlier to the name `say`."""
    match func:
        case ast.Attribute(value, attr):
            return attr in SPOKEN and "log" in ast.unparse(value)
        case ast.Name("say"):
            return True
    return False


def lines() -> Iterator[tuple[str, set[str], bool]]:
    """Yield each line that the program logs: its name, its fields, whether it has others too."""
    texts = (file.read_text("utf-8") for file in (ROOT / "pipeline").rglob("*.py"))
    for text in filter(CALL.search, texts):  # parsing takes time
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Call(func, [ast.Constant(str(name)), *_], keywords) if logs(func):
                    keys = {each.arg for each in keywords if each.arg}
                    yield name, keys, any(each.arg is None for each in keywords)


def test_every_line_has_its_sentence_that_names_what_the_line_brings() -> None:
    brought: dict[str, set[str]] = defaultdict(set)
    may_bring_more = set()
    for name, keys, more in lines():
        brought[name] |= keys
        if more:
            may_bring_more.add(name)
    assert set(brought) == set(SENTENCES) | UNSAID
    assert len(brought) > 40
    asked = {name: set().union(*map(keys_of, forms)) for name, forms in SENTENCES.items()}
    missing = {name: keys - brought[name] for name, keys in asked.items()}
    assert {name for name, keys in missing.items() if keys} <= may_bring_more


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("song", {"held": False, "by": "detector"}, "Captions go on."),
        ("rung", {"rung": "FULL", "lag_s": 0.1, "reason": ""}, "The machine keeps up again."),
        ("rung", {"rung": "X", "lag_s": 9, "reason": "a little behind"}, "A little behind."),
        ("rung", {"language": "fr", "rung": "FULL", "reason": ""}, "Fr keeps up again."),
        ("state", {"state": "paused", "reason": ""}, "Paused."),
        ("fault", {"stage": "x", "code": "c", "message": "It broke."}, "It broke. [c]"),
        ("not locked", {"file": "a", "error": "Gone."}, "A cannot be locked: Gone."),
        ("certificate", {"names": ("a", "b"), "until": "2027"},
         "The pages' certificate is for a, b, until 2027."),
        ("engine", {"pid": 7}, ""),
        ("something new", {"at_s": 3, "none": None}, "Something new: at s 3."),
        ("of a library", {}, "Of a library"),
        ("fault", {}, "Fault"),
    ],
)  # fmt: skip
def test_sentences(name: str, fields: dict[str, object], said: str) -> None:
    assert sentence(name, fields) == said


def test_a_path_above_the_current_folder_stays_as_it_is() -> None:
    text = sentence("not read", {"error": "../sermons/a.wav is damaged..."})
    assert text.endswith("of its own: ../sermons/a.wav is damaged...")

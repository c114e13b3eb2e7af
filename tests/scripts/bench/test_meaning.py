"""The meaning benchmark: its material, what counts as said, and its counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.loader import load
from pipeline.core.errors import UsageError
from pipeline.core.types import Check
from pipeline.evaluation.meaning import FILE, read
from scripts.bench.meaning.__main__ import TITLE, main, rows
from scripts.bench.meaning.hearing import recognized
from scripts.bench.meaning.results import (
    ALL,
    Outcome,
    Stage,
    chosen,
    count,
    counts,
    is_marked,
    worst,
)
from scripts.support.records import caption
from tests.support.needs import needs_program
from tests.support.real_models import real_model

ENTRY = """
[[sentence]]
id = "number-01"
kind = "number"
en = "Two hens."
es = { must = ["dos|2", "gallin*"], never = ["doce"], ref = "Dos gallinas." }
"""


def outcome(number: int, **changes: Any) -> Outcome:
    facts: dict[str, Any] = {
        "id": f"number-{number:02}", "kind": "number", "lang": "es", "stage": "final",
        "said": "Two hens.", "heard": "Two hens.", "text": "Dos gallinas.", "ref": "Dos gallinas.",
        "mistakes": (), "is_marked": False, "chrf": 100.0, "engine": "gemma", "doubt": 0.1,
        "is_doubtful": False, "checks": (), "evidence": {},
    }  # fmt: skip
    return Outcome(**{**facts, **changes})


@pytest.mark.slow
def test_a_spoken_sentence_goes_through_a_voice_and_the_recognizer(tmp_path: Path) -> None:
    needs_program("espeak-ng")
    folder = real_model("kokoro-82m-int8").parent
    real_model("whisper-base")
    file = tmp_path / "own.toml"
    said = "The shepherd looks for the sheep that was lost."
    file.write_text(ENTRY.replace("Two hens.", said), "utf-8")
    settings = load(flags={"models.directory": str(folder), "stt.model": "whisper-base"}).settings
    heard = recognized(read(file), settings)
    assert heard["number-01"].text.strip() == said


def test_kinds_and_languages_are_chosen_and_unknown_ones_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    other = ENTRY.replace('"number"', '"trap"')
    texts = [ENTRY, ENTRY.replace("-01", "-02"), other.replace("-01", "-03")]
    file.write_text("".join(texts), "utf-8")
    all_of_them = read(file)

    def ids(kinds: list[str], most: int) -> list[str]:
        return [each.id[-2:] for each in chosen(all_of_them, ["es"], kinds=kinds, most=most)]

    assert ids([], 0) == ["01", "02", "03"]
    assert ids([], 1) == ["01", "03"]
    assert ids(["trap"], 0) == ["03"]
    with pytest.raises(UsageError, match="There are: number, trap"):
        ids(["jokes"], 0)
    with pytest.raises(UsageError, match="say nothing of 'de'"):
        chosen(all_of_them, ["es", "de"], kinds=[], most=0)


def test_a_final_is_marked_by_the_judge_or_by_a_check() -> None:
    final = caption(1, "Two hens.", "Dos gallinas.", final=True)
    right, doubtful = Check("number", "right", "Two"), Check("number", "doubtful", "Two")
    assert not is_marked(replace(final, checks=(right,)))
    assert is_marked(replace(final, checks=(right, doubtful)))
    assert is_marked(replace(final, is_doubtful=True))


def test_wrong_marked_and_falsely_marked_ones_are_counted() -> None:
    wrong = ("lacks dos",)
    found = [
        outcome(1),
        outcome(2, is_marked=True),
        outcome(3, mistakes=wrong),
        outcome(4, mistakes=("lacks dos", "says doce"), is_marked=True),
        outcome(5, kind="trap", mistakes=wrong),
        outcome(1, stage="draft", mistakes=wrong, text="", chrf=0.0),
    ]
    sums = count(found[:5])
    assert (sums.sentences, sums.wrong, sums.marked, sums.falsely, sums.chrf) == (5, 3, 1, 1, 100.0)
    assert count([]).chrf is None
    by = counts(found)

    def wrongs(kind: str, stage: Stage) -> tuple[int, int]:
        return by["es", kind, stage].sentences, by["es", kind, stage].wrong

    assert wrongs("number", "final") == (4, 2)
    assert wrongs("trap", "final") == (1, 1)
    assert wrongs(ALL, "final") == (5, 3)
    assert wrongs(ALL, "draft") == (1, 1)
    head, number, *_, every = rows(by)
    assert len(head) == len(number) == len(every) == 11
    assert every == ["es", "all", "1", "1", "0", "0", "0.0", "3", "1", "1", "100.0"]


def test_the_worst_are_those_that_nobody_is_warned_of() -> None:
    found = [
        outcome(1, mistakes=("a", "b", "c"), is_marked=True),
        outcome(2, mistakes=("a",), chrf=40.0),
        outcome(3, mistakes=("a",), chrf=20.0),
        outcome(4, mistakes=("a", "b"), chrf=90.0),
        outcome(5),
        outcome(6, mistakes=("a", "b", "c"), stage="draft"),
    ]
    assert [each.id[-1] for each in worst(found, 10)] == ["4", "3", "2", "1"]
    assert [each.id[-1] for each in worst(found, 2)] == ["4", "3"]


@pytest.mark.slow
def test_three_sentences_go_through_the_programs_own_chain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, document = tmp_path / "found.json", tmp_path / "BENCHMARKS.md"
    document.write_text("# Benchmarks\n\n## Other\n\nkept\n", "utf-8")
    code = main([
        "--lang", "es", "--kind", "number", "reference", "trap", "--most", "1",
        "--json", str(kept), "--markdown", str(document), "--set", f"session.directory={tmp_path}",
    ])  # fmt: skip
    assert code == 0
    captions = json.loads(kept.read_bytes())["captions"]
    assert [each["stage"] for each in captions] == ["draft", "final"] * 3
    assert [each["engine"] for each in captions] == ["marian", "gemma"] * 3
    assert [each["lang"] for each in captions] == ["es"] * 6
    first = next(each for each in captions if each["stage"] == "final")
    assert first["id"] == "number-01"
    assert "1943" in first["text"]
    assert first["evidence"]["quick_mean"] < 0
    assert first["evidence"]["heard"] is None, "nothing was heard yet"
    text = document.read_text("utf-8")
    assert "kept" in text
    assert TITLE in text
    assert "| es | all | 3 |" in text
    assert "reference  " in capsys.readouterr().out


def test_what_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.toml"
    own.write_text(ENTRY, "utf-8")
    assert main(["--sentences", str(own), "--lang", "es", "--kind", "nothing"]) == 2
    assert "There are: number." in capsys.readouterr().err
    assert main(["--sentences", str(tmp_path / FILE.name)]) == 2
    assert "No such file" in capsys.readouterr().err

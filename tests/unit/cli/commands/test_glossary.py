"""The command `glossary`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.main import main


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARK_TRANSLATE__SESSION__DIRECTORY", str(tmp_path))


def test_entries_are_listed_the_churchs_own_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "glossary.en-es.toml"
    own.write_text('[[term]]\nsay = "yoke room"\nwrite = "Sala Yugo"\n')
    assert main(["glossary", "list", "yugo"]) == 0
    out = capsys.readouterr().out
    assert "the church" in out
    assert "1 of " in out
    assert str(own) in out
    assert main(["glossary", "list", "covenant"]) == 0
    out = capsys.readouterr().out
    assert "alianza" in out
    # Of an entry with many exceptions only those with the word.
    assert "membership covenant" in out
    assert "heaven help" not in out


def test_a_broken_file_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "glossary.en-es.toml").write_text("term = 3")
    assert main(["glossary", "list"]) == 1
    assert "[dictionary-wrong-type]" in capsys.readouterr().err


def test_a_sentence_without_church_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["glossary", "try", "Good morning."]) == 0
    assert "No word" in capsys.readouterr().out


@pytest.mark.slow
def test_a_sentence_is_tried_in_both_translators(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["glossary", "try", "Sanctification is slow, it is messy."]) == 0
    out = capsys.readouterr().out
    assert "marian, without:" in out
    assert "gemma, with:" in out
    assert "santificación" in out

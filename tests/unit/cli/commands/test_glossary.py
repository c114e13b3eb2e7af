"""The command `glossary`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Cli


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARK_TRANSLATE__SESSION__DIRECTORY", str(tmp_path))


def test_entries_are_listed_the_churchs_own_marked(tmp_path: Path, cli: Cli) -> None:
    own = tmp_path / "glossary.en-es.toml"
    own.write_text('[[term]]\nsay = "yoke room"\nwrite = "Sala Yugo"\n')
    out = cli("glossary list yugo").out
    assert "the church" in out
    assert "1 of " in out
    assert str(own) in out
    out = cli("glossary list covenant").out
    assert "alianza" in out
    # Of an entry with many exceptions only those with the word.
    assert "membership covenant" in out
    assert "heaven help" not in out


def test_a_broken_file_is_explained(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "glossary.en-es.toml").write_text("term = 3")
    assert "[dictionary-wrong-type]" in cli("glossary list", code=1).err


def test_a_sentence_without_church_words(cli: Cli) -> None:
    assert "No word" in cli("glossary try", "Good morning.").out


@pytest.mark.slow
def test_a_sentence_is_tried_in_both_translators(cli: Cli) -> None:
    out = cli("glossary try", "Sanctification is slow, it is messy.").out
    assert "marian, without:" in out
    assert "gemma, with:" in out
    assert "santificación" in out

"""The glossaries in force: files, operators' entries, and entries for one service."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.loader import load
from pipeline.core.errors import DictionaryError
from pipeline.dictionary.store import Dictionary

NOW = datetime(2026, 11, 22, 9, 41, tzinfo=UTC)
OWN = '# ours\n[[term]]\nsay = "covenant"\nwrite = "alianza"\n'


def dictionary(directory: Path, **flags: Any) -> Dictionary:
    return Dictionary(load(flags={"session.directory": str(directory), **flags}).settings)


def written(made: Dictionary, text: str = "the covenant", target: str = "es") -> list[str]:
    return [term.forms[0] for term in made.glossaries.of(target).find(text)]


@pytest.mark.slow
def test_the_churchs_own_file_wins_and_is_watched(tmp_path: Path) -> None:
    made = dictionary(tmp_path)
    assert written(made) == ["pacto"]
    assert not made.changed()
    own = made.glossaries.own("es")
    assert own == tmp_path / "glossary.en-es.toml"
    own.write_text(OWN)
    assert made.changed()
    made.take(dictionary(tmp_path))
    assert written(made) == ["alianza"]
    own.write_text(OWN.replace("alianza", "convenio"))
    os.utime(own, (1, 1))
    assert made.changed()
    made.take(dictionary(tmp_path))
    assert written(made) == ["convenio"]


def test_an_entry_is_appended_to_the_churchs_file_and_taken_back(tmp_path: Path) -> None:
    made = dictionary(tmp_path)
    term, text = made.glossaries.add("es", "covenant", "alianza", NOW)
    assert (term.say, term.write) == (("covenant",), ("alianza",))
    assert "2026-11-22 at 09:41" in made.glossaries.own("es").read_text()
    assert written(made) == written(dictionary(tmp_path)) == ["alianza"]
    with pytest.raises(DictionaryError, match="already"):
        made.glossaries.add("es", "Covenant", "pacto", NOW)
    made.glossaries.remove("es", text)
    assert written(made) == ["pacto"]
    with pytest.raises(DictionaryError) as raised:
        made.glossaries.remove("es", text)
    assert raised.value.code == "dictionary-rule-gone"


@pytest.mark.slow
def test_what_is_held_goes_before_files_and_survives_a_reload(tmp_path: Path) -> None:
    (tmp_path / "glossary.en-es.toml").write_text(OWN)
    made = dictionary(tmp_path)
    term = made.glossaries.hold("es", "covenant", "convenio")
    assert written(made) == ["convenio"]
    made.take(dictionary(tmp_path))
    assert written(made) == ["convenio"]
    assert made.glossaries.held("es") == (term,)
    assert written(dictionary(tmp_path)) == ["alianza"]  # the held term was for that service only
    made.glossaries.release("es", term)
    assert written(made) == ["alianza"]


def test_holding_a_word_again_replaces_its_rendering(tmp_path: Path) -> None:
    made = dictionary(tmp_path)
    made.glossaries.hold("es", "covenant", "convenio")
    made.glossaries.hold("es", "covenant", "alianza")
    assert written(made) == ["alianza"]
    assert len(made.glossaries.held("es")) == 1


def test_each_target_language_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "glossary.en-fr.toml").write_text('[[term]]\nsay = "grace"\nwrite = "grâce"\n')
    made = dictionary(tmp_path)
    assert written(made, "grace", "fr") == ["grâce"]
    assert written(made, "grace", "es") == ["gracia"]
    assert written(made, "grace", "de") == []
    made.glossaries.hold("de", "grace", "Gnade")
    assert written(made, "grace", "de") == ["Gnade"]


def test_switched_off_there_is_none(tmp_path: Path) -> None:
    made = dictionary(tmp_path, **{"church.glossary": False})
    assert written(made) == []
    assert made.glossaries.files == []
    with pytest.raises(DictionaryError, match="switched off"):
        made.glossaries.hold("es", "covenant", "alianza")


def test_a_mistake_in_another_languages_file_refuses_no_entry(tmp_path: Path) -> None:
    """If the refusal came after the write, a second try would add the entry twice."""
    made = dictionary(tmp_path)
    (tmp_path / "glossary.en-fr.toml").write_text("term = [")
    _, text = made.glossaries.add("es", "covenant", "alianza", NOW)
    assert written(made) == ["alianza"]
    assert made.glossaries.own("es").read_text() == text
    made.glossaries.remove("es", text)
    assert written(made) == ["pacto"]

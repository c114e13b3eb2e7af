"""The step that makes a training mix, on files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from pipeline.core.errors import LearningError
from pipeline.dictionary.glossary import Term
from pipeline.dictionary.rules import Rule
from pipeline.learning.data.collect import CollectSettings, collect
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.mix.mix import MixSettings
from pipeline.learning.mix.mix_files import HELD_OUT, TRAIN, Sources, is_held_out, mix
from tests.support.services import GOOD, decide, hold

LANGS = ("en", "es")
SMALL = MixSettings(pairs=100, general=5, prefixes=0, terms=0, heard=0, several=0)


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    sentences = [
        replace(GOOD, source=f"This is sentence {n}.", target=f"Esta es la frase {n}.")
        for n in range(40)
    ]
    folder = hold(tmp_path / "sessions", sentences)
    for key in range(1, 41):
        decide(folder, key, "approved", f"This is sentence {key - 1}.", f"Esta es la {key - 1}.")
    made = DataFolder(tmp_path / "learning")
    with made.hold():
        collect(made, [folder], CollectSettings(rules=()))
    return made


def sources(tmp_path: Path) -> Sources:
    (tmp_path / "glossary.tsv").write_text("grace\tgracia\n")
    (tmp_path / "general.tsv").write_text("Good day.\tBuen día.\nGood night.\tBuenas noches.\n")
    (tmp_path / "test.tsv").write_text("Good night!\tBuenas noches.\n")
    return Sources(
        glossary=tmp_path / "glossary.tsv",
        ships=False,
        general=tmp_path / "general.tsv",
        not_in=[tmp_path / "test.tsv"],
    )


def lines(path: Path) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_what_people_vouch_for_is_divided_once_and_for_all(
    data: DataFolder, tmp_path: Path
) -> None:
    out = tmp_path / "mix"
    made, held = mix(data, out, sources(tmp_path), SMALL, LANGS)
    assert 0 < held < 20
    held_out = {line["en"] for line in lines(out / HELD_OUT)}
    trained = {line["en"] for line in lines(out / TRAIN)}
    assert len(held_out) == held
    assert held_out & trained == set()
    assert "Good day." in trained
    assert "Good night." not in trained, "it is in a test"
    assert held_out == {pair.text for pair in data.pairs() if is_held_out(pair)}
    first = lines(out / TRAIN)[0]
    assert set(first) == {"en", "es", "part", "weight"}
    manifest = orjson.loads((out / "manifest.json").read_bytes())
    assert manifest["figures"]["parts"] == made.parts
    assert {each["file"] for each in manifest["inputs"]} >= {"general.tsv", "pairs.jsonl"}


def test_what_is_held_out_is_of_the_mix_s_languages(data: DataFolder, tmp_path: Path) -> None:
    """A trainer could not read a line without its language, and the mix counted as broken."""
    here = data.pairs()
    elsewhere = [replace(p, target_lang="fr", translation="Voici une phrase.") for p in here]
    data.write_pairs("pairs.jsonl", [*here, *elsewhere])
    _, held = mix(data, tmp_path / "mix", Sources(ships=False), SMALL, LANGS)
    found = lines(tmp_path / "mix" / HELD_OUT)
    assert len(found) == held == sum(map(is_held_out, here))
    assert all("es" in line for line in found)


def test_a_dry_run_writes_nothing(data: DataFolder, tmp_path: Path) -> None:
    made, _ = mix(data, tmp_path / "mix", sources(tmp_path), SMALL, LANGS, dry_run=True)
    assert made.parts["sermon"]
    assert not (tmp_path / "mix").exists()


def test_nothing_to_learn_from_and_other_languages_alone_are_told(
    data: DataFolder, tmp_path: Path
) -> None:
    for each in (data, DataFolder(tmp_path / "none")):
        with pytest.raises(LearningError) as raised:
            mix(each, tmp_path / "mix", Sources(), SMALL, ("en", "de"))
        assert raised.value.code == "mix-empty"


def test_a_place_that_cannot_be_written_is_told(data: DataFolder, tmp_path: Path) -> None:
    (tmp_path / "mix").write_text("in the way")
    with pytest.raises(LearningError) as raised:
        mix(data, tmp_path / "mix", sources(tmp_path), SMALL, LANGS)
    assert raised.value.code == "learning-unwritable"


@pytest.mark.slow
def test_what_ships_makes_a_mix_with_its_shares(tmp_path: Path) -> None:
    terms = (Term("grace", ("grace",), ("gracia",)),)
    rules = (Rule("god", ("gourd",), "God"),)
    asked = MixSettings(pairs=200, general=20)
    given = Sources(terms=terms, rules=rules)
    made, _ = mix(DataFolder(tmp_path / "none"), tmp_path / "mix", given, asked, LANGS)
    assert made.parts == {"bible": 140, "sermon": 50, "glossary": 10, "general": 20}
    heard = made.treated["as the dictionary knows"] + made.treated["noise"]
    assert heard / 220 > 0.2

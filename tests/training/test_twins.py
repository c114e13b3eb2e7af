"""No training sentence is too similar to a test sentence."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from training.data import corpora, twins
from training.data.twins import ROOT, measured, triples


def test_a_sentence_that_shares_half_of_its_triples_is_a_twin() -> None:
    held_out = frozenset({triples("We raised ten thousand dollars for the roof.")})
    near, far = "So we raised ten thousand dollars for missions.", "We raised the roof again."
    assert twins.twins([near, far], held_out) == {near}
    assert twins.twins(["Amen!"], frozenset({triples("Amen.")})) == {"Amen!"}


def test_every_set_that_measures_is_read() -> None:
    assert len(measured()) > 240
    assert triples("Welcome, my friends, and good morning.") in measured()


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with corpora.CHURCH_TALK.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.slow
def test_church_talk_is_whole_and_nothing_of_it_is_measured_with(
    rows: list[dict[str, str]],
) -> None:
    assert {tuple(row) for row in rows} == {("en", "es", "fr", "kind")}
    assert [row for row in rows if not all(row.values())] == []
    english = [row["en"] for row in rows]
    assert len({corpora.words(text) for text in english}) > 0.99 * len(english)
    assert twins.twins(english, measured()) == set()


@pytest.mark.slow
def test_every_row_is_learnt_in_both_languages(rows: list[dict[str, str]]) -> None:
    for lang in ("es", "fr"):
        learnt = {
            (pair.en, pair.target)
            for pairs in corpora.written_for_us(lang).values()
            for pair in pairs
        }
        assert {(row["en"], row[lang]) for row in rows} <= learnt


def test_the_command_leaves_twins_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new.tsv"
    line = (ROOT / "training/data/sermon_test.tsv").read_text("utf-8").splitlines()[1]
    file.write_text(f"{line}\nNothing like it at all.\tNada.\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["twins", str(file)])
    assert twins.main() == 0
    printed = capsys.readouterr()
    assert printed.out == "Nothing like it at all.\tNada.\n"
    assert "1 of 2" in printed.err

"""Fitting the judge of finals to individually judged finals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.church.fidelity.doubt import dumped, parsed, shipped
from pipeline.core.resources import bundled
from pipeline.learning.data.acceptance import SHIPPED
from training.train.train_doubt import JUDGED, collected, fitted, hidden, main, read, write


def test_the_judge_that_ships_is_the_one_fitted_to_the_judged_finals() -> None:
    _, finals = read(JUDGED)
    learnt = [each for each in finals if each.label and not each.is_held_out]
    assert dumped(fitted(learnt)) == dumped(shipped())


def test_half_of_the_judged_finals_is_for_measuring_whatever_their_language() -> None:
    _, finals = read(JUDGED)
    held_out = {each.source for each in finals if each.is_held_out}
    assert 0.45 < sum(each.is_held_out for each in finals) / len(finals) < 0.55
    assert not held_out & {each.source for each in finals if not each.is_held_out}


def test_finals_are_written_as_they_were_read(tmp_path: Path) -> None:
    comment, finals = read(JUDGED)
    write(tmp_path / "judged.tsv", comment, finals)
    assert (tmp_path / "judged.tsv").read_text("utf-8") == JUDGED.read_text("utf-8")


def test_a_judge_is_fitted_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, bars = tmp_path / "weights.json", tmp_path / "acceptance.json"
    assert main(["--out", str(out), "--bars", str(bars)]) == 0
    assert parsed(out.read_text()) == shipped()
    assert json.loads(bars.read_text()) == json.loads(bundled(*SHIPPED).read_text())
    assert "AUC" in capsys.readouterr().out


@pytest.mark.slow
def test_a_final_that_is_made_anew_keeps_its_label_only_if_it_is_the_same() -> None:
    first = next(each for each in read(JUDGED)[1] if each.label and each.kind == "sermon")
    same = collected([first], {})[0].final
    unknown = replace(first, source=hidden("A sentence of Tatoeba."))
    made = collected([replace(first, final=same), replace(first, final="Otra cosa."), unknown], {})
    assert [each.label for each in made] == [first.label, "", first.label]
    assert made[2] == unknown

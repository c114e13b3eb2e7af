"""Fitting the judge of finals to errors made by rule."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from pipeline.church.fidelity.doubt import parsed
from training.train import train_doubt
from training.train.train_doubt import SPOILS, main, pairs


def test_every_way_to_spoil_a_translation_changes_it() -> None:
    pair = ("He has 12 sons and loves two.", "Tiene 12 hijos grandes y ama a dos.")
    others = [pair, ("God is good today.", "Dios es bueno siempre hoy."), ("x y", "otro texto más")]
    for kind, spoil in SPOILS.items():
        assert spoil(pair, others, random.Random(1)) != pair[1], kind
    spoilt = SPOILS["another number"](pair, others, random.Random(1))
    assert re.fullmatch(r"Tiene 45 hijos grandes y ama a (?!dos\b)\w+\.", spoilt)


@pytest.mark.slow
def test_right_translations_are_drawn_by_a_fixed_seed() -> None:
    assert pairs(40) == pairs(40)
    assert len(pairs(40)) == 40


@pytest.mark.slow
def test_a_judge_is_fitted_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_doubt, "_WORDS", (5, 9))
    out = tmp_path / "weights.json"
    main(["--pairs", "90", "--out", str(out)])
    assert parsed(out.read_text()).threshold > 0
    assert "AUC" in capsys.readouterr().out

"""Starting the trainers: the commands, and the errors when they cannot start."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.errors import LearningError
from pipeline.learning.training import TrainingOrder, commands, require_trainers, train
from tests.support.needs import needs_train_extra

needs_train_extra()

pytestmark = pytest.mark.train


@pytest.fixture
def order(tmp_path: Path) -> TrainingOrder:
    mix = tmp_path / "mix"
    mix.mkdir()
    (mix / "train.jsonl").write_text("")
    return TrainingOrder(
        role="marian", base=tmp_path / "base", material=mix, out=tmp_path / "out", minutes=2
    )


def test_a_trainer_that_was_cut_off_goes_on(order: TrainingOrder) -> None:
    assert "--resume" not in commands(order)[0]
    order.out.mkdir()
    (order.out / "checkpoint.pt").write_bytes(b"")
    assert "--resume" in commands(order)[0]


def test_a_gemma_of_hugging_face_has_a_trainer_of_its_own(order: TrainingOrder) -> None:
    gemma = replace(order, role="gemma")
    assert "fine_tune_gemma" in commands(gemma)[0][2]
    order.base.mkdir()
    (order.base / "config.json").touch()
    trains, converts = commands(gemma)
    assert "fine_tune_translategemma" in trains[2]
    assert "convert_translategemma" in converts[2]
    assert converts[converts.index("--adapter") + 1] == str(order.out / "adapter")


def test_a_translator_learns_the_language_of_the_settings(order: TrainingOrder) -> None:
    for role in ("marian", "gemma"):
        trains = commands(replace(order, role=role, target="fr"))[0]
        assert trains[trains.index("--target") + 1] == "fr"
    hears = commands(replace(order, role="stt", target="fr"))
    assert not any("--target" in command for command in hears)


def test_a_checkout_and_torch_are_needed_and_said(order: TrainingOrder, tmp_path: Path) -> None:
    require_trainers()
    with pytest.raises(LearningError, match="this is no checkout") as raised:
        train(order, on_line=print, checkout=tmp_path)
    assert raised.value.code == "train-unavailable"


def test_without_a_mix_it_is_told(order: TrainingOrder, tmp_path: Path) -> None:
    with pytest.raises(LearningError) as raised:
        train(replace(order, material=tmp_path / "none"), on_line=print)
    assert raised.value.code == "mix-missing"


def test_a_trainer_that_fails_is_told_with_its_last_words(
    order: TrainingOrder, tmp_path: Path
) -> None:
    place = tmp_path / "checkout" / "training" / "train"
    place.mkdir(parents=True)
    for folder in (place, *place.parents[:2]):
        (folder / "__init__.py").touch()
    (place / "train_marian.py").write_text("print('step 1')\nraise SystemExit('no memory left')\n")
    lines: list[str] = []
    with pytest.raises(LearningError, match="no memory left") as raised:
        train(order, on_line=lines.append, checkout=tmp_path / "checkout")
    assert raised.value.code == "training-failed"
    assert lines[0] == "step 1"
    assert sys.executable in commands(order)[0]

"""Starting the trainers: the commands, and the errors when they cannot start."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.errors import LearningError
from pipeline.learning.manifest import sha256
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


def checkout_of(tmp_path: Path) -> Path:
    """Return a checkout whose trainer only appends its options to a file, and a converter."""
    for folder in ("training", "training/train", "training/export"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "__init__.py").touch()
    told = "import pathlib, sys\nout = pathlib.Path(sys.argv[sys.argv.index('--out') + 1])\n"
    trainer = "print(sys.argv)\n(out / 'checkpoint.pt').write_bytes(b'')\n"
    (tmp_path / "training/train/train_marian.py").write_text(told + trainer)
    (tmp_path / "training/export/export_marian.py").write_text(told + "out.mkdir(exist_ok=True)\n")
    return tmp_path


def test_the_next_month_is_a_training_of_its_own(order: TrainingOrder, tmp_path: Path) -> None:
    """It once went on from the end of the first one: its minutes were over before it began."""
    checkout, lines = checkout_of(tmp_path), list[str]()
    order.base.mkdir()
    base, mix = order.base / "model.bin", order.material / "train.jsonl"
    base.write_bytes(b"1")

    def goes_on() -> bool:
        train(order, on_line=lines.append, checkout=checkout)
        return "--resume" in lines[-1]

    assert not goes_on()
    assert goes_on(), "for longer, on the same mix"
    mix.write_text("more\n")
    assert not goes_on()
    base.write_bytes(b"2")
    assert not goes_on(), "after a deployment"
    mix.write_text("much more\n")

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(order, on_line=interrupt, checkout=checkout)
    mix.write_text("another month\n")
    assert goes_on(), "a service came between"
    trainer = checkout / "training/train/train_marian.py"
    trainer.write_text(trainer.read_text() + "sys.exit(1)\n")
    mix.write_text("and another\n")
    for told in (False, True):
        with pytest.raises(LearningError):
            goes_on()
        assert ("--resume" in lines[-1]) == told
    mix.write_text("the last\n")
    with pytest.raises(LearningError):
        goes_on()
    assert "--resume" not in lines[-1], "its minutes are over, though nothing was learnt"
    assert (order.out / "checkpoint.old").exists()
    trainer.write_text(
        trainer.read_text().replace("sys.exit(1)", "import os; os.kill(os.getpid(), 9)")
    )
    mix.write_text("next year\n")
    for told in (False, True):
        with pytest.raises(LearningError, match=r"-9: .* Start it again"):
            goes_on()
        assert ("--resume" in lines[-1]) == told
        mix.write_text("it was killed, and its minutes are not over\n")


def test_ctrl_c_waits_for_the_checkpoint(order: TrainingOrder, tmp_path: Path) -> None:
    """It once returned at once: the next start met a trainer that was still writing."""
    checkout = checkout_of(tmp_path)
    trainer = checkout / "training/train/train_marian.py"
    saves = "import time\nprint('step')\ntime.sleep(0.5)\nprint('saving')\n"
    trainer.write_text(saves + trainer.read_text())
    order.base.mkdir()

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(order, on_line=interrupt, checkout=checkout)
    assert (order.out / "checkpoint.pt").exists()


def test_a_base_of_gigabytes_is_read_once(
    order: TrainingOrder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, read = checkout_of(tmp_path), list[str]()

    def counted(path: Path) -> str:
        read.append(path.name)
        return sha256(path)

    monkeypatch.setattr("pipeline.learning.training.sha256", counted)
    order.base.mkdir()
    (order.base / "model.bin").write_bytes(b"1")
    for _ in range(2):
        train(order, on_line=lambda _: None, checkout=checkout)
        assert read == ["model.bin", "train.jsonl"]
        read.clear()


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
    assert raised.value.fix.startswith("Mend that first.")
    assert lines[0] == "step 1"
    assert sys.executable in commands(order)[0]

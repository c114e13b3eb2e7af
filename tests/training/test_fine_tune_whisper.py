"""Whisper taught a few names by low-rank additions, converted, and checked to hear the same.

The starter recognizer is the base: a Whisper like any other, but small.
"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import LearningError, ModelError
from pipeline.core.resources import bundled
from pipeline.engines.ctranslate2.whisper import Whisper
from pipeline.learning.data.folder import METADATA
from pipeline.learning.manifest import sha256
from tests.support.disk import small_disk
from tests.support.needs import needs_program, needs_train_extra

needs_train_extra()

import torch  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

from training.data import sound  # noqa: E402
from training.data.spoken_names import FRAMES, NAMES, VOICES, speak_names  # noqa: E402
from training.export import export_whisper  # noqa: E402
from training.models import whisper_model  # noqa: E402
from training.train import fine_tune_whisper as trainer  # noqa: E402
from training.train.training import cosine_at  # noqa: E402

pytestmark = [pytest.mark.train, pytest.mark.slow]

STARTER = bundled("models", "starter", "stt")


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_program("espeak-ng")
    return speak_names(
        tmp_path_factory.mktemp("spoken"), NAMES[:3], FRAMES[:8], VOICES[:1], plain=6
    )


@pytest.fixture(scope="module")
def starter() -> whisper_model.Pretrained:
    pretrained = whisper_model.load(STARTER, "en")
    pretrained.model.eval()
    return pretrained


def options(spoken: Path, out: Path, *more: str) -> list[str]:
    args = ["--base", str(STARTER), "--sound", str(spoken), "--out", str(out), "--threads", "1"]
    return [*args, "--window-s", "4", "--batch", "2", "--evaluate-minutes", "60", *more]


@pytest.fixture(scope="module")
def trained(spoken: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained")
    assert trainer.main(options(spoken, out, "--steps", "8", "--rate", "5e-4")) == 0
    return out


def exported(spoken: Path, run: Path, out: Path) -> list[str]:
    args = ["--base", str(STARTER), "--sound", str(spoken), "--run", str(run), "--out", str(out)]
    return [*args, "--quantization", "int8"]


def test_the_model_that_is_read_back_hears_what_the_program_hears(
    spoken: Path, starter: whisper_model.Pretrained
) -> None:
    engine = Whisper(STARTER, window_s=10, compute_type="float32")
    engine.load()
    for each in sound.read(spoken, "en")[:4]:
        pcm = sound.load(each)
        heard = engine.recognize(pcm, final=False).text
        assert whisper_model.hear(starter, starter.features([pcm], 10)) == [heard]


def test_tokens_of_a_term_count_three_times(starter: whisper_model.Pretrained) -> None:
    text = "We pray for ezekwesili, for Ezekwesilian and Ben."
    tokens, weights = starter.speech.tokens(text, ["Ezekwesili", ""])
    heavy = [t for t, w in zip(tokens, weights, strict=True) if w == 3.0]
    assert starter.speech.text(heavy) == "ezekwesili"
    assert tokens[-1] == starter.speech.end
    assert set(weights) == {1.0, 3.0}


def test_prompts_and_padding_are_no_targets(
    spoken: Path, starter: whisper_model.Pretrained
) -> None:
    short, long = sorted(sound.read(spoken, "en")[:8], key=lambda each: len(each.text))[::7]
    pairs = [(each, sound.load(each)) for each in (short, long)]
    batch = trainer.make_batch(starter, pairs, ["", "Isaiah, Ruth"], 6)
    for row, context in enumerate(("", "Isaiah, Ruth")):
        wanted = batch.targets[row][batch.targets[row] != whisper_model.IGNORED].tolist()
        assert starter.speech.text(wanted[:-1]) == pairs[row][0].text
        assert wanted[-1] == starter.speech.end
        begin = len(starter.speech.prompt(context))
        assert batch.tokens[row][:begin].tolist() == starter.speech.prompt(context)
        assert (batch.targets[row][: begin - 1] == whisper_model.IGNORED).all()
    # Tokens at positions without a target change nothing.
    once = trainer.loss_of(starter.model, batch)
    after = batch.targets[0].ne(whisper_model.IGNORED).nonzero().max().item() + 1
    other = batch.tokens.clone()
    other[0, after:] = 7
    assert after < other.shape[1]
    assert torch.allclose(once, trainer.loss_of(starter.model, replace(batch, tokens=other)))


def test_a_multilingual_model_is_told_language_and_task(whisper_base: Path) -> None:
    tokenizer = Tokenizer.from_file(str(whisper_base / "tokenizer.json"))
    speech = whisper_model.speech_of(whisper_base, tokenizer, "es")
    names = [tokenizer.id_to_token(token) for token in speech.start]
    assert names == ["<|startoftranscript|>", "<|es|>", "<|transcribe|>", "<|notimestamps|>"]
    with pytest.raises(ValueError, match="'xx'"):
        whisper_model.speech_of(whisper_base, tokenizer, "xx")


def test_what_was_learnt_is_heard_better_and_the_best_of_it_is_kept(trained: Path) -> None:
    before = trainer.Score(**json.loads((trained / "before.json").read_text()))
    best = torch.load(trained / "best.pt", weights_only=True)
    assert trainer.Score(best["wer"], best["loss"]).is_better_than(before)
    assert best["loss"] < before.loss
    figures = json.loads((trained / "manifest.json").read_text())["figures"]
    assert figures["best"] == {"wer": best["wer"], "loss": best["loss"]}
    saved = torch.load(trained / "checkpoint.pt", weights_only=False)["model"]
    assert saved.keys() == best["additions"].keys(), "only what learns is saved"


def test_the_converted_model_hears_what_was_learnt(
    trained: Path, spoken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export_whisper.main(exported(spoken, trained, tmp_path / "model")) == 0
    proof = json.loads((tmp_path / "model" / "proof.json").read_text())
    assert proof["differing letters, exact"] <= export_whisper.EXACT_LETTERS
    assert proof["differing letters, saved"] <= export_whisper.SAVED_LETTERS
    assert proof["window_s"] == 4
    assert sha256(tmp_path / "model" / "model.bin") != sha256(STARTER / "model.bin")
    for name in ("tokenizer.json", "config.json"):
        assert (tmp_path / "model" / name).read_bytes() == (STARTER / name).read_bytes()
    engine = Whisper(tmp_path / "model", window_s=4)
    engine.load()
    assert engine.has_alignment
    each = sound.divide(sound.read(spoken, "en")).training[0]
    assert engine.recognize(sound.load(each), final=True).text


def test_a_model_that_hears_otherwise_is_not_put_in_place(
    trained: Path, spoken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = export_whisper.options_of(exported(spoken, trained, tmp_path / "model"))
    convert = export_whisper.convert

    def spoiled(pretrained: Any, *rest: Any) -> None:
        # As if the converter misread a layer: the encoder's last norm is wrong.
        broken = whisper_model.load(STARTER, "en")
        broken.model.model.encoder.layer_norm.weight.data.mul_(0.2)
        convert(replace(pretrained, model=broken.model), *rest)

    monkeypatch.setattr(export_whisper, "convert", spoiled)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine").touch()
    with pytest.raises(ModelError) as error:
        export_whisper.export(parsed)
    assert error.value.code == "conversion-differs"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model" / "mine").exists()


def test_additions_of_another_base_are_refused(trained: Path, spoken: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    settings = json.loads((run / "manifest.json").read_text())
    settings["settings"]["rank"] = 4
    (run / "manifest.json").write_text(json.dumps(settings))
    with pytest.raises(ModelError) as error:
        export_whisper.export(export_whisper.options_of(exported(spoken, run, tmp_path / "model")))
    assert error.value.code == "checkpoint-unreadable"


def test_a_training_goes_on(spoken: Path, trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "on")
    trainer.main(options(spoken, tmp_path / "on", "--steps", "9", "--resume"))
    saved = torch.load(tmp_path / "on" / "checkpoint.pt", weights_only=False)
    assert saved["step"] == 9
    assert (tmp_path / "on" / "before.json").read_bytes() == (trained / "before.json").read_bytes()


def test_where_nothing_was_learnt_it_is_told_and_there_is_no_model(
    spoken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trainer.main(options(spoken, tmp_path, "--steps", "1", "--rate", "1e-12")) != 0
    assert "Nothing was learnt" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "manifest.json").exists()
    assert export_whisper.main(exported(spoken, tmp_path, tmp_path / "model")) != 0
    assert not (tmp_path / "model").exists()


def test_a_training_that_diverges_is_told(
    spoken: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = sha256(STARTER / "model.bin")
    shutil.copytree(trained, tmp_path / "on")
    arguments = options(spoken, tmp_path / "on", "--resume", "--minutes", "60", "--rate", "1e30")
    assert trainer.main(arguments) != 0
    says = " ".join(capsys.readouterr().err.split())
    assert "is no number" in says
    assert "Train with a lower rate" in says
    assert sha256(STARTER / "model.bin") == base


def test_a_broken_recording_is_named_and_left_out(
    spoken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(spoken, tmp_path / "some")
    split = sound.divide(sound.read(tmp_path / "some", "en"))
    split.training[0].file.write_bytes(b"fLaC")
    kept = trainer.readable(split.training)
    assert len(kept) == len(split.training) - 1
    assert f"left out: {split.training[0].file.name}" in capsys.readouterr().out
    for each in split.training:
        each.file.write_bytes(b"")
    assert trainer.main(options(tmp_path / "some", tmp_path / "out")) != 0
    assert "files cannot be used" in capsys.readouterr().err.replace("\n", " ")


def test_a_full_disk_costs_no_earlier_best(spoken: Path, tmp_path: Path) -> None:
    pretrained = whisper_model.load(STARTER, "en")
    parsed = trainer.options_of(options(spoken, tmp_path))
    _, learning = trainer.add_low_rank(pretrained, parsed)
    with small_disk(tmp_path, size="1m"):
        best = tmp_path / "disk" / "best.pt"
        best.write_bytes(b"earlier")
        keeper = trainer.BestKeeper(tmp_path / "none.pt", learning)
        keeper._path = best
        with pytest.raises(ModelError) as error:
            keeper.see(trainer.Score(0.1, 1.0))
        assert error.value.code == "checkpoint-unsaved"
        assert best.read_bytes() == b"earlier"


def test_fewer_word_errors_are_better_and_the_loss_decides_between_equals() -> None:
    assert trainer.Score(0.1, 3.0).is_better_than(trainer.Score(0.2, 1.0))
    assert trainer.Score(0.1, 0.9).is_better_than(trainer.Score(0.1, 1.0))
    assert not trainer.Score(0.1, 1.0).is_better_than(trainer.Score(0.1, 1.0))


def test_the_rate_rises_then_falls_as_a_cosine() -> None:
    rates = [cosine_at(progress / 100) for progress in range(101)]
    assert rates[0] < 0.05
    assert max(rates) == rates[2] == 1.0
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert math.isclose(rates[51], 0.5, abs_tol=0.02)
    assert rates[100] == 0.01


def test_a_gpu_that_torch_cannot_use_is_refused_before_the_sound_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    paths = ["--base", str(tmp_path), "--sound", str(tmp_path / "none"), "--out", str(tmp_path)]
    with pytest.raises(LearningError) as error:
        trainer.run(trainer.options_of([*paths, "--device", "cuda"]))
    assert error.value.code == "gpu-unavailable"


def test_a_folder_that_is_no_whisper_is_refused(spoken: Path, tmp_path: Path) -> None:
    for base in (bundled("models", "starter", "marian"), tmp_path):
        with pytest.raises(ModelError) as error:
            whisper_model.load(base, "en")
        assert error.value.code == "pretrained-unfit"
    assert METADATA in {path.name for path in spoken.iterdir()}

"""The commands `learn translate`, `hear` and `distill`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.model_servers import free_port
from tests.support.needs import needs_module, needs_train_extra

pytestmark = pytest.mark.usefixtures("elsewhere", "own_final_model")


def test_translate_says_what_it_would_run(cli: Cli) -> None:
    command = ["learn", "translate", "--dry-run", "--data", "learning", "--minutes", "5"]
    trains, converts = cli(*command).out.splitlines()
    assert "training.train.train_marian --init" in trains
    assert f"--mix {Path('learning/mix').absolute()}" in trains
    assert "export_marian" in converts
    trains, converts = cli(*command, "--role", "gemma").out.splitlines()
    assert "gemma/model.gguf --mix" in trains  # from the file in use
    assert "gemma/model.gguf --target es" in converts
    assert "--base" in cli(*command, "--role", "gemma", "--base", "cut", code=1).err
    Path("cut").mkdir()
    assert "fine_tune_gemma --base" in cli(*command, "--role", "gemma", "--base", "cut").out
    few = ["--role", "gemma", "--base", "cut", "--steps", "9", "--levels", "Q8_0"]
    trains, converts = cli(*command, *few, "--sentences", "5").out.splitlines()
    assert trains.endswith("--steps 9 --target es")
    assert converts.endswith("--levels Q8_0 --sentences 5")


def test_a_language_does_not_begin_from_a_marian_without_it(
    cli: Cli,
) -> None:
    Path("config.toml").write_text('[translate]\ntarget = "de"\n')
    command = ["learn", "translate", "--dry-run", "--data", "learning"]
    assert "translate.partial.model: starter translates en-es, en-fr" in cli(*command, code=78).err
    refused = cli(*command, "--base", "starter", code=78).err
    assert "--base: starter translates en-es, en-fr" in refused
    own = Path("marian")
    own.mkdir()
    for name in ("model.bin", "config.json", "source.spm", "target.spm"):
        (own / name).touch()
    assert "--target de" in cli(*command, "--base", "marian").out.splitlines()[0]
    assert "--target de" in cli("learn distill --dry-run --data learning --base marian").out


def test_hear_trains_as_the_program_hears(cli: Cli) -> None:
    Path("config.toml").write_text("[stt]\nhotwords = true\nwindow_s = 7\n")
    trains, converts = cli("learn hear --dry-run --data learning --steps 9").out.splitlines()
    assert "training.train.fine_tune_whisper --base" in trains
    assert f"--sound {Path('learning/audio').absolute()}" in trains
    assert "--lang en --window-s 7 --context " in trains
    assert "sanctification" in trains
    assert "--steps 9" in trains
    assert "training.export.export_whisper" in converts
    assert not Path("learning").exists()


def test_only_whisper_learns_to_hear(cli: Cli) -> None:
    needs_module("moonshine_voice")
    Path("config.toml").write_text('[stt]\nengine = "moonshine"\nmodel = "."\n')
    refused = cli("learn hear --dry-run --data learning", code=78).err
    assert "only Whisper can learn to hear here" in refused


@pytest.mark.train
def test_hear_without_sound_says_how_to_get_some(cli: Cli) -> None:
    needs_train_extra()
    output = cli("learn hear --data learning", code=1).err
    assert "[sound-missing]" in output
    assert "session.keep_audio" in output


ASKED = ["learn", "distill", "--data", "learning"]


def test_distill_says_what_it_would_run(cli: Cli) -> None:
    teaches, trains, _ = cli(*ASKED, "--dry-run", "--steps", "7").out.splitlines()
    assert "starter would teach learning/mix" in teaches
    assert f"--mix {Path('learning/distill/mix').absolute()}" in trains
    assert "--steps 7 --target es" in trains
    second = Path("learning/distill/model")
    second.mkdir(parents=True)
    for name in ("model.bin", "config.json", "source.spm", "target.spm"):
        (second / name).touch()
    trains = cli(*ASKED, "--dry-run", "--round", "2").out.splitlines()[1]
    assert f"--init {second.absolute()}" in trains
    assert f"--mix {Path('learning/distill/sermons/mix').absolute()}" in trains


def test_nobody_teaches_itself(cli: Cli) -> None:
    for itself in (["--student", "gemma"], ["--set", "translate.final.engine=marian"]):
        assert "[teacher-unnamed]" in cli(*ASKED, "--dry-run", *itself, code=2).err
    teaches, trains, converts = cli(
        *ASKED, "--dry-run", "--student", "gemma", "--teacher", "tiny"
    ).out.splitlines()
    assert "tiny would teach" in teaches
    assert "training.train.fine_tune_gemma --base" in trains
    assert f"--mix {Path('learning/distill-gemma/mix').absolute()}" in trains
    assert "training.export.export_gemma" in converts


def on_server() -> list[str]:
    """Return the options for a teacher on a server that is not there."""
    teacher = {
        "servers.gpu.url": f"http://127.0.0.1:{free_port()}/v1",
        "translate.final.engine": "openai",
        "translate.final.server": "gpu",
    }
    sets = [word for key, value in teacher.items() for word in ("--set", f"{key}={value}")]
    return [*sets, "--teacher", "gemma-12b"]


def test_a_server_may_teach(cli: Cli) -> None:
    teaches, trains, _ = cli(*ASKED, *on_server(), "--dry-run").out.splitlines()
    assert "gemma-12b would teach learning/mix" in teaches
    assert "--init" in trains, "the student is the draft translator all the same"


@pytest.mark.train
def test_a_server_that_is_not_there_is_told_at_once(cli: Cli) -> None:
    needs_train_extra()
    assert "[teacher-gone]" in cli(*ASKED, *on_server(), code=1).err
    assert not Path("learning").exists()

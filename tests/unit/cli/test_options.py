"""Options that become settings."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from pipeline.cli.options import add_command, add_languages, assignment, number, settings_of
from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError
from tests.support.cli import Cli


def loaded(*words: str) -> Settings:
    parser = argparse.ArgumentParser()
    run = add_command(parser.add_subparsers(), "run", lambda _: 0, "Caption a service.")
    add_languages(run)
    return settings_of(parser.parse_args(["run", *words])).settings


pytestmark = pytest.mark.usefixtures("elsewhere")


def test_languages_and_recognizer_can_be_said_at_the_start() -> None:
    settings = loaded("--from", "es", "--to", "en, fr,de", "--recognizer", "whisper-small")
    assert settings.translate.source == "es"
    assert settings.translate.langs == ("en", "fr", "de")
    assert settings.stt.model == "Systran/faster-whisper-small"


def test_the_home_stands_for_itself_in_every_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own.toml").write_text('[session]\ndirectory = "~/sermons"\n')
    assert loaded("--config=~/own.toml").session.directory == str(tmp_path / "sermons")


def test_one_language_takes_the_place_of_all_in_the_file() -> None:
    Path("config.toml").write_text(
        '[translate]\ntarget = "es"\n[[translate.targets]]\nlang = "fr"\n'
    )
    assert loaded().translate.langs == ("es", "fr")
    assert loaded("--to", "fr").translate.langs == ("fr",)


def test_any_key_can_be_set_as_in_the_file_or_as_plain_text() -> None:
    settings = loaded(
        "--set", "vad.hold_ms=0", "--set", "audio.device=USB Audio", "--set", 'log.level="debug"'
    )
    assert settings.vad.hold_ms == 0
    assert settings.audio.device == "USB Audio"
    assert settings.log.level == "debug"
    with pytest.raises(ConfigError, match=r"command line: vad\.holdms: unknown key"):
        loaded("--set", "vad.holdms=0")


@pytest.mark.parametrize(
    ("command", "option", "says"),
    [
        *((command, "--input", "no file was given") for command in ("run", "dry-run", "check")),
        *((command, "--to", "no language was given") for command in ("run", "setup")),
    ],
)
def test_an_option_without_a_value_is_not_the_default(
    command: str, option: str, says: str, cli: Cli
) -> None:
    """The variable of a script was empty, and the room was recorded."""
    assert f"argument {option}: {says}" in cli(command, option, "", code=2).err


@pytest.mark.parametrize("typed", ["0.4", "9.1", "nan", "many", ""])
def test_a_number_out_of_its_range_is_refused(typed: str) -> None:
    with pytest.raises(
        argparse.ArgumentTypeError, match=f"'{typed}' is no number between 0.5 and 9"
    ):
        number(float, 0.5, 9)(typed)
    assert number(float, 0.5, 9)("0.5") == 0.5


def test_a_value_that_is_no_toml_is_text() -> None:
    assert assignment("vad.hold_ms=20") == ("vad.hold_ms", 20)
    assert assignment("stt.model = tiny") == ("stt.model", " tiny")
    long = "1" * 5000  # Python makes no number of it
    assert assignment(f"vad.hold_ms={long}") == ("vad.hold_ms", long)

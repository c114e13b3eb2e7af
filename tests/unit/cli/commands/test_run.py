"""`run`, `dry-run` and `demo`, as far as they go without a second process."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.commands.run import STARTER
from pipeline.cli.main import main
from pipeline.config.loader import leaves
from pipeline.config.schema import Settings


def test_the_demo_sets_keys_that_exist() -> None:
    assert set(STARTER) <= {path for path, _ in leaves(Settings().model_dump())}


@pytest.mark.parametrize("command", ["run", "dry-run"])
def test_a_file_that_is_not_there_ends_it_with_its_name(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command, "--input", "nowhere.wav", "--port", "0"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("stark-translate: ")
    assert "nowhere.wav" in last
    assert last.endswith("[audio-missing]")


def test_a_service_is_not_compared_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE", "marian")
    for command, told in (("run", True), ("dry-run", False)):
        assert main([command, "--input", "nowhere.wav", "--port", "0"]) == 1
        assert ("translate.compare is for rehearsals" in capsys.readouterr().err) is told


def test_a_second_translator_that_is_not_there_is_named_by_its_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE", "gemma")
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__MODEL", "/nowhere/other.gguf")
    assert main(["dry-run", "--input", "nowhere.wav", "--port", "0"]) == 1
    said = capsys.readouterr().err
    assert "translate.compare.model" in said
    assert "translate.final" not in said

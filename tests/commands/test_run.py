"""`run`, `dry-run` and `demo`, as far as they go without a second process."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.commands.run import STARTER
from pipeline.config import Settings
from pipeline.config_layers import leaves


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

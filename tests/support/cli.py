"""Run commands in this process, where other tests prove the wiring of the real program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.cli.main import main


def told(
    capsys: pytest.CaptureFixture[str],
    *arguments: str,
    cwd: Path,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `scripts.support.program.call` does so in its own process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        for name in [name for name in os.environ if name.startswith("STARK_TRANSLATE__")]:
            patch.delenv(name)
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as end:  # argparse raises it
            code = int(end.code or 0)
    out, err = capsys.readouterr()
    return subprocess.CompletedProcess(arguments, code, out, err)


class Said(NamedTuple):
    """What a command has printed."""

    out: str
    err: str


class Cli:
    """Runs commands in the folder and with the environment that the test has."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, words: str, *more: str, code: int = 0) -> Said:
        """Run a command, which must end with `code`; its first `words` are split at spaces."""
        self._capsys.readouterr()
        try:
            ended = main([*words.split(), *more])
        except SystemExit as end:  # argparse raises it
            ended = int(end.code or 0)
        said = Said(*self._capsys.readouterr())
        assert ended == code, said
        return said

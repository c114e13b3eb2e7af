"""Commands in this process, with what they print."""

from __future__ import annotations

import pytest

from tests.support.cli import Cli


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)

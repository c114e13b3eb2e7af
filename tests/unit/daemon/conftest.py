"""The coordinator that most tests of the daemon's parts work with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.coordinator import CoordinatorFixture


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[CoordinatorFixture]:
    """Yield a fixture that records; close its recorder afterwards."""
    made = CoordinatorFixture(tmp_path)
    yield made
    made.recorder.close(5)

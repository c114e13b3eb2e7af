"""The real program, killed and restarted: nothing that was shown is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from scripts.reliability.crash_recovery import kill_again_and_again

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_killed_twice_it_goes_on_with_everything_that_was_shown(tmp_path: Path) -> None:
    kills = kill_again_and_again(2, tmp_path, random.Random(2), longest_s=7.0)
    assert [kill.missing for kill in kills] == [(), ()]
    assert kills[-1].history > 0
    folders = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert len(folders) == 1, "one session through all of it"

"""How loud samples are."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.audio.level import FLOOR_DBFS, level_dbfs, peak_dbfs


def test_a_full_scale_sine_is_three_db_below_its_peak() -> None:
    sine = np.sin(np.arange(16_000) * 2 * np.pi * 440 / 16_000).astype(np.float32)
    assert peak_dbfs(sine) == pytest.approx(0.0, abs=0.01)
    assert level_dbfs(sine) == pytest.approx(-3.01, abs=0.01)
    assert level_dbfs(sine / np.float32(10)) == pytest.approx(-23.01, abs=0.01)


@pytest.mark.parametrize("count", [0, 1, 512])
def test_silence_and_nothing_read_the_floor(count: int) -> None:
    assert level_dbfs(np.zeros(count, np.float32)) == FLOOR_DBFS
    assert peak_dbfs(np.zeros(count, np.float32)) == FLOOR_DBFS

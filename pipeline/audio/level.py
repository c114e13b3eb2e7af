"""Loudness of samples: root mean square and peak, in dBFS. Pure."""

from __future__ import annotations

import numpy as np

from pipeline.core.reports import Level
from pipeline.core.types import Pcm

FLOOR_DBFS = -120.0
"""The level of silence, for which the logarithm has no value."""

CLIPPED = 0.999
"""Samples at or above this share of full scale count as clipped."""


def level_dbfs(pcm: Pcm) -> float:
    """Return the root mean square of `pcm` in dB below full scale, at least FLOOR_DBFS."""
    return _dbfs(float(np.sqrt(np.mean(np.square(pcm, dtype=np.float64)))) if pcm.size else 0.0)


def peak_dbfs(pcm: Pcm) -> float:
    """Return the largest sample of `pcm` in dB below full scale, at least FLOOR_DBFS."""
    return _dbfs(float(np.max(np.abs(pcm))) if pcm.size else 0.0)


def measure(pcm: Pcm, *, speaking: bool) -> Level:
    """Return the level of `pcm`, shape (n,) with n above 0."""
    # One such sample is enough: how loud it really was is lost.
    clipped = bool(np.max(np.abs(pcm)) >= CLIPPED)
    return Level(level_dbfs(pcm), peak_dbfs(pcm), clipped, speaking)


def _dbfs(amplitude: float) -> float:
    # The smallest argument is -240 dBFS, below the floor, and keeps log10 from 0.
    return max(FLOOR_DBFS, 20.0 * float(np.log10(max(amplitude, 1e-12))))

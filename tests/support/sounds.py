"""Recordings that nobody should make, and what a session made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from scripts.support.program import SERMON


def speech(duration_s: float) -> NDArray[np.float32]:
    """Return the beginning of the demo sermon, 16 kHz."""
    pcm, _ = soundfile.read(SERMON, frames=round(16_000 * duration_s), dtype="float32")
    return np.asarray(pcm, np.float32)


def wav(path: Path, samples: Any, rate: int = 16_000, subtype: str = "FLOAT") -> Path:
    """Write samples, shape (n,) or (n, channels)."""
    soundfile.write(path, np.asarray(samples, np.float32), rate, subtype=subtype)
    return path

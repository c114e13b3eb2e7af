"""Bad recordings, and what a session makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from pipeline.core.types import Pcm
from scripts.support.program import SERMON


def speech(duration_s: float) -> NDArray[np.float32]:
    """Return the beginning of the demo sermon, 16 kHz."""
    pcm, _ = soundfile.read(SERMON, frames=round(16_000 * duration_s), dtype="float32")
    return np.asarray(pcm, np.float32)


def sermon_sentences(count: int) -> list[tuple[Pcm, str]]:
    """Return the sound and text of the demo sermon's first sentences."""
    pcm, rate = soundfile.read(SERMON, dtype="float32")
    sentences = json.loads(SERMON.with_suffix(".json").read_text())["sentences"][:count]
    return [
        (pcm[int((each["start_s"] - 0.2) * rate) : int((each["end_s"] + 0.3) * rate)], each["en"])
        for each in sentences
    ]


def wav(path: Path, samples: Any, rate: int = 16_000, subtype: str = "FLOAT") -> Path:
    """Write samples, shape (n,) or (n, channels)."""
    soundfile.write(path, np.asarray(samples, np.float32), rate, subtype=subtype)
    return path

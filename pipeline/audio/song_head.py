"""Whether two seconds of sound are speech or song: a linear head on their features."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.audio.song_features import SongFeatures
from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.core.types import Pcm

KINDS = ("speech", "song", "other")


@dataclass(frozen=True, slots=True)
class SongHead:
    """Logistic regression over three kinds of sound; weights as `training` fits them."""

    weights: NDArray[np.float32]
    """Shape (features, kinds)."""
    bias: NDArray[np.float32]

    def song(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probability of song, 0..1, of features of shape (..., n)."""
        logits = features @ self.weights + self.bias
        # Less the largest: exp of a large number is infinite, and the shares stay the same.
        odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
        # 1 is the place of song in KINDS.
        return np.asarray(odds[..., 1] / odds.sum(axis=-1))


def read_song_head(path: Path | None = None) -> SongHead:
    """Read the head that ships with the program. Raises ModelError (model-missing, -broken)."""
    path = path or bundled("models", "song", "head.json")
    fix = "It comes with the program: install it again."
    try:
        said = json.loads(path.read_text("utf-8"))
        head = SongHead(np.array(said["weights"], np.float32), np.array(said["bias"], np.float32))
    except FileNotFoundError:
        raise ModelError("model-missing", f"{path}: the song detector is not there.", fix) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError("model-broken", f"{path} has no song detector: {error}", fix) from error
    # A head of another version would give numbers, and mean nothing.
    if head.weights.shape != (SongFeatures.COUNT, len(KINDS)) or head.bias.shape != (len(KINDS),):
        raise ModelError("model-broken", f"{path} is for other features than these.", fix)
    return head


class LinearSongDetector:
    """A SongDetector: says every quarter of a second how likely the last two are song."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._head: SongHead | None = None
        self._features = SongFeatures()

    def load(self) -> None:
        """Read the head. Raises ModelError (model-missing, model-broken)."""
        self._head = read_song_head(self._path)

    def probability(self, pcm: Pcm, speech: float) -> float | None:
        """Take a block, shape (512,), with the voice detector's probability; None between looks."""
        features = self._features.push(pcm, speech)
        if features is None or self._head is None:
            return None
        return float(self._head.song(features))

    def reset(self) -> None:
        """Forget what was heard, after a gap."""
        self._features.reset()

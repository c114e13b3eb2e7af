"""Classify two seconds of audio as speech or song, with a linear head on their features."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, Pcm

WINDOW_BLOCKS = 64
"""Blocks of one window: 2.05 s."""
STEP_BLOCKS = 8
"""Blocks between two windows: 0.26 s."""
WINDOW_S = WINDOW_BLOCKS * BLOCK_SAMPLES / SAMPLE_RATE
STEP_S = STEP_BLOCKS * BLOCK_SAMPLES / SAMPLE_RATE

_MEL_FFT = 1024
_FINE_FFT = 2048
_MELS = 24
_MEL_HZ = (60.0, 7600.0)
_NOTES_HZ = (80.0, 2560.0)
_NOTES_AN_OCTAVE = 24
_FLOOR = 1e-9
"""Power that counts as silence: -90 dB."""
_SMOOTH = 3
"""Quarter tones on each side that a peak is compared with."""
_LAGS = (2, 4, 8, 16)
"""Blocks after which the fine structure is compared with itself: 64 to 512 ms."""
_MODULATIONS_HZ = (0.4, 1.2, 2.4, 4.0, 6.5, 10.0, 15.6)
_BEATS = slice(6, 36)
"""Blocks between beats: 0.19 to 1.1 s."""
_GROUPS = 4
"""Ranges of bands whose modulations are averaged."""
_MEL_WINDOW = np.hanning(_MEL_FFT).astype(np.float32)
_FINE_WINDOW = np.hanning(_FINE_FFT).astype(np.float32)
_MODULATION_BINS = np.digitize(
    np.fft.rfftfreq(WINDOW_BLOCKS, BLOCK_SAMPLES / SAMPLE_RATE), _MODULATIONS_HZ
)
KINDS = ("speech", "song", "other")


def _mel(hz: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(2595.0 * np.log10(1.0 + hz / 700.0))


def _mel_filters() -> NDArray[np.float32]:
    """Return triangles, shape (mels, bins)."""
    low, high = _mel(np.array(_MEL_HZ))
    edges = 700.0 * (10.0 ** (np.linspace(low, high, _MELS + 2) / 2595.0) - 1.0)
    hz = np.fft.rfftfreq(_MEL_FFT, 1 / SAMPLE_RATE)
    rising = (hz - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - hz) / (edges[2:] - edges[1:-1])[:, None]
    return np.clip(np.minimum(rising, falling), 0.0, None).astype(np.float32)


def _note_bins() -> NDArray[np.intp]:
    """Return the bin of the fine spectrum at each quarter tone."""
    count = int(_NOTES_AN_OCTAVE * np.log2(_NOTES_HZ[1] / _NOTES_HZ[0]))
    hz = _NOTES_HZ[0] * 2.0 ** (np.arange(count) / _NOTES_AN_OCTAVE)
    return np.unique(np.round(hz * _FINE_FFT / SAMPLE_RATE).astype(np.intp))


_FILTERS = _mel_filters()
_NOTES = _note_bins()
_SPLIT = len(_NOTES) // 2


class SongFeatures:
    """Takes blocks and computes features of the last two seconds every quarter of a second."""

    # The head was fitted with this number and order; `read_song_head` checks the number.
    COUNT = 112

    def __init__(self) -> None:
        self._past: Pcm = np.zeros(_FINE_FFT, np.float32)
        self._mels = np.zeros((WINDOW_BLOCKS, _MELS), np.float32)
        self._tones = np.zeros((WINDOW_BLOCKS, 2, _SPLIT), np.float32)
        self._peaks = np.zeros((WINDOW_BLOCKS, 2), np.float32)
        self._speech = np.zeros(WINDOW_BLOCKS, np.float32)
        self._taken = 0

    def reset(self) -> None:
        """Forget the audio so far, after a gap."""
        self._past[:] = 0.0
        # The rows need no reset: all are overwritten before any is used.
        self._taken = 0

    def push(self, pcm: Pcm, speech: float) -> NDArray[np.float32] | None:
        """Take a block, shape (512,), and the voice detector's probability for it.

        Return the features, shape (n,), when they are due and two seconds have been heard.
        """
        self._past[:-BLOCK_SAMPLES] = self._past[BLOCK_SAMPLES:]
        self._past[-BLOCK_SAMPLES:] = pcm
        at = self._taken % WINDOW_BLOCKS
        # Two windows with the same end: 64 ms follow fast changes, 128 ms separate notes.
        power = np.abs(np.fft.rfft(self._past[-_MEL_FFT:] * _MEL_WINDOW)) ** 2 / _MEL_FFT
        self._mels[at] = np.log10(_FILTERS @ power.astype(np.float32) + _FLOOR)
        fine = np.abs(np.fft.rfft(self._past * _FINE_WINDOW)) ** 2 / _FINE_FFT
        self._tones[at], self._peaks[at] = _fine_structure(np.log10(fine[_NOTES] + _FLOOR))
        self._speech[at] = speech
        self._taken += 1
        if self._taken < WINDOW_BLOCKS or self._taken % STEP_BLOCKS:
            return None
        # The rows are a ring buffer: features of change over time need the oldest first.
        order = np.roll(np.arange(WINDOW_BLOCKS), -(self._taken % WINDOW_BLOCKS))
        mels = self._mels[order]
        parts = [
            _shape(mels),
            np.std(mels, axis=0),
            _modulations(mels),
            _changes(mels),
            _beat(mels),
            _levels(mels),
            # Only percentiles of the peaks are used, so their order does not matter.
            _steadiness(self._tones[order], self._peaks),
            _hisses(mels),
            _voice(self._speech[order]),
        ]
        return np.concatenate(parts).astype(np.float32)


def _at(values: NDArray[np.float32], *shares: float) -> NDArray[np.float32]:
    """Return percentiles along the first axis, shape (shares, ...); cheaper than numpy's."""
    ordered = np.sort(values, axis=0)
    return ordered[[round(share * (len(values) - 1)) for share in shares]]


def _fine_structure(notes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return a spectrum's normalized peaks, shape (2, n), and their size: low half, high half."""
    # With a running sum each mean over neighbours is one subtraction, for any width.
    total = np.cumsum(np.pad(notes, (_SMOOTH + 1, _SMOOTH), mode="edge"))
    width = 2 * _SMOOTH + 1
    white = (notes - (total[width:] - total[:-width]) / width)[: 2 * _SPLIT].reshape(2, -1)
    white = white - white.mean(axis=1, keepdims=True)
    # Never 0: digital silence has no peaks, and is divided by its size as well.
    size = np.sqrt(np.mean(white**2, axis=1)) + 1e-3
    return white / size[:, None], size


def _shape(mels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the means of groups of three bands, relative to the mean of all."""
    # Relative to their own mean: loudness must not count.
    means = mels.mean(axis=0).reshape(-1, 3).mean(axis=1)
    return np.asarray(means - means.mean())


def _modulations(mels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the log shares of modulation frequencies, by range of bands."""
    spectra = np.abs(np.fft.rfft(mels - mels.mean(axis=0), axis=0)) ** 2
    by_group = spectra.reshape(len(spectra), _GROUPS, -1).mean(axis=2)
    shares = np.stack(
        [by_group[each == _MODULATION_BINS].sum(axis=0) for each in range(1, len(_MODULATIONS_HZ))]
    )
    shares = shares / (shares.sum(axis=0) + 1e-6)
    return np.asarray(np.log10(shares + 1e-3)).ravel()


def _changes(mels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the change from block to block, its mean and unevenness, by range of bands."""
    steps = np.abs(np.diff(mels, axis=0)).reshape(len(mels) - 1, _GROUPS, -1).mean(axis=2)
    mean = steps.mean(axis=0)
    return np.concatenate([mean, steps.std(axis=0) / (mean + 1e-3)])


def _beat(mels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how regular the onsets of low, middle and high bands are: peaks of autocorrelation."""
    # Only rises: a beat begins at once, but its decay has no fixed length.
    rises = np.clip(np.diff(mels, axis=0), 0.0, None).reshape(len(mels) - 1, 3, -1).mean(axis=2)
    rises -= rises.mean(axis=0)
    # Padded to twice the length: otherwise the end would be compared with the beginning.
    spectrum = np.abs(np.fft.rfft(rises, 2 * len(mels), axis=0)) ** 2
    alike = np.fft.irfft(spectrum, axis=0)[: len(mels)] / (np.sum(rises**2, axis=0) + 1e-3)
    return np.concatenate([alike[_BEATS].max(axis=0), np.sort(alike[_BEATS], axis=0)[-4]])


def _levels(mels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the spread of the level, and the share of blocks far below the loudest."""
    # The bands are logarithms, and the mean of logarithms is not the level.
    level = np.log10(np.mean(10.0**mels, axis=1))
    low, middle, high = _at(level, 0.1, 0.5, 0.9)
    quiet = [np.mean(level < high - depth) for depth in (1.0, 2.0)]
    return np.array([high - low, high - middle, *quiet], np.float32)


def _steadiness(tones: NDArray[np.float32], peaks: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how peaked the fine spectrum is, and how similar to itself after each lag."""
    out = [_at(peaks, 0.2, 0.5, 0.8)]
    for lag in _LAGS:
        alike = np.einsum("tij,tij->ti", tones[lag:], tones[:-lag]) / tones.shape[2]
        out.append(_at(alike, 0.2, 0.5, 0.8))
    return np.concatenate(out, axis=None)


def _hisses(mels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the spread of high bands relative to low ones: it shows the s and t of speech."""
    low, middle, high = _at(mels[:, -5:].mean(axis=1) - mels[:, 4:14].mean(axis=1), 0.1, 0.5, 0.9)
    return np.array([middle - low, middle, high - middle], np.float32)


def _voice(speech: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the voice detector's mean, spread, share, newest mean and number of changes."""
    voiced = speech >= 0.5
    turns = np.count_nonzero(voiced[1:] != voiced[:-1]) / len(voiced)
    return np.array(
        [speech.mean(), speech.std(), voiced.mean(), speech[-16:].mean(), turns], np.float32
    )


@dataclass(frozen=True, slots=True)
class SongHead:
    """Logistic regression over three kinds of sound; `training` fits its weights."""

    weights: NDArray[np.float32]
    """Shape (features, kinds)."""
    bias: NDArray[np.float32]

    def song(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probability of song, 0..1, of features of shape (..., n)."""
        logits = features @ self.weights + self.bias
        # Minus the largest, so that exp does not overflow; the shares stay the same.
        odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
        # 1 is the index of song in KINDS.
        return np.asarray(odds[..., 1] / odds.sum(axis=-1))


def read_song_head(path: Path | None = None) -> SongHead:
    """Read the head that ships with the program. Raises ModelError (model-missing, -broken)."""
    path = path or bundled("models", "song", "head.json")
    # Nobody can repair this file by hand.
    fix = "It comes with the program: install it again."
    try:
        said = json.loads(path.read_text("utf-8"))
        head = SongHead(np.array(said["weights"], np.float32), np.array(said["bias"], np.float32))
    except FileNotFoundError:
        raise ModelError("model-missing", f"{path}: the song detector is not there.", fix) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError("model-broken", f"{path} has no song detector: {error}", fix) from error
    # A head of another version would give meaningless numbers.
    if head.weights.shape != (SongFeatures.COUNT, len(KINDS)) or head.bias.shape != (len(KINDS),):
        raise ModelError("model-broken", f"{path} is for other features than these.", fix)
    return head


class LinearSongDetector:
    """A SongDetector: rates the last two seconds as song every quarter of a second."""

    def __init__(self) -> None:
        self._head: SongHead | None = None
        self._features = SongFeatures()

    def load(self) -> None:
        """Read the head. Raises ModelError (model-missing, model-broken)."""
        self._head = read_song_head()

    def probability(self, pcm: Pcm, speech: float) -> float | None:
        """Take a block, shape (512,), and its speech probability; None between windows."""
        features = self._features.push(pcm, speech)
        if features is None or self._head is None:
            return None
        return float(self._head.song(features))

    def reset(self) -> None:
        """Forget the audio so far, after a gap."""
        self._features.reset()

"""Singing made from a synthesizer's speech: its vowels and consonants on the notes of a tune.

The speech gives the spectral envelope, every 5 ms, and tells which parts are voiced (Oppenheim
1969, "Speech analysis-synthesis system based on homomorphic filtering"). Voiced parts are stretched
until the words fill the tune. The envelope then filters a sum of harmonics of the tune's pitch,
with glides and vibrato, or noise in unvoiced parts.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.data.speech import SAMPLE_RATE_HZ, Audio, Voice, speak

_HOP = 80
_FFT = 1024
_LIFTER = 40
"""The number of cepstral coefficients to keep: the vocal tract, without the speech's pitch."""
_TOP_HZ = 7400.0

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a tune: MIDI number (69 is 440 Hz) and seconds."""

    pitch: int
    start_s: float
    length_s: float


def sing(text: str, voice: Voice, tune: list[Note], draw: random.Random) -> Audio:
    """Return `text` sung by `voice` to the notes of `tune`, as long as the tune, peak 0.5."""
    envelopes, voiced = _analysed(speak(text, voice))
    frames = round(sum(note.length_s for note in tune) * SAMPLE_RATE_HZ / _HOP)
    at = _stretched(voiced, frames, draw)
    envelopes, voiced = envelopes[at], voiced[at] * _breaths(tune, frames, draw)
    pitch_hz = _pitch_hz(tune, frames, draw)
    audio = _harmonics(envelopes, voiced, pitch_hz) + 0.5 * _noise(envelopes, 1 - voiced, draw)
    return np.asarray(0.5 * audio / (np.max(np.abs(audio)) + 1e-9), np.float32)


def _analysed(audio: Audio) -> tuple[Array, Array]:
    """Return log envelopes, shape (frames, bins), and how voiced each frame is, 0..1."""
    padded = np.pad(audio.astype(np.float64), _FFT)
    starts = np.arange(0, len(padded) - _FFT, _HOP)
    frames = padded[starts[:, None] + np.arange(_FFT)] * np.hanning(_FFT)
    logs = np.log(np.abs(np.fft.rfft(frames)) + 1e-4)
    cepstra = np.fft.irfft(logs)
    cepstra[:, _LIFTER:-_LIFTER] = 0.0
    envelopes = np.fft.rfft(cepstra).real
    low, high = logs[:, 6:64].mean(axis=1), logs[:, 200:400].mean(axis=1)
    loud = low - np.percentile(low, 95)
    voiced = 1 / (1 + np.exp(-2 * (low - high - 1.0))) * (loud > -4.5)
    heard = logs.max(axis=1) > logs.max() - 6
    edges = np.flatnonzero(heard)
    return envelopes[edges[0] : edges[-1] + 1], voiced[edges[0] : edges[-1] + 1]


def _stretched(voiced: Array, frames: int, draw: random.Random) -> NDArray[np.intp]:
    """Return the speech frame for each frame of the song; only voiced parts are stretched."""
    fixed = float(np.sum(voiced <= 0.5))
    room = max(frames - fixed, 0.5 * frames)
    uneven = np.repeat([draw.uniform(0.3, 2.0) for _ in range(len(voiced) // 25 + 1)], 25)
    rates = np.where(voiced > 0.5, uneven[: len(voiced)], 0.0)
    rates = np.where(voiced > 0.5, rates * room / max(1.0, rates.sum()), 1.0)
    ends = np.cumsum(rates)
    at = np.searchsorted(ends, np.arange(frames) * ends[-1] / frames)
    return np.asarray(np.minimum(at, len(voiced) - 1))


def _pitch_hz(tune: list[Note], frames: int, draw: random.Random) -> Array:
    notes = np.concatenate(
        [np.full(round(n.length_s * SAMPLE_RATE_HZ / _HOP), float(n.pitch)) for n in tune]
    )
    notes = np.resize(notes, frames)
    glide = round(draw.uniform(6, 35))
    notes = np.convolve(np.pad(notes, glide, mode="edge"), np.ones(glide) / glide, "same")
    notes = notes[glide : glide + frames]
    time_s = np.arange(frames) * _HOP / SAMPLE_RATE_HZ
    depth = draw.choice((0.05, 0.2, 0.4, 0.7))
    vibrato = depth * np.sin(2 * np.pi * (draw.uniform(4.5, 6.5) * time_s + draw.random()))
    drift = 0.15 * np.sin(2 * np.pi * (draw.uniform(0.1, 0.4) * time_s + draw.random()))
    steps = np.random.default_rng(draw.getrandbits(32)).standard_normal(frames)
    unsteady = draw.uniform(0.0, 0.5) * np.convolve(steps, np.hanning(41) / 4.5, "same")
    return np.asarray(440.0 * 2.0 ** ((notes + vibrato + drift + unsteady - 69) / 12))


def _breaths(tune: list[Note], frames: int, draw: random.Random) -> Array:
    """Return the loudness of each frame: notes fade, and some end early, as for a breath."""
    loud = np.ones(frames)
    share, swell = draw.choice((0.05, 0.3, 0.7)), draw.uniform(0.0, 0.9)
    for note in tune:
        start, end = (
            round(at_s * SAMPLE_RATE_HZ / _HOP)
            for at_s in (note.start_s, note.start_s + note.length_s)
        )
        here = loud[start:end]
        here *= 1 - swell * np.linspace(0, 1, len(here)) ** draw.choice((0.5, 1.0, 2.0))
        if draw.random() < share:
            loud[max(0, end - round(draw.uniform(10, 60))) : end] = 0.0
    return np.convolve(loud, np.hanning(9) / 4.0, "same").clip(0, 1)


def _harmonics(envelopes: Array, voiced: Array, pitch_hz: Array) -> Array:
    """Return the sum of all harmonics; each wave is the previous wave times the first one."""
    frames = np.arange(len(pitch_hz))
    ramp = (np.arange(_HOP) / _HOP).astype(np.float32)
    hz = np.interp(np.arange(len(pitch_hz) * _HOP) / _HOP, frames, pitch_hz)
    first = np.exp(2j * np.pi * np.cumsum(hz) / SAMPLE_RATE_HZ).astype(np.complex64)
    wave, out = first.copy(), np.zeros((len(pitch_hz), _HOP), np.float32)
    for harmonic in range(1, int(_TOP_HZ / pitch_hz.min()) + 1):
        at_hz = np.minimum(harmonic * pitch_hz, _TOP_HZ)
        bins = np.round(at_hz * _FFT / SAMPLE_RATE_HZ).astype(np.intp)
        loud = np.exp(envelopes[frames, bins]) * voiced * (harmonic * pitch_hz < _TOP_HZ)
        rise = np.diff(loud, append=loud[-1])
        shape = loud.astype(np.float32)[:, None] + rise.astype(np.float32)[:, None] * ramp
        out += wave.imag.reshape(-1, _HOP) * shape
        wave *= first
    return out.ravel().astype(np.float64)


def _noise(envelopes: Array, unvoiced: Array, draw: random.Random) -> Array:
    """Return noise through the envelopes, for unvoiced parts."""
    length = len(envelopes) * _HOP
    noise = np.random.default_rng(draw.getrandbits(32)).standard_normal(length + _FFT)
    out = np.zeros(length + _FFT)
    window = np.hanning(_FFT)
    step = _FFT // 4
    for start in range(0, length, step):
        frame = min(start // _HOP, len(envelopes) - 1)
        part = np.fft.rfft(noise[start : start + _FFT] * window)
        shaped = np.fft.irfft(part * np.exp(envelopes[frame]) * unvoiced[frame])
        out[start : start + _FFT] += shaped * window
    return out[_FFT // 2 : _FFT // 2 + length] * 0.06

"""Sounds without speech, for which the speech model must report no speech."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.data import speech


def nonspeech(length_s: float, draw: random.Random) -> speech.Audio:
    """Return audio without speech."""
    samples = round(length_s * speech.SAMPLE_RATE_HZ)
    time_s = np.arange(samples) / speech.SAMPLE_RATE_HZ
    kind = draw.choice(("noise", "noise", "swell", "music", "music", "hum", "clicks"))
    audio: NDArray[np.floating[Any]] = speech.coloured_noise(samples, draw)
    if kind == "swell":
        audio = audio * (1.1 + np.sin(2 * np.pi * (draw.uniform(0.1, 2) * time_s + draw.random())))
    elif kind == "hum":
        for harmonic in range(1, 6):
            audio = audio + 8 / harmonic * np.sin(
                2 * np.pi * draw.choice((50, 60)) * harmonic * time_s
            )
    elif kind == "clicks":
        audio = audio * 0.02
        for _ in range(draw.randint(1, 12)):
            at = draw.randrange(samples)
            decay = np.exp(-np.arange(min(1600, samples - at)) / draw.uniform(10, 400))
            audio[at : at + len(decay)] += (
                decay * draw.uniform(0.5, 3) * np.sign(draw.random() - 0.5)
            )
    elif kind == "music":
        audio = music(time_s, draw) + audio * draw.choice((0.0, 0.001, 0.02))
    return np.asarray(audio, np.float32)


def music(time_s: NDArray[np.float64], draw: random.Random) -> NDArray[np.float64]:
    """Return chords of three to five tones with overtones, one after another."""
    audio = np.zeros_like(time_s)
    chord_s = draw.uniform(0.25, 2.5)
    overtones = [draw.uniform(0, 1) / k for k in range(1, draw.randint(2, 9))]
    for start in np.arange(0, time_s[-1], chord_s):
        here = (time_s >= start) & (time_s < start + chord_s)
        at = time_s[here] - start
        envelope = np.minimum(1, at / 0.03) * np.exp(-at * draw.choice((0.2, 1.0, 4.0)))
        for _ in range(draw.randint(1, 5)):
            tone_hz = 55 * 2 ** (draw.randint(0, 40) / 12)
            for k, loudness in enumerate(overtones, 1):
                if tone_hz * k < 7500:
                    audio[here] += loudness * envelope * np.sin(2 * np.pi * tone_hz * k * at)
    return audio

"""The hymn of the demo sermon: an organ of sine waves plays a melody over chords."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.core.errors import UsageError

Samples = NDArray[np.float64]
Table = dict[str, Any]

SEMITONES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
ORGAN_STOPS = {1: 1.0, 2: 0.6, 3: 0.25, 4: 0.3, 6: 0.1, 8: 0.08}  # harmonic -> amplitude


def amplitude(level_db: float) -> float:
    """Return the linear factor of a level in decibels."""
    return float(10 ** (level_db / 20))


def rms(samples: Samples) -> float:
    """Return the root mean square, linear."""
    return float(np.sqrt(np.mean(samples**2)))


def frequency_hz(note: str) -> float:
    """Return a note's frequency in equal temperament, A4 = 440 Hz; a note looks like `F#3`."""
    parts = re.fullmatch(r"([A-G])(#?)(\d)", note)
    if parts is None:
        raise UsageError("unknown-note", f"A score has {note!r}.", "Write it like G3 or F#3.")
    name, sharp, octave = parts.groups()
    midi = 12 * (int(octave) + 1) + SEMITONES[name] + len(sharp)
    return float(440 * 2 ** ((midi - 69) / 12))


def organ(score: str, beats_per_minute: float, rate_hz: int) -> Samples:
    """Return the additive synthesis of notes or chords (`G2+B3+D4:2` lasts two beats)."""
    parts = []
    for step in score.split():
        names, beats = step.split(":")
        seconds = float(beats) * 60 / beats_per_minute
        t = np.arange(round(seconds * rate_hz)) / rate_hz
        tone = np.zeros(len(t))
        for name in names.split("+"):
            for harmonic, strength in ORGAN_STOPS.items():
                tone += strength * np.sin(2 * np.pi * harmonic * frequency_hz(name) * t)
        # A pipe starts and fades softly; without this envelope every note would click.
        tone *= np.clip(np.minimum(t / 0.04, (seconds - t) / 0.08), 0, 1)
        parts.append(tone)
    return np.concatenate(parts)


def music(section: Table, rate_hz: int) -> Samples:
    """Return a melody over softer chords, with a slow tremulant, at the section's level."""
    tempo = section["beats_per_minute"]
    melody, chords = (organ(section[key], tempo, rate_hz) for key in ("melody", "chords"))
    if abs(len(melody) - len(chords)) > rate_hz // 100:
        raise UsageError(
            "score-length",
            f"Section {section['name']}: the melody lasts {len(melody) / rate_hz:.2f} s and the "
            f"chords {len(chords) / rate_hz:.2f} s.",
            "Give both the same number of beats.",
        )
    length = min(len(melody), len(chords))
    both = melody[:length] + 0.35 * chords[:length]
    both *= 1 + 0.06 * np.sin(2 * np.pi * 5.5 * np.arange(length) / rate_hz)
    return both * amplitude(section["music_dbfs"]) / rms(both)

"""Tunes with chords, and instruments that play them: a MIDI file through FluidSynth.

Needs the program `fluidsynth` and the General MIDI sound font of Debian's `fluid-soundfont-gm`
(MIT licence), whose organs, pianos, guitars, strings, choirs and drums are sampled.
"""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile

from training.data.singing import Note
from training.data.speech import SAMPLE_RATE_HZ, Audio

SOUND_FONT = Path("/usr/share/sounds/sf2/FluidR3_GM.sf2")
_TICKS = 480
_DRUMS = 9

# General MIDI program numbers, from 0.
FAMILIES = {
    "organ": (19, 16, 20),
    "pad": (89, 91, 48, 50, 95),
    "piano": (0, 4, 5),
    "choir": (52, 53),
    "guitar": (24, 25, 26),
}
BASSES = (32, 33, 35)
LEADS = (40, 56, 73, 68, 60)
HELD_OUT = {"organ": (18,), "pad": (90, 51), "piano": (1, 2), "choir": (54,), "guitar": (27,)}
"""Programs of each family that are not used in training."""

_PROGRESSIONS = (
    *((0, 3, 4, 0), (0, 5, 3, 4), (0, 4, 5, 3), (5, 3, 0, 4), (0, 1, 4, 0), (0, 3, 0, 4)),
    (0, 2, 3, 4),
)
_RHYTHMS = (
    *((1, 1, 1, 1), (2, 1, 1), (1, 1, 2), (2, 2), (4,), (3, 1), (1.5, 0.5, 1, 1)),
    *((0.5, 0.5, 1, 0.5, 0.5, 1), (1, 0.5, 0.5, 2), (0.5, 0.5, 0.5, 0.5, 2)),
)
_MAJOR = (0, 2, 4, 5, 7, 9, 11)


@dataclass(frozen=True, slots=True)
class Song:
    """A tune in four-part bars: its melody, and for each bar a chord."""

    beat_s: float
    melody: list[Note]
    chords: list[tuple[tuple[int, ...], float, float]]
    """MIDI numbers, start and length in seconds."""

    @property
    def length_s(self) -> float:
        """Length of the song."""
        return sum(length_s for _, _, length_s in self.chords)


def compose(length_s: float, draw: random.Random) -> Song:
    """Return a song of at least `length_s`, as plain as a hymn."""
    beat_s = 60 / draw.uniform(60, 150)
    key, bar_s = draw.randint(-5, 6), 4 * beat_s
    progression = draw.choice(_PROGRESSIONS)
    melody: list[Note] = []
    chords: list[tuple[tuple[int, ...], float, float]] = []
    step, start_s, bar = draw.randint(0, 4), 0.0, 0
    while start_s < length_s:
        root = progression[bar % len(progression)]
        chord = tuple(48 + key + _degree(root + each) for each in (0, 2, 4))
        chords.append((chord, start_s, bar_s))
        at_s = start_s
        for beats in draw.choice(_RHYTHMS):
            near = [root + each for each in (0, 2, 4, 7, 9) if abs(root + each - step) <= 3]
            step = draw.choice([*near, step - 1, step + 1])
            step = max(-2, min(9, step))
            melody.append(Note(60 + key + _degree(step), at_s, beats * beat_s))
            at_s += beats * beat_s
        start_s, bar = start_s + bar_s, bar + 1
    return Song(beat_s, melody, chords)


def _degree(step: int) -> int:
    return 12 * (step // 7) + _MAJOR[step % 7]


@dataclass(frozen=True, slots=True)
class Part:
    """The notes of one instrument."""

    program: int
    notes: list[Note]
    volume: int = 100
    is_drums: bool = False


def arrange(song: Song, kind: str, draw: random.Random, *, held_out: bool = False) -> list[Part]:
    """Return the parts of `song` for one family, for "drums" or for a "band"."""

    def program(family: str) -> int:
        return draw.choice(HELD_OUT[family] if held_out else FAMILIES[family])

    chords = [Note(p, at, long) for chord, at, long in song.chords for p in chord]
    bass = [Note(chord[0] - 12, at, long) for chord, at, long in song.chords]
    rhythm, beat_s = draw.choice((_strums, _broken)), song.beat_s / draw.choice((1, 1, 2))
    moving = [note for each in song.chords for note in rhythm(each, beat_s)]
    drums = Part(0, _drums(song, draw), draw.randint(70, 120), is_drums=True)
    notes = {
        "organ": [*song.melody, *chords, *bass],
        "pad": [*chords, *bass],
        "piano": [*song.melody, *moving, *bass],
        "choir": [*song.melody, *chords],
        "guitar": moving,
    }
    if kind in notes:
        beaten = kind in ("piano", "guitar") and draw.random() < 0.3
        return [Part(program(kind), notes[kind]), *([drums] if beaten else [])]
    if kind == "drums":
        return [drums]
    lead = [Note(note.pitch + 12, note.start_s, note.length_s) for note in song.melody]
    return [
        Part(program("guitar"), moving),
        Part(draw.choice(BASSES), bass, 110),
        drums,
        *([Part(draw.choice(LEADS), lead)] if draw.random() < 0.5 else []),
        *([Part(program("pad"), chords, 60)] if draw.random() < 0.5 else []),
    ]


def _strums(chord: tuple[tuple[int, ...], float, float], beat_s: float) -> list[Note]:
    pitches, start_s, length_s = chord
    times = np.arange(0, length_s - 0.01, beat_s)
    return [Note(p, start_s + t + i * 0.02, beat_s) for t in times for i, p in enumerate(pitches)]


def _broken(chord: tuple[tuple[int, ...], float, float], beat_s: float) -> list[Note]:
    pitches, start_s, length_s = chord
    times = np.arange(0, length_s - 0.01, beat_s / 2)
    return [
        Note(pitches[i % len(pitches)], start_s + t, beat_s) for i, t in enumerate(times.tolist())
    ]


def _drums(song: Song, draw: random.Random) -> list[Note]:
    hat, out = draw.choice((42, 46, 51, 54, 70)), []
    for at in np.arange(0, song.length_s - 0.01, song.beat_s / 2).tolist():
        eighth = round(2 * at / song.beat_s) % 8
        out.append(Note(hat, at, 0.1))
        if eighth in (0, 5):
            out.append(Note(36, at, 0.1))
        if eighth in (2, 6):
            out.append(Note(38, at, 0.1))
    return out


def play(parts: list[Part]) -> Audio:
    """Return the parts played together, mono at 16 kHz, peak 0.5.

    Raises CalledProcessError when FluidSynth fails.
    """
    with TemporaryDirectory(prefix="midi-") as folder:
        score, wav = Path(folder, "score.mid"), Path(folder, "score.wav")
        score.write_bytes(midi(parts))
        command = ["fluidsynth", "-q", "-n", "-i", "-r", str(SAMPLE_RATE_HZ), "-F", str(wav)]
        subprocess.run([*command, str(SOUND_FONT), str(score)], check=True, capture_output=True)
        audio, _ = soundfile.read(wav, dtype="float32", always_2d=True)
    mono = audio.mean(axis=1)
    return np.asarray(0.5 * mono / (np.max(np.abs(mono)) + 1e-9), np.float32)


def midi(parts: list[Part]) -> bytes:
    """Return a standard MIDI file, format 1, of 120 beats a minute: 960 ticks are a second."""
    tracks = [_track(part, number) for number, part in enumerate(parts)]
    header = b"MThd" + (6).to_bytes(4, "big")
    header += b"".join(each.to_bytes(2, "big") for each in (1, len(tracks), _TICKS))
    return header + b"".join(tracks)


def _track(part: Part, number: int) -> bytes:
    channel = _DRUMS if part.is_drums else number + (number >= _DRUMS)
    events: list[tuple[int, bytes]] = []
    for note in part.notes:
        start, end = (round(2 * _TICKS * s) for s in (note.start_s, note.start_s + note.length_s))
        events.append((start, bytes([0x90 | channel, note.pitch, part.volume])))
        events.append((end, bytes([0x80 | channel, note.pitch, 0])))
    out, now = b"" if part.is_drums else bytes([0, 0xC0 | channel, part.program]), 0
    for at, message in sorted(events):
        out += _delta(at - now) + message
        now = at
    out += b"\x00\xff\x2f\x00"
    return b"MTrk" + len(out).to_bytes(4, "big") + out


def _delta(ticks: int) -> bytes:
    """Return a number in MIDI's form: seven bits per byte, the highest first."""
    out = [ticks & 0x7F]
    while ticks := ticks >> 7:
        out.insert(0, ticks & 0x7F | 0x80)
    return bytes(out)

"""Sound of a service in clips of one kind: speech, song, or neither; for training song mode.

Some speech is mixed with pads, organs and bands: taking such speech for song is the worst mistake.
The held-out clips have other voices, instruments and tunes.
"""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from scripts.support.paths import ROOT
from training.data import speech
from training.data.instruments import Song, arrange, compose, play
from training.data.singing import Note, sing
from training.data.speech import SAMPLE_RATE_HZ, Audio, Voice

Kind = Literal["speech", "song", "other"]

HELD_OUT_VOICES = (
    *(("flite", "kal16"), ("flite", "awb"), ("espeak-ng", "en-us+f5"), ("espeak-ng", "en-gb+m7")),
    *(("espeak-ng", "en-029+Annie"), ("espeak-ng", "en-gb-scotland+m8")),
)
_PHRASES = ROOT / "training" / "data" / "sermon_phrases.tsv"
_INSTRUMENTS = ("organ", "pad", "piano", "choir", "guitar", "band", "band", "drums")
_TAIL_S = 1.5


@dataclass(frozen=True, slots=True)
class Clip:
    """Sound of one kind, and the way it was made."""

    kind: Kind
    name: str
    audio: Audio
    is_made: bool = True
    """Whether the clip is synthetic, not a recording."""


@cache
def phrases() -> tuple[str, ...]:
    """Return the English sentences that are spoken and sung."""
    with _PHRASES.open(encoding="utf-8", newline="") as rows:
        return tuple(row[0] for row in csv.reader(rows, delimiter="\t") if row)


class Studio:
    """Makes clips; the same seed gives the same clips."""

    def __init__(self, seed: int, *, held_out: bool = False) -> None:
        self._draw = random.Random(seed)
        self._held_out = held_out

    def voice(self) -> Voice:
        """Draw a voice to speak with."""
        draw = self._draw
        if self._held_out:
            return Voice(*draw.choice(HELD_OUT_VOICES), draw.uniform(0.85, 1.1), 1.0)
        while True:
            drawn = speech.draw_voice(draw)
            if (drawn.synthesizer, drawn.name) not in HELD_OUT_VOICES:
                return drawn

    def spoken(self, length_s: float, *, pauses_s: tuple[float, float] = (0.15, 0.9)) -> Audio:
        """Return sentences one after another, peak 0.5, cut to `length_s`."""
        voice, parts, have = self.voice(), [], 0
        while have < length_s * SAMPLE_RATE_HZ:
            said = lively(speech.speak(self._draw.choice(phrases()), voice), self._draw)
            pause = round(self._draw.uniform(*pauses_s) * SAMPLE_RATE_HZ)
            parts += [said, np.zeros(pause, np.float32)]
            have += len(said) + pause
        return scaled(np.concatenate(parts)[: round(length_s * SAMPLE_RATE_HZ)])

    def played(self, song: Song, kind: str) -> Audio:
        """Return `song` on instruments of a kind, peak 0.5."""
        return play(arrange(song, kind, self._draw, held_out=self._held_out))

    def sung(self, song: Song, singers: int = 1) -> Audio:
        """Return `song` sung by one singer, or by many slightly out of time, peak 0.5."""
        draw, out = self._draw, np.zeros(round((song.length_s + _TAIL_S) * SAMPLE_RATE_HZ))
        words = " ".join(draw.sample(phrases(), max(1, round(song.length_s / 6))))
        for _ in range(singers):
            octave = draw.choice((-12, 0, 0)) if singers > 1 else draw.choice((-12, 0))
            detune = draw.choice((0, 0, 0, 7 if singers > 3 else 0))
            tune = [Note(n.pitch + octave - detune, n.start_s, n.length_s) for n in song.melody]
            voice = sing(words, self.voice(), tune, draw)
            late = round(draw.uniform(0, 0.12 if singers > 1 else 0.0) * SAMPLE_RATE_HZ)
            end = min(len(out), late + len(voice))
            out[late:end] += voice[: end - late] * draw.uniform(0.5, 1.0)
        return scaled(out)

    def clip(self, length_s: float = 8.0) -> Clip:
        """Return a clip of any kind, as a microphone or a mixer delivers it."""
        draw = self._draw
        make = draw.choices(
            (self._speech, self._speech_over_music, self._music, self._singing, self._neither),
            (22, 42, 18, 22, 5),
        )[0]
        clip = make(length_s)
        audio = clip.audio[: round(length_s * SAMPLE_RATE_HZ)]
        if draw.random() < 0.6:
            audio = speech.in_room(audio, draw)
        audio = coloured(audio, draw)
        if draw.random() < 0.7:
            audio = speech.with_noise(audio, draw.uniform(15, 45), draw)
        return Clip(clip.kind, clip.name, speech.level(audio, draw))

    def _speech(self, length_s: float) -> Clip:
        return Clip("speech", "speech", self.spoken(length_s))

    def _speech_over_music(self, length_s: float) -> Clip:
        draw = self._draw
        kind = draw.choices(("pad", "organ", "piano", "band", "choir"), (4, 6, 3, 1, 1))[0]
        music = self.played(compose(length_s, draw), kind)
        said = self.spoken(length_s, pauses_s=(0.1, 0.6))
        return Clip("speech", f"speech over {kind}", mixed(said, music, draw.uniform(2, 20)))

    def _music(self, length_s: float) -> Clip:
        kind = self._draw.choice(_INSTRUMENTS)
        return Clip("song", kind, self.played(compose(length_s, self._draw), kind))

    def _singing(self, length_s: float) -> Clip:
        draw = self._draw
        song = compose(length_s, draw)
        singers = draw.choice((1, 1, 1, 2, 4))
        voices = self.sung(song, singers)
        name = "solo" if singers == 1 else "choir"
        if draw.random() < 0.4:
            return Clip("song", name, voices)
        kind = draw.choice(("organ", "piano", "guitar", "band", "pad"))
        music = self.played(song, kind)
        return Clip("song", f"{name} with {kind}", mixed(voices, music, draw.uniform(-6, 14)))

    def _neither(self, length_s: float) -> Clip:
        draw, samples = self._draw, round(length_s * SAMPLE_RATE_HZ)
        noise = speech.coloured_noise(samples, draw) * 0.05
        if draw.random() < 0.5:
            return Clip("other", "noise", noise)
        many = sum(self.spoken(length_s, pauses_s=(0.05, 0.5)) for _ in range(6))
        return Clip("other", "murmur", scaled(np.asarray(many, np.float32)) + noise)


def lively(said: Audio, draw: random.Random) -> Audio:
    """Return speech with the rising and falling pitch of people: synthesizers are monotonous.

    The speed varies by up to a sixth, two to five times a second.
    """
    points = max(4, round(len(said) / SAMPLE_RATE_HZ * draw.uniform(2, 5)))
    depth = draw.choice((0.0, 0.06, 0.12, 0.17))
    rates = [1 + draw.uniform(-depth, depth) for _ in range(points)]
    rate = np.interp(np.linspace(0, points - 1, len(said)), np.arange(points), rates)
    at = np.cumsum(rate)
    return np.interp(np.arange(0, at[-1]), at, said).astype(np.float32)


def scaled(audio: np.ndarray) -> Audio:
    """Return the sound with its peak at 0.5."""
    return np.asarray(0.5 * audio / (np.max(np.abs(audio)) + 1e-9), np.float32)


def mixed(front: Audio, behind: Audio, above_db: float) -> Audio:
    """Return the mix, `front` `above_db` louder than `behind`; as long as the shorter sound."""
    samples = min(len(front), len(behind))
    front, behind = front[:samples], behind[:samples]
    size = np.sqrt(np.mean(front**2) / (np.mean(behind**2) + 1e-12)) / 10 ** (above_db / 20)
    return np.asarray(front + behind * size, np.float32)


def coloured(audio: Audio, draw: random.Random) -> Audio:
    """Return the sound with a random tilt and band, as of microphones, mixers, loudspeakers."""
    spectrum = np.fft.rfft(audio)
    hz = np.fft.rfftfreq(len(audio), 1 / SAMPLE_RATE_HZ)
    tilt = 10 ** (draw.uniform(-4, 4) * np.log2(np.maximum(hz, 50) / 1000) / 20)
    low, high = draw.choice((0, 0, 80, 150)), draw.choice((8000, 8000, 6500, 3800))
    band = 1 / (1 + (low / np.maximum(hz, 1)) ** 4) / (1 + (hz / high) ** 8)
    return np.asarray(np.fft.irfft(spectrum * tilt * band, len(audio)), np.float32)

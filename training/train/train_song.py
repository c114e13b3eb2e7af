"""Fits the head that tells song from speech (models/song/head.json), and says how well it does.

    python -m training.train.train_song --out models/song/head.json

Needs the programs espeak-ng, flite and fluidsynth, and Debian's fluid-soundfont-gm; no torch. The
same seed and the same versions of these give the same file. `--recordings FOLDER` also tests on
recordings of your own, in FOLDER/speech and FOLDER/song.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from pipeline.audio.silero_vad import Silero
from pipeline.audio.song_head import KINDS, SongFeatures, SongHead
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, Pcm
from training.data.service_sound import Clip, Studio, scaled

SEED = 20261122
TAPE = 60
"""Number of clips in a tape."""
_RATE, _STEPS, _DECAY = 0.1, 3000, 2e-3
_WEIGHTS = np.array([0.5, 0.3, 0.2], np.float32)
"""Weights of speech, song and neither: speech taken for song is the worst mistake."""
_DIGITS = 4
_HEARD_AS_SPEECH = 0.5
"""Share of the songs that get the voice detector's values for speech: it takes every second real
singer for a speaker, but never a synthetic one."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Windows of clips: features, shape (n, features), and the kind index and clip of each."""

    features: NDArray[np.float32]
    kinds: NDArray[np.intp]
    clips: tuple[str, ...]


def windows(audio: Pcm, thought: NDArray[np.float64]) -> Iterator[NDArray[np.float32]]:
    """Yield the features of a sound; `thought` is the voice detector's probability per block."""
    features = SongFeatures()
    for block, probability in zip(blocks(audio), thought, strict=True):
        found = features.push(block, float(probability))
        if found is not None:
            yield found


def blocks(audio: Pcm) -> NDArray[np.float32]:
    """Return a sound in blocks, shape (n, 512)."""
    return audio[: len(audio) // BLOCK_SAMPLES * BLOCK_SAMPLES].reshape(-1, BLOCK_SAMPLES)


def examples(clips: Iterable[Clip], detector: Silero, seed: int) -> Examples:
    """Return the windows of all clips, one after another."""
    heard = [(clip, _thought(clip.audio, detector)) for clip in clips]
    speaking = [thought for clip, thought in heard if clip.kind == "speech"]
    draw, features, kinds, names = random.Random(seed), [], [], []
    for clip, own in heard:
        as_speech = clip.is_made and clip.kind == "song" and draw.random() < _HEARD_AS_SPEECH
        thought = np.resize(draw.choice(speaking), len(own)) if as_speech and speaking else own
        found = list(windows(clip.audio, thought))
        features += found
        kinds += [KINDS.index(clip.kind)] * len(found)
        names += [clip.name] * len(found)
    return Examples(np.array(features), np.array(kinds), tuple(names))


def _thought(audio: Pcm, detector: Silero) -> NDArray[np.float64]:
    detector.reset()
    return np.array([detector.probability(block) for block in blocks(audio)])


def joined(parts: list[Examples]) -> Examples:
    """Return all parts joined into one."""
    return Examples(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.kinds for part in parts]),
        tuple(name for part in parts for name in part.clips),
    )


def fit(data: Examples) -> SongHead:
    """Return the head with the least cross-entropy, with L2.

    Plain gradient descent with momentum on standardized features; the weights include the scaling.
    """
    mean, spread = data.features.mean(axis=0), data.features.std(axis=0) + 1e-3
    x = (data.features - mean) / spread
    y = np.eye(len(KINDS), dtype=np.float32)[data.kinds]
    weight = (_WEIGHTS / np.maximum(1, y.sum(axis=0)))[data.kinds, None]
    w, b = np.zeros((x.shape[1], len(KINDS)), np.float32), np.zeros(len(KINDS), np.float32)
    speed_w, speed_b = np.zeros_like(w), np.zeros_like(b)
    for _ in range(_STEPS):
        logits = x @ w + b
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        wrong = weight * (odds / odds.sum(axis=1, keepdims=True) - y)
        speed_w = 0.9 * speed_w - _RATE * (x.T @ wrong + _DECAY * w)
        speed_b = 0.9 * speed_b - _RATE * wrong.sum(axis=0)
        w, b = w + speed_w, b + speed_b
    scaled_w = w / spread[:, None]
    return SongHead(scaled_w.astype(np.float32), (b - mean @ scaled_w).astype(np.float32))


def report(head: SongHead, data: Examples) -> dict[str, dict[str, float]]:
    """Return, for each kind of clip, its windows and the share that is taken for song."""
    song = head.song(data.features)
    names = np.array(data.clips)
    return {
        str(name): {
            "windows": int(np.sum(names == name)),
            "over_half": round(float(np.mean(song[names == name] > 0.5)), 4),
            "mean": round(float(np.mean(song[names == name])), 4),
        }
        for name in sorted(set(names))
    }


def auc(song: NDArray[np.float32], is_song: NDArray[np.bool_]) -> float:
    """Return the probability that a window of song has a higher value than one of speech."""
    order = np.argsort(song)
    ranks = np.empty(len(song))
    ranks[order] = np.arange(1, len(song) + 1)
    n_song = int(is_song.sum())
    above = ranks[is_song].sum() - n_song * (n_song + 1) / 2
    return float(above / (n_song * (len(song) - n_song)))


def recordings(folder: Path) -> Iterator[Clip]:
    """Yield the recordings in folder/speech and folder/song."""
    for kind in ("speech", "song"):
        for path in sorted((folder / kind).iterdir()):
            audio, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
            mono = soxr.resample(audio.mean(axis=1), rate_hz, SAMPLE_RATE)
            yield Clip(kind, f"{kind}/{path.name}", scaled(mono - mono.mean()), is_made=False)


def tape(seed: int, *, held_out: bool = False) -> Iterator[Clip]:
    """Yield the clips of a tape; the same seed gives the same clips."""
    studio = Studio(seed, held_out=held_out)
    for number in range(TAPE):
        print(f"\rtape {seed}: {number + 1}/{TAPE} clips", end="", file=sys.stderr, flush=True)
        yield studio.clip()
    print(file=sys.stderr)


def main() -> None:
    """Make the sound, fit, test, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tapes", type=int, default=2, help=f"of {TAPE} clips, to train on")
    parser.add_argument("--recordings", type=Path, help="test on these as well")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    detector, seeds = Silero(), range(given.seed + 1, given.seed + 1 + given.tapes)
    detector.load()
    head = fit(joined([examples(tape(seed), detector, seed) for seed in seeds]))
    tests = {"held out": examples(tape(given.seed, held_out=True), detector, given.seed)}
    if given.recordings:
        tests["recordings"] = examples(recordings(given.recordings), detector, 0)
    figures = {name: report(head, data) for name, data in tests.items()}
    for name, data in tests.items():
        figures[name]["all"] = {"auc": round(auc(head.song(data.features), data.kinds == 1), 4)}
    print(json.dumps(figures, indent=1))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(written(head, given.seed, given.tapes), "utf-8")


def written(head: SongHead, seed: int, tapes: int) -> str:
    """Return the content of the head's file."""
    rows = ",\n  ".join(
        json.dumps([round(float(each), _DIGITS) for each in row]) for row in head.weights
    )
    bias = json.dumps([round(float(each), _DIGITS) for each in head.bias])
    made = f"python -m training.train.train_song --seed {seed} --tapes {tapes}"
    return (
        f'{{"made_by": {json.dumps(made)},\n "kinds": {json.dumps(KINDS)},\n'
        f' "bias": {bias},\n "weights": [\n  {rows}\n ]}}\n'
    )


if __name__ == "__main__":
    main()

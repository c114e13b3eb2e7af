"""Batches for the speech model: from shards of features to padded, augmented tensors."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from faster_whisper.feature_extractor import FeatureExtractor
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from training.data import speech
from training.data.corpora import words
from training.data.nonspeech import nonspeech
from training.data.spoken import spoken
from training.models.stt_context import Contexts
from training.models.stt_model import (
    CTC_SYMBOLS,
    END,
    NO_SPEECH,
    NO_TIMESTAMPS,
    PREVIOUS,
    START,
)

IGNORED = -100  # the target that cross entropy ignores
ROUND = 3000
CONTEXT_SHARE = 0.5  # of the batches
MAX_CONTEXT = 223  # most prompt tokens that faster-whisper allows before a transcript
NO_SPEECH_SHARE = 0.05


@dataclass(frozen=True)
class Clip:
    """One utterance: float16 features (frames, 80) and its text, empty for noise."""

    features: NDArray[np.float16]
    text: str


@dataclass(frozen=True)
class Batch:
    """Features (batch, 80, frames), tokens and targets (batch, tokens), characters for the CTC."""

    features: Tensor
    tokens: Tensor
    targets: Tensor
    characters: Tensor
    character_counts: Tensor
    frames: Tensor


class Shards:
    """The utterances of a folder that may still be growing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: set[str] = set()
        self.clips: list[Clip] = []
        self.uses: list[int] = []

    def rescan(self) -> int:
        """Add the shards that are new; returns the number of utterances."""
        for path in sorted(self.folder.glob("*.json")):
            if path.stem not in self.names:
                self.names.add(path.stem)
                # Read it whole: a memory map would cause random page faults during training.
                mel = np.load(path.with_suffix(".npy"))
                for item in json.loads(path.read_text()):
                    stop = item["start"] + item["frames"]
                    self.clips.append(Clip(mel[item["start"] : stop], item["text"]))
                    self.uses.append(0)
        return len(self.clips)

    def draw(self, draw: random.Random, max_frames: int) -> list[Clip]:
        """Return a round of utterances: half are the least used ones, half are random."""
        known = [i for i, clip in enumerate(self.clips) if len(clip.features) <= max_frames]
        draw.shuffle(known)
        known.sort(key=lambda i: self.uses[i])
        half = known[: ROUND // 2]
        rest = known[ROUND // 2 :]
        chosen = half + draw.sample(rest, min(len(rest), ROUND // 2))
        for i in chosen:
            self.uses[i] += 1
        return [self.clips[i] for i in chosen]


def noise_clips(count: int, seed: int) -> list[Clip]:
    """Clips without speech: silence, hiss, hum, clicks, and chords like an organ's."""
    draw = random.Random(seed)
    extractor = FeatureExtractor(feature_size=80)
    clips = []
    for _ in range(count):
        audio = speech.level(nonspeech(draw.uniform(0.6, 12.0), draw), draw)
        if draw.random() < 0.1:
            audio = np.zeros_like(audio)
        clips.append(Clip(extractor(audio).T.astype(np.float16), ""))
    return clips


def window_frames(longest: int, progress: float, draw: random.Random) -> int:
    """Return the padded frames of a batch: tight, the runtime's short window, or the full 30 s."""
    short, full = (0.15, 0.01) if progress < 0.7 else (0.5, 0.06)
    kind = draw.random()
    if kind < full:
        return 3000
    if kind < full + short:
        return min(3000, max(1000, longest + 200) // 2 * 2)
    return (longest + draw.randint(0, 60)) // 2 * 2 + 2


def batches(
    clips: list[Clip], noise: list[Clip], budget_frames: int, progress: float, draw: random.Random
) -> Iterator[tuple[list[Clip], int]]:
    """Yield clips of similar length and their window, about `budget_frames` each, shuffled."""
    mixed = clips + draw.choices(noise, k=round(len(clips) * NO_SPEECH_SHARE))
    mixed.sort(key=lambda clip: len(clip.features) + draw.uniform(0, 40))
    groups = []
    while mixed:
        window = window_frames(len(mixed[-1].features) + 40, progress, draw)
        size = max(3, round(budget_frames / window))
        groups.append((mixed[-size:], window))
        del mixed[-size:]
    draw.shuffle(groups)
    yield from groups


def tokens_of(text: str, tokenizer: Tokenizer, context: str) -> tuple[list[int], list[int]]:
    """Return the decoder's input and the target after each token; no text means noise.

    A recognizer reads the probability of no speech right after the start token in every case.
    """
    tokens, targets = [START, NO_TIMESTAMPS], [NO_SPEECH, END]
    if text:
        ids = tokenizer.encode(" " + text, add_special_tokens=False).ids
        tokens, targets = [*tokens, *ids], [NO_TIMESTAMPS, *ids, END]
    if not context:
        return tokens, targets
    before = tokenizer.encode(" " + context, add_special_tokens=False).ids[:MAX_CONTEXT]
    return [PREVIOUS, *before, *tokens], [IGNORED] * (1 + len(before)) + targets


def collate(
    clips: list[Clip], window: int, tokenizer: Tokenizer, contexts: Contexts, draw: random.Random
) -> Batch:
    """Pad and augment one batch. Padding is zeros after the features, as faster-whisper pads."""
    # Noise in the features is fresh each time; masks are small.
    features = torch.zeros(len(clips), window, 80)
    for row, clip in zip(features, clips, strict=True):
        mel = torch.from_numpy(clip.features[:window].astype(np.float32))
        if clip.text and draw.random() < 0.15:
            mel = noisy(mel, draw)
        mel = mel + draw.uniform(-0.15, 0.15) * (draw.random() < 0.3)
        if clip.text and draw.random() < 0.4:
            mask(mel, draw)
        row[: len(mel)] = mel
    given = draw.random() < CONTEXT_SHARE
    pairs = [
        tokens_of(clip.text, tokenizer, contexts.draw(clip.text, draw) if given else "")
        for clip in clips
    ]
    longest = max(len(tokens) for tokens, _ in pairs)
    tokens = torch.full((len(clips), longest), END)
    targets = torch.full((len(clips), longest), IGNORED)
    for i, (row_tokens, wanted) in enumerate(pairs):
        tokens[i, : len(row_tokens)] = torch.tensor(row_tokens)
        targets[i, : len(wanted)] = torch.tensor(wanted)
    letters = [characters(clip.text) for clip in clips]
    return Batch(
        features.transpose(1, 2).contiguous(),
        tokens,
        targets,
        torch.tensor([c for row in letters for c in row], dtype=torch.long),
        torch.tensor([len(row) for row in letters]),
        torch.tensor([min(window, len(clip.features) + 20) for clip in clips]),
    )


def noisy(mel: Tensor, draw: random.Random) -> Tensor:
    """Return features (frames, 80) with coloured noise added, 10 to 35 dB below the mean power."""
    power = 10 ** (mel * 4 - 4)
    slope = torch.linspace(0, draw.uniform(-2.5, 0.5), mel.shape[1])
    spread = -torch.log(torch.rand_like(mel) + 1e-6) * 0.5 + 0.5
    level = power.mean() * 10 ** (-draw.uniform(10, 35) / 10)
    shape = 10**slope
    logarithm = torch.log10(power + level * shape / shape.mean() * spread)
    logarithm = torch.maximum(logarithm, logarithm.max() - 8)
    return (logarithm + 4) / 4


def mask(mel: Tensor, draw: random.Random) -> None:
    """SpecAugment (Park et al. 2019), small and in place: up to two bands and two stretches."""
    mean = mel.mean()
    for _ in range(draw.randint(0, 2)):
        width = draw.randint(0, 10)
        at = draw.randint(0, mel.shape[1] - width)
        mel[:, at : at + width] = mean
    for _ in range(draw.randint(0, 2)):
        width = min(draw.randint(0, 16), len(mel) // 12)
        at = draw.randint(0, len(mel) - width)
        mel[at : at + width] = mean


def characters(text: str) -> list[int]:
    """Return the spoken text in CTC symbols; 0 is the blank."""
    plain = " ".join(words(spoken(text).replace("-", " ")))
    return [CTC_SYMBOLS.index(c) + 1 for c in plain if c in CTC_SYMBOLS]

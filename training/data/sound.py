"""Utterances to train a recognizer: a folder of sound with metadata.jsonl, split in three.

`stark-translate learn collect` makes such a folder, and Hugging Face `datasets` opens it as
`audiofolder`. Held-out utterances whose text people vouch for are never used to train or to choose
a checkpoint. One in eight of the rest decides which checkpoint is best.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.audio.file import read_audio
from pipeline.core.errors import AudioError, LearningError
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.learning.data.folder import METADATA
from pipeline.learning.mix.mix_files import holds_out
from pipeline.text.words import words

DEVELOPMENT_OF = 8
LEAST_TRAINING, LEAST_DEVELOPMENT = 8, 2
LONGEST_S = 29.0
SHORTEST_S = 0.2
SILENT = 1e-4


@dataclass(frozen=True)
class Utterance:
    """A sound file and its text."""

    file: Path
    text: str
    terms: tuple[str, ...] = ()
    """Church terms in the text."""
    speaker: str = ""
    source: str = ""
    """Who vouches for the text."""


@dataclass(frozen=True)
class Split:
    """Utterances to train on, to choose the checkpoint with, and to measure with at the end."""

    training: list[Utterance]
    development: list[Utterance]
    held_out: list[Utterance]


def read(folder: Path, lang: str) -> list[Utterance]:
    """Return the utterances of a folder that are in a language, or do not say their language.

    Raises LearningError (sound-missing, sound-unreadable).
    """
    path = folder / METADATA
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        raise LearningError(
            "sound-missing",
            f"There is no {METADATA} in {folder}.",
            "Keep sound (session.keep_audio), review, and run `stark-translate learn collect`.",
        ) from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            fields = json.loads(line)
            if fields.get("lang", lang) == lang:
                found.append(_parse(folder, fields))
        except (AttributeError, ValueError, KeyError, TypeError) as error:
            raise LearningError(
                "sound-unreadable",
                f"{path}, line {number}: {error!r}.",
                "Each line needs file_name and transcription; collect again.",
            ) from None
    return found


def _parse(folder: Path, fields: dict[str, object]) -> Utterance:
    name, text = str(fields["file_name"]), str(fields["transcription"])
    terms = fields.get("terms") or ()
    if not isinstance(terms, list | tuple):
        raise TypeError("terms must be a list")
    return Utterance(
        file=folder / name,
        text=" ".join(text.split()),
        terms=tuple(map(str, terms)),
        speaker=str(fields.get("speaker") or ""),
        source=str(fields.get("source") or ""),
    )


def divide(utterances: Sequence[Utterance]) -> Split:
    """Split utterances, always in the same way; each text is in one part only.

    Raises LearningError (sound-too-little).
    """
    texts = {each: " ".join(words(each.text)) for each in utterances}
    held_out = [each for each in utterances if holds_out(each.source, texts[each])]
    measured = {texts[each] for each in held_out}
    rest = [each for each in utterances if texts[each] not in measured]
    ranked = sorted({texts[each] for each in rest}, key=_rank)
    choosing = set(ranked[: round(len(ranked) / DEVELOPMENT_OF)])
    split = Split(
        training=[each for each in rest if texts[each] not in choosing],
        development=[each for each in rest if texts[each] in choosing],
        held_out=held_out,
    )
    if len(split.training) < LEAST_TRAINING or len(split.development) < LEAST_DEVELOPMENT:
        raise LearningError(
            "sound-too-little",
            f"{len(utterances)} utterances are too few to learn from: {len(split.training)} to"
            f" train on and {len(split.development)} to choose by are left.",
            "Keep the sound of more services (session.keep_audio), review and collect again.",
        )
    return split


def _rank(text: str) -> bytes:
    return hashlib.sha256(f"development {text}".encode()).digest()


def load(utterance: Utterance) -> Pcm:
    """Return its samples at 16 kHz. Raises LearningError (sound-broken)."""
    try:
        pcm = read_audio(utterance.file)
    except (AudioError, OSError) as error:
        raise _broken(utterance, str(error)) from None
    seconds = len(pcm) / SAMPLE_RATE
    if not SHORTEST_S <= seconds <= LONGEST_S:
        wanted = f"{SHORTEST_S:g} to {LONGEST_S:g} are usable"
        raise _broken(utterance, f"it lasts {seconds:.1f} s; {wanted}")
    if np.abs(pcm).max() < SILENT:  # it would teach the model to write text for silence
        raise _broken(utterance, "it is silent")
    return pcm


def _broken(utterance: Utterance, why: str) -> LearningError:
    return LearningError("sound-broken", f"{utterance.file.name} cannot be used: {why}.")


def endless(utterances: Sequence[Utterance], rng: random.Random) -> Iterator[Utterance]:
    """Yield utterances without end, equally often from each labelled speaker.

    So the usual accent does not outweigh a rare one. Utterances without a label count as one
    speaker. All utterances of a speaker come once before one is repeated.
    """
    speakers: dict[str, list[Utterance]] = {}
    for each in utterances:
        speakers.setdefault(each.speaker, []).append(each)
    turns = {name: _rounds(each, rng) for name, each in speakers.items()}
    names = list(turns)
    while True:
        rng.shuffle(names)
        for name in names:
            yield next(turns[name])


def _rounds(utterances: Sequence[Utterance], rng: random.Random) -> Iterator[Utterance]:
    order = list(utterances)
    while True:
        rng.shuffle(order)
        yield from order

"""The recordings that benchmarks play, with their text and word times.

`sermon` and `pauses` are those of the demo (sentences, translations); `voices` is a folder of human
recordings, played one after another. NAME.words.json next to NAME.flac has the time of each word;
scripts.bench.word_times makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from pydantic import BaseModel, ValidationError

from pipeline.audio.file import read_audio
from pipeline.audio.segmenter import Segmenter, last_finals
from pipeline.audio.silero_vad import Silero
from pipeline.config.schema import Vad
from pipeline.core.errors import SessionError
from pipeline.core.resources import bundled
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, AudioBlock, Pcm, Utterance
from pipeline.evaluation.reference import Sentence, read_recording, read_voices

PAUSE_S = 2.0
"""Pause between two human recordings."""


class SpokenWord(BaseModel, frozen=True):
    """A word of a reference, and when it is spoken, in seconds of the recording."""

    text: str
    start_s: float
    end_s: float


class WordTimes(BaseModel, frozen=True):
    """The content of NAME.words.json."""

    aligned_by: str
    """The model that made the times."""
    words: tuple[SpokenWord, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """A recording to play, and its reference."""

    name: str
    audio: Path
    words: tuple[SpokenWord, ...]
    """Empty if there are no word times."""
    text: str
    """The whole spoken text."""
    duration_s: float
    reference: Path | None = None
    """Sentences and their translations, as demo/sermon.json has them."""

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences and their Spanish; () if there is no translation."""
        return read_recording(self.reference, "en", "es").once if self.reference else ()


def named(name: str, folder: Path) -> Material:
    """Return `sermon`, `pauses`, `voices` (joined in `folder`), or any other FILE.flac.

    Raises SessionError (reference-unreadable), AudioError.
    """
    if name == "voices":
        return voices(bundled("demo", "voices"), folder)
    return own(Path(name)) if name.endswith(".flac") else demo(name)


def demo(name: str) -> Material:
    """Return the demo's `sermon` or `pauses`. Raises SessionError (reference-unreadable)."""
    return own(bundled("demo", f"{name}.flac"))


def own(audio: Path) -> Material:
    """Return a recording with its reference file next to it, as in the demo.

    Raises SessionError (reference-unreadable).
    """
    reference = audio.with_suffix(".json")
    recording = read_recording(reference, "en", "es")
    text = " ".join(sentence.source for sentence in recording.once)
    return Material(audio.stem, audio, word_times(audio), text, recording.duration_s, reference)


def voices(folder: Path, into: Path) -> Material:
    """Join the recordings of a folder with a voices.json to one file in the folder `into`.

    Raises SessionError (reference-unreadable), AudioError.
    """
    recordings = read_voices(folder)
    pieces: list[Pcm] = []
    spoken: list[SpokenWord] = []
    whole = True
    for path in recordings:
        start_s = sum(map(len, pieces)) / SAMPLE_RATE
        own = word_times(path)
        whole = whole and bool(own)
        spoken += [moved(word, start_s) for word in own]
        pieces += [read_audio(path), np.zeros(round(PAUSE_S * SAMPLE_RATE), np.float32)]
    audio, pcm = into / "voices.flac", np.concatenate(pieces)
    soundfile.write(audio, pcm, SAMPLE_RATE, "PCM_16")
    text = " ".join(voice.text for voice in recordings.values())
    words = tuple(spoken) if whole else ()
    return Material("voices", audio, words, text, len(pcm) / SAMPLE_RATE)


def moved(word: SpokenWord, by_s: float) -> SpokenWord:
    """Return a word moved later by `by_s`."""
    return SpokenWord(text=word.text, start_s=word.start_s + by_s, end_s=word.end_s + by_s)


def times_file(audio: Path) -> Path:
    """Return the path of a recording's word times."""
    return audio.with_suffix(".words.json")


def word_times(audio: Path) -> tuple[SpokenWord, ...]:
    """Return the words of a recording; () if there are no word times.

    Raises SessionError (reference-unreadable).
    """
    file = times_file(audio)
    if not file.exists():
        return ()
    try:
        return WordTimes.model_validate_json(file.read_bytes()).words
    except (OSError, ValidationError) as error:
        said = str(error).splitlines()[0]
        raise SessionError("reference-unreadable", f"{file} cannot be used: {said}.") from None


def utterances(pcm: Pcm, vad: Vad) -> list[Utterance]:
    """Cut audio as the program does; return each utterance's last final version."""
    segmenter = Segmenter(vad.model_copy(update={"partial_ms": 0}))
    ready: list[Utterance] = []
    audio = np.concatenate([pcm, np.zeros(SAMPLE_RATE, np.float32)])
    for block, probability in zip(blocks(audio), probabilities(audio), strict=True):
        ready += segmenter.push(block, probability)
    return last_finals([*ready, *segmenter.flush()])


def blocks(pcm: Pcm) -> Iterator[AudioBlock]:
    """Yield audio in blocks; a last partial block is left out."""
    for start in range(0, len(pcm) - BLOCK_SAMPLES + 1, BLOCK_SAMPLES):
        yield AudioBlock(start, pcm[start : start + BLOCK_SAMPLES])


def probabilities(pcm: Pcm) -> list[float]:
    """Return Silero's speech probability of each block."""
    detector = Silero()
    detector.load()
    return [detector.probability(block.pcm) for block in blocks(pcm)]

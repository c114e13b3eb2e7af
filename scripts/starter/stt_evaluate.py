"""Figures of the committed speech model, through the daemon's own recognizer."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import corpora
import numpy as np
import speech
from nonspeech import nonspeech
from stt_held_out import Spoken, held_out
from stt_score import word_error_rate
from tqdm import tqdm

from pipeline.engines.whisper import Whisper

SENTENCES = 200  # from the held-out books, and as many from held-out Tatoeba
NOISES = 100
SEED = "evaluate"
FULL_WINDOW_S = 30.0
SHORT_WINDOW_S = 10.0


@dataclass(frozen=True)
class Heard:
    """What the model made of one sentence, and how long it took."""

    spoken: Spoken
    text: str
    seconds: float


def hear(model: Whisper, sentences: Sequence[Spoken], label: str) -> list[Heard]:
    """Transcribe every sentence."""
    heard = []
    for sentence in tqdm(sentences, desc=label, unit="sentence", mininterval=5):
        began = time.perf_counter()
        text = model.recognize(sentence.audio, final=True).text
        heard.append(Heard(sentence, text, time.perf_counter() - began))
    return heard


def wer(heard: Sequence[Heard], source: str | None = None) -> float:
    """Word error rate, of one source or of all."""
    return word_error_rate(
        (one.spoken.text, one.text) for one in heard if source in {None, one.spoken.source}
    )


def no_speech_chances(folder: Path, audios: Sequence[speech.Audio]) -> list[float]:
    """The probability of no speech after the start token, in the short window, of each audio."""
    import ctranslate2  # noqa: PLC0415 - the tests import this module without models
    from faster_whisper.feature_extractor import FeatureExtractor  # noqa: PLC0415

    model = ctranslate2.models.Whisper(str(folder), device="cpu", compute_type="int8")
    extractor, start = FeatureExtractor(feature_size=80), "<|startoftranscript|>"
    chances = []
    for audio in audios:
        mel = extractor(audio)
        features = np.zeros((1, 80, max(1000, mel.shape[1] + 200) // 2 * 2), np.float32)
        features[0, :, : mel.shape[1]] = mel
        found = model.generate(
            ctranslate2.StorageView.from_array(features),
            [[start, "<|notimestamps|>"]],
            beam_size=1,
            max_length=3,
            return_no_speech_prob=True,
        )
        chances.append(found[0].no_speech_prob)
    return chances


def figures(folder: Path, split: corpora.Split, threads: int = 2) -> Iterator[tuple[str, str]]:
    """(name, value) of every figure, as they are printed."""
    sentences = list(held_out(split, SENTENCES, SEED))
    size = sum(path.stat().st_size for path in folder.iterdir())
    yield "size", f"{size / 1e6:.1f} MB"
    audio_s = sum(len(one.audio) for one in sentences) / speech.SAMPLE_RATE_HZ
    tokenizer = _tokenizer(folder)
    for name, window_s in (("short window", SHORT_WINDOW_S), ("padded to 30 s", FULL_WINDOW_S)):
        model = Whisper(folder, threads=threads, window_s=window_s)
        model.load()
        heard = hear(model, sentences, f"stt, {name}")
        spent_s = sum(one.seconds for one in heard)
        tokens = sum(len(tokenizer.encode(one.text).ids) for one in heard)
        books, tatoeba = wer(heard, "books"), wer(heard, "tatoeba")
        yield f"WER {name}", f"{wer(heard):.1%} (books {books:.1%}, Tatoeba {tatoeba:.1%})"
        speed = f"{spent_s / len(heard) * 1e3:.0f} ms a sentence, {tokens / spent_s:.0f} tokens/s"
        yield f"speed {name}", f"{speed}, {audio_s / spent_s:.0f} times real time"
    draw = random.Random(SEED)
    noises = [speech.level(nonspeech(draw.uniform(1, 8), draw), draw) for _ in range(NOISES)]
    for name, audios in (("noise", noises), ("speech", [one.audio for one in sentences[::4]])):
        chances = np.array(no_speech_chances(folder, audios))
        above = f"above 0.6 in {np.mean(chances > 0.6):.0%}"
        yield f"no-speech probability in {name}", f"median {np.median(chances):.3f}, {above}"


def _tokenizer(folder: Path) -> object:
    from tokenizers import Tokenizer  # noqa: PLC0415

    return Tokenizer.from_file(str(folder / "tokenizer.json"))

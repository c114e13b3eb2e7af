"""Evaluate the starter speech model through the daemon's own recognizer."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ctranslate2
import numpy as np
from faster_whisper.feature_extractor import FeatureExtractor
from tokenizers import Tokenizer
from tqdm import tqdm

from pipeline.dictionary.matcher import compile_lexicon
from pipeline.dictionary.rules import parse_rules
from pipeline.engines.ctranslate2.whisper import Whisper
from scripts.support.paths import ROOT
from training.data import corpora, speech
from training.data.nonspeech import nonspeech
from training.evaluate.evaluate import Row, size_of
from training.evaluate.stt_held_out import Spoken, held_out
from training.evaluate.stt_score import word_error_rate

SENTENCES = 200  # from the held-out books, and the same number from held-out Tatoeba
NOISES = 100
SEED = "evaluate"
FULL_WINDOW_S = 30.0
SHORT_WINDOW_S = 10.0


@dataclass(frozen=True)
class Heard:
    """The model's text for one sentence, and the time it took."""

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


def wer(heard: Iterable[Heard]) -> str:
    """Return the word error rate in percent."""
    return f"{word_error_rate((one.spoken.text, one.text) for one in heard):.1%}"


def no_speech_chances(directory: Path, audios: Sequence[speech.Audio], threads: int) -> list[float]:
    """Return each audio's no-speech probability after the start token, in the short window."""
    model = ctranslate2.models.Whisper(str(directory), compute_type="int8", intra_threads=threads)
    extractor = FeatureExtractor(feature_size=80)
    chances = []
    for audio in audios:
        mel = extractor(audio)
        features = np.zeros((1, 80, max(1000, mel.shape[1] + 200) // 2 * 2), np.float32)
        features[0, :, : mel.shape[1]] = mel
        found = model.generate(
            ctranslate2.StorageView.from_array(features),
            [["<|startoftranscript|>", "<|notimestamps|>"]],
            beam_size=1,
            max_length=3,
            return_no_speech_prob=True,
        )
        chances.append(found[0].no_speech_prob)
    return chances


def hotwords() -> str:
    """Return the words of the shipped dictionary that the daemon passes to the recognizer."""
    path = ROOT / "dictionary" / "en.toml"
    rules = parse_rules(path.read_text(encoding="utf-8"), path.name)
    return compile_lexicon(rules).hotwords(40)


def rows(directory: Path, split: corpora.Split, threads: int) -> Iterator[Row]:
    """Yield word errors and speed with three settings, and the no-speech probability of noise."""
    sentences = list(held_out(split, SENTENCES, SEED))
    audio_s = sum(len(one.audio) for one in sentences) / speech.SAMPLE_RATE_HZ
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    settings = (
        ("short window", SHORT_WINDOW_S, ""),
        ("short window, dictionary's words", SHORT_WINDOW_S, hotwords()),
        ("padded to 30 s", FULL_WINDOW_S, ""),
    )
    for name, window_s, terms in settings:
        model = Whisper(directory, threads=threads, window_s=window_s, hotwords=terms)
        model.load()
        heard = hear(model, sentences, f"stt, {name}")
        spent_s = sum(one.seconds for one in heard)
        tokens = sum(len(tokenizer.encode(one.text).ids) for one in heard)
        books = wer(one for one in heard if one.spoken.source == "books")
        tatoeba = wer(one for one in heard if one.spoken.source == "tatoeba")
        clean = wer(one for one in heard if one.spoken.clean)
        parts = f"books {books}, Tatoeba {tatoeba}; without room and noise {clean}"
        yield "stt", f"WER, {name}", f"{wer(heard)} ({parts})"
        speed = f"{spent_s / len(heard) * 1e3:.0f} ms a sentence, {tokens / spent_s:.0f} tokens/s"
        yield "stt", f"speed, {name}", f"{speed}, {audio_s / spent_s:.0f} times real time"
    draw = random.Random(SEED)
    noises = [speech.level(nonspeech(draw.uniform(1, 8), draw), draw) for _ in range(NOISES)]
    for name, audios in (("noise", noises), ("speech", [one.audio for one in sentences[::4]])):
        chances = np.array(no_speech_chances(directory, audios, threads))
        above = f"above 0.6 in {np.mean(chances > 0.6):.0%}"
        yield "stt", f"no-speech probability, {name}", f"median {np.median(chances):.3f}, {above}"
    yield "stt", "size", size_of(directory)

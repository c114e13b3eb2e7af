"""Recognize sentences that Kokoro says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import soxr

from pipeline.config.schema import Settings
from pipeline.core.types import SAMPLE_RATE, Recognition
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.factory import recognizer
from pipeline.engines.speech.espeak import RATE_HZ
from pipeline.evaluation.meaning import Sentence
from pipeline.models.library import ModelLibrary
from scripts.support.command import progress
from scripts.support.kokoro import kokoro


def recognized(sentences: Sequence[Sentence], settings: Settings) -> dict[str, Recognition]:
    """Return the recognition of each sentence, by its id. Raises StarkError."""
    voice = kokoro("en", library=ModelLibrary.of(settings))
    engine = recognizer(settings, Dictionary(settings))
    engine.load()
    found = {}
    for sentence in progress(sentences, "speaking"):
        sound = soxr.resample(voice.speak(sentence.said, "en", 1.0), RATE_HZ, SAMPLE_RATE)
        # Add some silence around it, as the voice detector leaves.
        pcm = np.pad(sound.astype(np.float32), SAMPLE_RATE // 5)
        found[sentence.id] = engine.recognize(pcm, final=True)
    return found

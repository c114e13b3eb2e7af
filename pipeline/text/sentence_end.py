"""Predict whether a sentence is over where its speaker pauses. Pure.

Recognizers write a full stop wherever the sound ends, so the written one is no evidence. What is:
how sure the recognizer was of it, and the last word. Logistic regression; the weights are fitted on
natural voices with a preacher's pauses, as Whisper base hears them (docs/decisions/063).
"""

from __future__ import annotations

import math

from pipeline.core.language_words import WORDS
from pipeline.text.words import words

HALF = 0.5
"""From so sure on a text is taken for half a sentence."""

_BIAS, _STOP, _OPEN, _LENGTH = 0.0, 1.0, 2.0, 0.0

_ENOUGH_WORDS = 25
"""A caption with so many words waits for no more: nobody reads a longer one in one go."""


def goes_on(text: str, stop: float | None, lang: str) -> float:
    """Return how likely a text's sentence is not over, 0..1.

    `stop`: how sure the recognizer was of a mark that ends a sentence behind the last word; None
    where it does not tell, and then only the last word speaks.
    """
    said = words(text)
    if not said or len(said) >= _ENOUGH_WORDS:
        return 0.0
    of_lang = WORDS.get(lang)
    is_open = of_lang is not None and said[-1] in of_lang.unfinished
    if stop is None:
        return 1.0 if is_open else 0.0
    sure = min(max(stop, 1e-4), 1 - 1e-4)
    logit = _BIAS - _STOP * math.log(sure / (1 - sure)) + _OPEN * is_open
    return 1 / (1 + math.exp(-logit))

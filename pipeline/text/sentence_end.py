"""Predict from its words whether a sentence is over where its speaker pauses. Pure.

Recognizers write a full stop wherever the sound ends, and are as sure of it within a sentence as at
its end: what they say is no evidence (docs/decisions/063). What is: the last words, the first and
how many there are. Logistic regression on these; languages/endings/CODE.json has the weights, made
by training.train.train_sentence_end. A language without such a file is left alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipeline.core.resources import bundled
from pipeline.text.words import words

HALF = 0.5
"""From so sure on a text is taken for half a sentence."""

ENOUGH_WORDS = 25
"""A caption with so many words waits for no more: nobody reads a longer one in one go."""

_LENGTHS = (1, 2, 3, 4, 6, 9, 14)
_PAUSE_BIAS, _SHARPNESS = -1.0, 2.0
"""Where speakers pause more sentences are over than among the places that the weights are from."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Of a language: by feature, positive where a sentence goes on."""

    bias: float
    of: dict[str, float]


def features(said: Sequence[str]) -> Iterator[str]:
    """Yield what is known of a text's words, at least one."""
    yield f"last {said[-1]}"
    yield f"first {said[0]}"
    yield f"count {next((most for most in _LENGTHS if len(said) <= most), 'more')}"
    if len(said) > 1:
        yield f"before {said[-2]}"
        yield f"pair {said[-2]} {said[-1]}"


def goes_on(text: str, lang: str) -> float:
    """Return how likely a text's sentence is not over, 0..1; 0 where nothing is known of it."""
    weights = weights_of(lang)
    said = words(text)
    if weights is None or not said or len(said) >= ENOUGH_WORDS:
        return 0.0
    logit = weights.bias + _PAUSE_BIAS + sum(weights.of.get(each, 0.0) for each in features(said))
    return 1 / (1 + math.exp(-_SHARPNESS * logit))


@cache
def weights_of(lang: str) -> Weights | None:
    """Return the weights of a language, None where there are none. They are read once."""
    file = Path(bundled("languages", "endings", f"{lang}.json"))
    return Weights(**json.loads(file.read_text("utf-8"))) if file.is_file() else None

"""The values that are passed from stage to stage."""

from __future__ import annotations

import dataclasses

import numpy as np

from pipeline.core import types
from pipeline.core.types import Caption, Recognition, Span, Transcript, Utterance


def test_every_value_is_frozen() -> None:
    kinds = [k for k in vars(types).values() if dataclasses.is_dataclass(k)]
    assert len(kinds) > 10
    assert [k for k in kinds if not k.__dataclass_params__.frozen] == []  # type: ignore[union-attr]


def test_times_come_from_samples_and_a_caption_knows_its_way() -> None:
    utterance = Utterance(3, 1, True, "silence", 16_000, 40_000, np.zeros(1, np.float32))
    caption = Caption(Transcript(utterance, "en", "a", "a", Recognition("a")), "es", "b", "x", True)
    assert (utterance.start_s, utterance.end_s) == (1.0, 2.5)
    assert caption.id == 3
    assert Span(1.0, 1.25).ms == 250.0

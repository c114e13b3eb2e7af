from __future__ import annotations

import pytest

from pipeline.core.types import Translation
from pipeline.engines.parts import join


def test_nothing() -> None:
    assert join("gemma", []) == Translation("", "gemma")


def test_the_whole_is_the_sum_of_its_parts() -> None:
    whole = join(
        "gemma",
        [
            Translation("Gracia.", "gemma", 2, -0.1, prompt_tokens=10, reused_tokens=0),
            Translation("", "gemma", 0, None, prompt_tokens=10, reused_tokens=7, stopped="loop"),
            Translation("Y paz.", "gemma", 3, -0.6, prompt_tokens=9, reused_tokens=7),
        ],
    )
    assert whole == Translation(
        "Gracia. Y paz.", "gemma", 5, whole.avg_logprob, 29, 14, stopped="loop"
    )
    assert whole.avg_logprob == pytest.approx(-0.4)

"""Words and their probabilities: from tokens made by hand, and from the real starter model."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pipeline.core.types import Pcm, Word
from pipeline.engines.ctranslate2.whisper import Whisper, choices, words


class Pieces:
    """A tokenizer whose tokens are the pieces of a text, each once."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces

    def id_to_token(self, token: int) -> str:
        return self.pieces[token].replace(" ", "Ġ")

    def decode(self, tokens: list[int]) -> str:
        return "".join(self.pieces[token] for token in tokens)


def told(pieces: list[tuple[str, float]], text: str) -> tuple[Word, ...]:
    chosen = [(number, math.log(share)) for number, (_, share) in enumerate(pieces)]
    return words(chosen, text, Pieces(*(piece for piece, _ in pieces)))


@pytest.mark.parametrize(
    ("pieces", "likely"),
    [
        ([(" Habak", 0.5), ("kuk", 0.4), (" spoke", 0.9)], {"Habakkuk": 0.2, "spoke": 0.9}),
        # A comma in doubt is no word in doubt, but half a letter counts.
        (
            [(" Amen", 0.9), (",", 0.1), (" —", 0.3), (" brothers", 0.8), (".", 0.2)],
            {"Amen,": 0.9, "—": 0.3, "brothers.": 0.8},
        ),
        ([(" Jes", 0.9), ("\ufffd", 0.5), ("s", 1.0)], {"Jes\ufffds": 0.45}),
        ([(" Amen", 0.9), (" ", 0.5)], {"Amen": 0.9}),
    ],
)
def test_a_word_is_as_likely_as_all_its_tokens_together(
    pieces: list[tuple[str, float]], likely: dict[str, float]
) -> None:
    found = {word.text: word.probability for word in told(pieces, " ".join(likely))}
    assert found == pytest.approx(likely)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([], ""),
        ([(" Amen", 0.9)], ""),
        ([(" Amen", 0.9)], "Amen brothers"),
        ([(" no space within", 0.9)], "no space within"),
    ],
)
def test_what_does_not_fit_the_text_is_not_told(pieces: list[tuple[str, float]], text: str) -> None:
    assert told(pieces, text) == ()


@pytest.mark.slow
def test_the_choices_add_up_to_the_score_that_whisper_gives(
    whisper: Whisper, sermon: list[tuple[Pcm, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[Any] = []

    def spy(result: Any) -> list[tuple[int, float]]:
        results.append(result)
        return choices(result)

    monkeypatch.setattr("pipeline.engines.ctranslate2.whisper.choices", spy)
    whisper.recognize(sermon[2][0], final=True)
    (result,) = results
    chosen = choices(result)
    assert [token for token, _ in chosen] == result.sequences_ids[0]
    total = result.scores[0] * len(chosen)  # the end of the text included
    assert total <= sum(logprob for _, logprob in chosen) < total + 1.0

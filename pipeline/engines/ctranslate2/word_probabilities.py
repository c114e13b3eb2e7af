"""Measure how sure Whisper is of each word: the probability with which it chose its tokens.

They are those of the one decoding that made the text. faster-whisper's own word probabilities cost
another pass of the decoder, and change where its next window starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from pipeline.core.types import Word

Choice: TypeAlias = tuple[int, float]
"""A token and its log-probability, given all before it."""

_SPACE = "Ġ"  # how byte-level BPE writes the space that begins a word
_UNFINISHED = "\ufffd"  # a letter of which a token holds some bytes only


def choices(result: Any) -> list[Choice]:
    """Return what a `WhisperGenerationResult` chose; it must hold the logits of each step."""
    # There is one step more than tokens: the end of the text.
    steps = zip(result.sequences_ids[0], result.logits[0], strict=False)
    return [(token, _logprob(step, token)) for token, step in steps]


def words(choices: Sequence[Choice], text: str, tokenizer: Any) -> tuple[Word, ...]:
    """Return the words of `text`, split at white space, with their probabilities.

    `tokenizer` is a `tokenizers.Tokenizer`. A word's probability is the product of its tokens',
    punctuation left out where there is anything else. Empty if the tokens do not make the text.
    """
    groups: list[list[Choice]] = []
    for choice in choices:
        if not groups or str(tokenizer.id_to_token(choice[0])).startswith(_SPACE):
            groups.append([])
        groups[-1].append(choice)
    made = [_word(group, tokenizer) for group in groups]
    made = [word for word in made if word.text]
    return tuple(made) if [word.text for word in made] == text.split() else ()


def _word(choices: Sequence[Choice], tokenizer: Any) -> Word:
    spoken = [logprob for token, logprob in choices if _says(tokenizer.decode([token]))]
    logprob = sum(spoken or [logprob for _, logprob in choices])
    text = tokenizer.decode([token for token, _ in choices]).strip()
    return Word(text, float(np.exp(logprob)))


def _says(piece: str) -> bool:
    return any(sign.isalnum() or sign == _UNFINISHED for sign in piece)


def _logprob(step: Any, token: int) -> float:
    """Return the token's log-probability among a step's scores, a StorageView of (1, tokens)."""
    import ctranslate2  # noqa: PLC0415 - heavy, and loaded by now

    if step.device != "cpu":
        step = step.to_device(ctranslate2.Device.cpu)
    scores = np.asarray(step.to(ctranslate2.DataType.float32)).ravel()
    # Less the highest: exp of the others cannot overflow.
    scores = scores - scores.max()
    return float(scores[token] - np.log(np.exp(scores).sum()))

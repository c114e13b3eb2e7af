"""Compare a GGUF file with its checkpoint: the same tokens, the same logits."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import TokenType
from numpy.typing import NDArray

from pipeline.core.errors import ModelError
from pipeline.engines.llama_cpp.llama import Llama, LlamaError
from training.gguf_export.checkpoint import Checkpoint
from training.gguf_export.forward import logits
from training.gguf_export.vocabulary import Vocabulary

TOLERANCE = 0.01
"""Largest difference between the logits of an F16 file and of its checkpoint: the median over
positions of the root mean square of the differences, as a share of the spread of all logits.
llama.cpp rounds factors to F16 (half a thousandth). This may change the result at a position or
two, hence the median. A wrong order of rows, norm or base changes more than a tenth everywhere. A
comparison cannot show a size that was given wrongly, since both sides use it."""

PROMPTS = 4
PROMPT_TOKENS = 48
_TEXTS = 200
_F32 = 0  # ggml_type
_WRITTEN = (
    "In the beginning God created the heaven and the earth.",
    "¿Cómo estás, Nehemías? Támesis, ñandú y pingüino — 1904, 3:16.",
    "Łódź ☃ 你好 two  spaces, a\ttab\nand a line; \"quotes\" 'here'",
)


@dataclass(frozen=True, slots=True)
class Prompts:
    """Random ids (prompts, tokens), and the checkpoint's logits (prompts, tokens, vocabulary)."""

    ids: NDArray[np.int64]
    logits: NDArray[np.float32]


class ExactLlama(Llama):
    """llama.cpp without avoidable rounding: a float32 cache, plain attention."""

    def __init__(self, path: Path, threads: int, context: int) -> None:
        try:
            super().__init__(
                path,
                gpu_layers=0,
                threads=threads,
                context=context,
                batch=context,
                flash_attention=False,
            )
        except LlamaError as error:
            raise ModelError(
                "model-broken", f"{path} cannot be loaded by llama.cpp: {error}.", ""
            ) from error

    def logits(self, ids: list[int]) -> NDArray[np.float32]:
        """Return the logits (len(ids), vocabulary) after each of `ids`, with an empty context."""
        self.reset()
        self.feed(ids, every=True)
        pointer = self._c.llama_get_logits(self._context)
        return np.ctypeslib.as_array(pointer, shape=(len(ids), self._vocab_size)).copy()

    def _context_settings(self, *arguments: Any) -> Any:
        settings = super()._context_settings(*arguments)
        settings.type_k = settings.type_v = _F32
        return settings


def prompts(
    checkpoint: Checkpoint, vocabulary: Vocabulary, on_prompt: Callable[[int, int], None]
) -> Prompts:
    """Draw random prompts, always the same ones, and compute the checkpoint's logits for them."""
    spoken = [*vocabulary.of_type(TokenType.NORMAL), *vocabulary.of_type(TokenType.BYTE)]
    length = min(PROMPT_TOKENS, checkpoint.shape.context)
    ids = np.random.default_rng(5).choice(spoken, (PROMPTS, length))
    found = []
    for count, row in enumerate(ids, 1):
        found.append(logits(checkpoint, torch.from_numpy(row[None]))[0].numpy())
        on_prompt(count, PROMPTS)
    return Prompts(ids, np.stack(found))


def difference(path: Path, wanted: Prompts, threads: int) -> float:
    """Return the difference between a GGUF file's logits and `wanted`, as in TOLERANCE."""
    runtime = ExactLlama(path, threads, context=wanted.ids.shape[1])
    made = np.stack([runtime.logits([int(token) for token in row]) for row in wanted.ids])
    by_position = np.sqrt(np.square(made - wanted.logits).mean(-1))
    return float(np.median(by_position) / wanted.logits.std())


def check_logits(path: Path, wanted: Prompts, threads: int) -> float:
    """Return the difference of an F16 file. Raises ModelError for more than TOLERANCE."""
    found = difference(path, wanted, threads)
    if not found <= TOLERANCE:
        raise ModelError(
            "export-differs",
            f"llama.cpp computes other logits than the checkpoint: {found:.2%} of their spread "
            f"apart, at most {TOLERANCE:.0%} is allowed.",
            "Nothing was kept. Both sides read the same sizes, so this is no wrong flag: "
            "report it, with the config.json.",
        )
    return found


def check_tokens(path: Path, vocabulary: Vocabulary, threads: int) -> int:
    """Compare the tokens of random and of written texts; return the number of texts.

    Also check that no text becomes a control token unless it may. Raises ModelError.
    """
    runtime, processor = ExactLlama(path, threads, context=64), vocabulary.processor
    texts = [
        text for text in _texts(vocabulary) if processor.decode(processor.encode(text)) == text
    ]
    for text in texts:
        ours, theirs = runtime.tokenize(text, special=False), processor.encode(text)
        if ours != theirs:
            raise ModelError(
                "export-tokens",
                f"llama.cpp splits {text!r} into {ours}, the tokenizer into {theirs}.",
                "llama.cpp cannot take over this tokenizer.",
            )
    for token in vocabulary.of_type(TokenType.CONTROL):
        text = vocabulary.texts[token]
        if runtime.tokenize(text, special=True) != [token]:
            raise ModelError("export-tokens", f"llama.cpp does not know {text!r} as a token.", "")
        if token in runtime.tokenize(text, special=False):
            raise ModelError("export-tokens", f"Anybody could speak the token {text!r}.", "")
    end = vocabulary.end_of_turn
    if end >= 0 and not runtime.ends(end):
        raise ModelError("export-end", f"{vocabulary.texts[end]!r} would not end an answer.", "")
    return len(texts)


def _texts(vocabulary: Vocabulary) -> list[str]:
    """Return texts that a tokenizer may get; it may not keep some of them unchanged."""
    draw = random.Random(5)
    spoken = vocabulary.of_type(TokenType.NORMAL)
    decode = vocabulary.processor.decode
    return [
        *_WRITTEN,
        *(decode(draw.choices(spoken, k=draw.randint(1, 30))) for _ in range(_TEXTS)),
    ]

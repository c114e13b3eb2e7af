"""Translate many texts at once by a `gemma_model.Gemma`, faster than any runtime does one by one.

Texts with the same number of tokens are decoded together, so that nothing is padded and only the
prompt needs a mask. Decoding is greedy and keeps the keys and values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.functional import gelu

from training.models.gemma_model import (
    GLOBAL_EVERY,
    LOCAL_ROPE_BASE,
    Block,
    Gemma,
    rotary_table,
    rotate,
)

Cache = list[tuple[Tensor, Tensor]]
"""Keys and values (batch, key heads, length, head width) by layer."""


def greedy(
    model: Gemma, prompts: Sequence[Sequence[int]], ends: frozenset[int], most: int
) -> list[list[int]]:
    """Return the answer to each prompt; all prompts have one length.

    An answer has no end token; an answer that has not ended has `most` tokens."""
    answers: list[list[int]] = [[] for _ in prompts]
    open_ones = list(range(len(prompts)))
    ids = torch.tensor([list(prompt) for prompt in prompts])
    cache: Cache = []
    start = 0
    while open_ones and len(answers[open_ones[0]]) < most:
        with torch.no_grad():
            hidden, cache = _forward(model, ids, cache, start)
            chosen = model.logits(hidden[:, -1]).argmax(-1).tolist()
        start += ids.shape[1]
        kept = [place for place, token in enumerate(chosen) if token not in ends]
        if len(kept) < len(open_ones):
            rows = torch.tensor(kept, dtype=torch.long)
            cache = [(keys[rows], values[rows]) for keys, values in cache]
        open_ones = [open_ones[place] for place in kept]
        ids = torch.tensor([[chosen[place]] for place in kept])
        for index, place in zip(open_ones, kept, strict=True):
            answers[index].append(chosen[place])
    return answers


def _forward(model: Gemma, ids: Tensor, cache: Cache, start: int) -> tuple[Tensor, Cache]:
    """Ids (batch, length) from position `start` on -> states (batch, length, width)."""
    shape, (batch, length) = model.shape, ids.shape
    x = model.embeddings(ids) * shape.width**0.5
    position = torch.arange(start, start + length).expand(batch, length)
    local, everywhere = (
        rotary_table(position, shape.head_width, base)
        for base in (LOCAL_ROPE_BASE, shape.rope_base)
    )
    grown: Cache = []
    for layer, block in enumerate(_blocks(model)):
        turned = everywhere if layer % GLOBAL_EVERY == GLOBAL_EVERY - 1 else local
        attended, kept = _attend(
            block, block.attention_norm(x), turned, cache[layer] if cache else None
        )
        grown.append(kept)
        x = x + block.after_attention(attended)
        y = block.feed_norm(x)
        x = x + block.after_feed(block.down(gelu(block.gate(y), approximate="tanh") * block.up(y)))
    hidden: Tensor = model.final_norm(x)
    return hidden, grown


def _attend(
    block: Block, x: Tensor, turned: tuple[Tensor, Tensor], before: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """x (batch, length, width) to the same shape, and all keys and values so far."""
    shape, (batch, length, _) = block.shape, x.shape
    split = (batch, length, -1, shape.head_width)
    v = block.v(x).view(split)
    q = rotate(block.q_norm(block.q(x).view(split)), *turned).to(v.dtype).transpose(1, 2)
    k = rotate(block.k_norm(block.k(x).view(split)), *turned).to(v.dtype).transpose(1, 2)
    v = v.transpose(1, 2)
    if before is not None:
        k, v = torch.cat([before[0], k], 2), torch.cat([before[1], v], 2)
    # Query heads that share a key head are stacked, so that no key is copied.
    share = shape.heads // shape.kv_heads
    q = q.reshape(batch, shape.kv_heads, share * length, shape.head_width)
    scores = (q @ k.transpose(2, 3)).float() * shape.head_width**-0.5
    scores = scores.view(batch, shape.heads, length, -1)
    if length > 1:
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -1e9)
    z = scores.softmax(-1).to(v.dtype).view(batch, shape.kv_heads, share * length, -1) @ v
    z = z.view(batch, shape.heads, length, shape.head_width)
    return block.o(z.transpose(1, 2).reshape(batch, length, -1)), (k, v)


def _blocks(model: Gemma) -> Iterator[Block]:
    for block in model.blocks:
        if isinstance(block, Block):
            yield block

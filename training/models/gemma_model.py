"""The Gemma-3 architecture in its text-only form, small enough to train on one CPU core.

Method: Gemma 3 technical report, arXiv:2503.19786. Norms before and after attention and
feed-forward, norms on queries and keys, rotary positions, GeGLU, tied and scaled embeddings, five
local layers (rotary base 10,000) for each global one (base 1,000,000). Training sequences are much
shorter than the sliding window, so local attention is plain causal attention here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from training.data.packing import Packed

GLOBAL_EVERY = 6
LOCAL_ROPE_BASE = 10_000.0


@dataclass(frozen=True)
class GemmaShape:
    """Sizes of the model; `vocabulary` in pieces, the rest in units or layers."""

    vocabulary: int
    width: int = 256
    layers: int = 6
    heads: int = 4
    kv_heads: int = 2
    head_width: int = 64
    hidden: int = 768
    sliding_window: int = 512
    rope_base: float = 1_000_000.0
    norm_epsilon: float = 1e-6

    def as_dict(self) -> dict[str, Any]:
        """Return the content of shape.json beside the checkpoint."""
        return asdict(self)


class Norm(nn.Module):
    """An RMS norm whose stored weight is the difference from one, as in Gemma."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """x (..., width) to the same shape, in float32."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)
        return wide * (1.0 + self.weight)


class Block(nn.Module):
    """Attention and feed-forward of one layer on x (batch, length, width)."""

    def __init__(self, shape: GemmaShape) -> None:
        super().__init__()
        self.shape = shape
        width, inner = shape.width, shape.heads * shape.head_width
        inner_kv = shape.kv_heads * shape.head_width
        self.q = nn.Linear(width, inner, bias=False)
        self.k = nn.Linear(width, inner_kv, bias=False)
        self.v = nn.Linear(width, inner_kv, bias=False)
        self.o = nn.Linear(inner, width, bias=False)
        self.gate = nn.Linear(width, shape.hidden, bias=False)
        self.up = nn.Linear(width, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, width, bias=False)
        for name in ("attention_norm", "after_attention", "feed_norm", "after_feed"):
            setattr(self, name, Norm(width, shape.norm_epsilon))
        self.q_norm = Norm(shape.head_width, shape.norm_epsilon)
        self.k_norm = Norm(shape.head_width, shape.norm_epsilon)

    def forward(self, x: Tensor, hidden_from: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """`hidden_from` (batch, 1, length, length) is true where a key must not be seen."""
        x = x + self.after_attention(self.attend(self.attention_norm(x), hidden_from, cos, sin))
        y = self.feed_norm(x)
        y = self.down(gelu(self.gate(y), approximate="tanh") * self.up(y))
        return x + self.after_feed(y)

    def attend(self, x: Tensor, hidden_from: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """x (batch, length, width) to the same shape."""
        batch, length, _ = x.shape
        split = (batch, length, -1, self.shape.head_width)
        v = self.v(x).view(split)
        q = rotate(self.q_norm(self.q(x).view(split)), cos, sin).to(v.dtype)
        k = rotate(self.k_norm(self.k(x).view(split)), cos, sin).to(v.dtype)
        share = self.shape.heads // self.shape.kv_heads
        if share > 1:
            k, v = k.repeat_interleave(share, 2), v.repeat_interleave(share, 2)
        # Not fused: for such short sequences, the backward pass of PyTorch's fused CPU attention
        # takes several times as long as that of these two products.
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        scores = (q @ k.transpose(2, 3)).float() * self.shape.head_width**-0.5
        share_of = scores.masked_fill(hidden_from, -1e9).softmax(-1).to(v.dtype)
        return self.o((share_of @ v).transpose(1, 2).reshape(batch, length, -1))


class Gemma(nn.Module):
    """Packed ids (batch, length) -> hidden states (batch, length, width), before the logits."""

    def __init__(self, shape: GemmaShape) -> None:
        super().__init__()
        self.shape = shape
        self.embeddings = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.final_norm = Norm(shape.width, shape.norm_epsilon)
        # The input embeddings are multiplied by sqrt(width), the output ones are not: this
        # deviation gives inputs and logits of unit size.
        nn.init.normal_(self.embeddings.weight, std=shape.width**-0.5)
        for block in self.blocks:
            for layer in (block.q, block.k, block.v, block.o, block.gate, block.up, block.down):
                nn.init.normal_(layer.weight, std=layer.in_features**-0.5)

    def forward(self, rows: Packed) -> Tensor:
        """Compute the hidden states. Sequences of one row do not attend to each other."""
        x = self.embeddings(rows.ids) * self.shape.width**0.5
        for block, inputs in zip(self.blocks, attention_inputs(rows, self.shape), strict=True):
            x = block(x, *inputs)
        return self.final_norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states (..., width) -> (..., vocabulary)."""
        return linear(hidden, self.embeddings.weight)


def attention_inputs(rows: Packed, shape: GemmaShape) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return each layer's mask, true for a hidden key, and the cosines and sines of positions.

    Sequences of one row do not attend to each other, and no token attends to a later one.
    """
    local, everywhere = (
        rotary_table(rows.position, shape.head_width, base)
        for base in (LOCAL_ROPE_BASE, shape.rope_base)
    )
    length = rows.ids.shape[1]
    future = torch.ones(length, length, dtype=torch.bool, device=rows.ids.device).triu(1)
    hidden_from = (future | (rows.sequence[:, :, None] != rows.sequence[:, None]))[:, None]
    return [
        (hidden_from, *(everywhere if layer % GLOBAL_EVERY == GLOBAL_EVERY - 1 else local))
        for layer in range(shape.layers)
    ]


def rotary_table(position: Tensor, width: int, base: float) -> tuple[Tensor, Tensor]:
    """Return cosines and sines (batch, length, 1, width) for positions (batch, length)."""
    steps = torch.arange(0, width, 2, device=position.device, dtype=torch.float32)
    angles = position[..., None].float() * base ** (-steps / width)
    angles = torch.cat([angles, angles], -1)[:, :, None]
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate each pair of the halves of x (batch, length, heads, width) by its position."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin

"""The computation of a checkpoint in PyTorch: the reference for every GGUF file.

RoPE: arXiv:2104.09864. RMSNorm: arXiv:1910.07467. Gated feed-forward: arXiv:2002.05202. Gemma's
norms, scaled embeddings and local layers: arXiv:2503.19786.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import gelu, linear, silu

from training.gguf_export.checkpoint import Checkpoint, Tensors
from training.gguf_export.shape import Shape


def logits(checkpoint: Checkpoint, ids: Tensor) -> Tensor:
    """Ids (batch, length) to logits (batch, length, vocabulary), all in float32."""
    with torch.no_grad():
        shape, weights = checkpoint.shape, checkpoint.weights
        gemma = shape.architecture == "gemma3"
        x = weights["token_embd"][ids].float()
        if gemma:
            x = x * shape.width**0.5
        for layer, local in enumerate(shape.local):
            block = _Block(shape, weights, f"blk.{layer}.", local=local)
            y = block.attend(block.norm("attn_norm", x))
            x = x + (block.norm("post_attention_norm", y) if gemma else y)
            y = block.feed(block.norm("ffn_norm", x))
            x = x + (block.norm("post_ffw_norm", y) if gemma else y)
        x = _rms(x, shape.norm_epsilon) * weights["output_norm"]
        return linear(x, weights.get("output", weights["token_embd"]).float())


class _Block:
    """One layer on x (batch, length, width)."""

    def __init__(self, shape: Shape, weights: Tensors, prefix: str, *, local: bool) -> None:
        self.shape, self.weights, self.prefix, self.local = shape, weights, prefix, local

    def norm(self, name: str, x: Tensor) -> Tensor:
        return _rms(x, self.shape.norm_epsilon) * self.weights[self.prefix + name]

    def by(self, name: str, x: Tensor) -> Tensor:
        return linear(x, self.weights[self.prefix + name].float())

    def feed(self, x: Tensor) -> Tensor:
        gate = self.by("ffn_gate", x)
        gate = gelu(gate, approximate="tanh") if self.shape.architecture == "gemma3" else silu(gate)
        return self.by("ffn_down", gate * self.by("ffn_up", x))

    def attend(self, x: Tensor) -> Tensor:
        shape = self.shape
        batch, length, _ = x.shape
        q, k, v = (
            self.by(name, x).view(batch, length, -1, shape.head_width).transpose(1, 2)
            for name in ("attn_q", "attn_k", "attn_v")
        )
        if shape.architecture == "gemma3":
            q, k = self.norm("attn_q_norm", q), self.norm("attn_k_norm", k)
        angles = _angles(shape, length, local=self.local)
        q, k = (_rotate(each, angles, pairs=shape.rope_pairs) for each in (q, k))
        share = shape.heads // shape.kv_heads
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
        scores = q @ k.transpose(2, 3) * shape.attention_scale
        back = torch.arange(length)[:, None] - torch.arange(length)
        unseen = (back < 0) | (back >= shape.window if self.local else torch.tensor(False))
        seen = scores.masked_fill(unseen, -torch.inf).softmax(-1) @ v
        return self.by("attn_output", seen.transpose(1, 2).reshape(batch, length, -1))


def _rms(x: Tensor, epsilon: float) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)


def _angles(shape: Shape, length: int, *, local: bool) -> Tensor:
    """Return the rotation angle of each position (length) and pair of units (head_width / 2)."""
    base, scale = (shape.local_rope_base, 1.0) if local else (shape.rope_base, shape.rope_scale)
    steps = torch.arange(0, shape.head_width, 2) / shape.head_width
    return torch.arange(length)[:, None] / scale * base**-steps


def _rotate(x: Tensor, angles: Tensor, *, pairs: bool) -> Tensor:
    """Rotate x (batch, heads, length, head_width)."""
    cos, sin = angles.cos(), angles.sin()
    if pairs:
        first, second = x[..., 0::2], x[..., 1::2]
        turned = first * cos - second * sin, first * sin + second * cos
        return torch.stack(turned, -1).flatten(-2)
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)

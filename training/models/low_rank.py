"""A pretrained Gemma with frozen matrices, each beside a trainable product of two thin matrices.

Method: LoRA (Hu et al., arXiv:2106.09685). The frozen products are int8, with a scale for each row
of the input and of the matrix (LLM.int8, Dettmers et al., arXiv:2208.07339, without its exception
for outliers). On a CPU with AVX-512 VNNI an int8 product takes a quarter of a float32 product's
time. No gradient of a frozen matrix is computed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from training.data import pieces
from training.data.packing import Packed
from training.models.gemma_model import Block, Gemma, GemmaShape, attention_inputs, rotate

# Control tokens have a new meaning here, so their embeddings are trained; all others are frozen.
LEARNING_TOKENS = pieces.PROMPT_END_ID + 1
_NORMS = ("attention_norm", "after_attention", "feed_norm", "after_feed", "q_norm", "k_norm")
_SMALLEST = 1e-12
# Private, but PyTorch's only int8 matrix product; torchao relies on it too.
_int_mm = torch._int_mm  # noqa: SLF001


def quantize_rows(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return int8 numbers and their scales, one for each slice of the matrix along `dim`."""
    scale = x.abs().amax(dim, keepdim=True).clamp_min(_SMALLEST) / 127
    return (x / scale).round().to(torch.int8), scale


class _Int8Product(torch.autograd.Function):
    """x (n, in) times a frozen matrix (out, in), transposed, and the gradient for x alone."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *frozen: Tensor) -> Tensor:
        rows, row_scale, columns, column_scale = frozen
        ctx.save_for_backward(columns, column_scale)
        numbers, scale = quantize_rows(x, 1)
        return _int_mm(numbers, rows.t()).float() * (scale * row_scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        columns, column_scale = ctx.saved_tensors
        numbers, scale = quantize_rows(gradients[0], 1)
        back = _int_mm(numbers, columns).float() * (scale * column_scale)
        return back, None, None, None, None


class LowRankLinear(nn.Module):
    """x (n, in) -> (n, out): a frozen matrix plus `up @ down`, which is zero at first."""

    def __init__(self, matrix: Tensor, rank: int, *, int8: bool) -> None:
        super().__init__()
        self.int8 = int8
        frozen = matrix.detach()
        if int8:
            # Two versions: the product sums over columns, its gradient over rows. A scale must be
            # constant along the summed dimension.
            rows, row_scale = quantize_rows(frozen, 1)
            columns, column_scale = quantize_rows(frozen, 0)
            self.register_buffer("rows", rows.contiguous(), persistent=False)
            self.register_buffer("row_scale", row_scale.t().contiguous(), persistent=False)
            self.register_buffer("columns", columns.contiguous(), persistent=False)
            self.register_buffer("column_scale", column_scale.contiguous(), persistent=False)
        else:
            self.register_buffer("matrix", frozen.clone(), persistent=False)
        out, width = frozen.shape
        self.down = nn.Parameter(torch.randn(rank, width) * width**-0.5)
        self.up = nn.Parameter(torch.zeros(out, rank))

    def forward(self, x: Tensor) -> Tensor:
        """x (n, in) to (n, out)."""
        if self.int8:
            frozen = (self.rows, self.row_scale, self.columns, self.column_scale)
            y = _Int8Product.apply(x, *frozen)
        else:
            y = linear(x, self.matrix)
        learnt: Tensor = y + linear(linear(x, self.down), self.up)
        return learnt

    def learnt(self) -> Tensor:
        """Return the matrix (out, in) to add to the frozen one."""
        return self.up.detach() @ self.down.detach()


class LowRankBlock(nn.Module):
    """A `gemma_model.Block`: one matrix for queries, keys and values, and one for gate and up."""

    def __init__(self, block: Block, shape: GemmaShape, rank: int, *, int8: bool) -> None:
        super().__init__()
        self.shape = shape
        self.qkv = LowRankLinear(
            torch.cat([block.q.weight, block.k.weight, block.v.weight]), rank, int8=int8
        )
        self.o = LowRankLinear(block.o.weight, rank, int8=int8)
        self.gate_up = LowRankLinear(
            torch.cat([block.gate.weight, block.up.weight]), rank, int8=int8
        )
        self.down = LowRankLinear(block.down.weight, rank, int8=int8)
        for name in _NORMS:
            setattr(self, name, getattr(block, name))

    def forward(self, x: Tensor, hidden_from: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """x (batch, length, width) to the same shape; `hidden_from` as in `gemma_model.Block`."""
        x = x + self.after_attention(self.attend(self.attention_norm(x), hidden_from, cos, sin))
        gate, up = self.gate_up(self.feed_norm(x).flatten(0, 1)).chunk(2, 1)
        y = self.down(gelu(gate, approximate="tanh") * up)
        return x + self.after_feed(y.view(x.shape))

    def attend(self, x: Tensor, hidden_from: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """x (batch, length, width) to the same shape."""
        shape, (batch, length, _) = self.shape, x.shape
        heads, groups, width = shape.heads, shape.kv_heads, shape.head_width
        y = self.qkv(x.flatten(0, 1)).view(batch, length, -1, width)
        q, k, v = y.split([heads, groups, groups], 2)
        q = (rotate(self.q_norm(q), cos, sin) * width**-0.5).transpose(1, 2)
        k, v = rotate(self.k_norm(k), cos, sin).transpose(1, 2), v.transpose(1, 2)
        # Query heads that share a key head are stacked, so that no key is copied.
        q = q.reshape(batch, groups, -1, width)
        scores = (q @ k.transpose(2, 3)).view(batch, heads, length, length)
        share_of = scores.masked_fill(hidden_from, -1e9).softmax(-1)
        z = (share_of.view(batch, groups, -1, length) @ v).view(batch, heads, length, width)
        return self.o(z.transpose(1, 2).reshape(batch * length, -1)).view(x.shape)


class LowRankGemma(nn.Module):
    """Computes the same as the `gemma_model.Gemma` it is made from, with few trainable weights."""

    def __init__(self, model: Gemma, rank: int, *, int8: bool = True) -> None:
        super().__init__()
        self.shape = model.shape
        table = model.embeddings.weight.detach()
        self.register_buffer("table", table.clone(), persistent=False)
        self.control = nn.Parameter(table[:LEARNING_TOKENS].clone())
        self.blocks = nn.ModuleList(
            LowRankBlock(block, model.shape, rank, int8=int8)
            for block in model.blocks
            if isinstance(block, Block)
        )
        self.final_norm = model.final_norm

    def forward(self, rows: Packed) -> Tensor:
        """Packed ids (batch, length) -> hidden states (batch, length, width)."""
        learning = (rows.ids < LEARNING_TOKENS)[..., None]
        own = self.control[rows.ids.clamp(max=LEARNING_TOKENS - 1)]
        x = torch.where(learning, own, self.table[rows.ids]) * self.shape.width**0.5
        for block, inputs in zip(self.blocks, attention_inputs(rows, self.shape), strict=True):
            x = block(x, *inputs)
        hidden: Tensor = self.final_norm(x)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states (..., width) -> (..., vocabulary)."""
        learning = linear(hidden, self.control)
        return torch.cat([learning, linear(hidden, self.table[LEARNING_TOKENS:])], -1)

    def merge_into(self, model: Gemma) -> None:
        """Add the learnt changes to the weights of the model that this one was made from."""
        shape = self.shape
        queries, keys = shape.heads * shape.head_width, shape.kv_heads * shape.head_width
        model.embeddings.weight.data[:LEARNING_TOKENS] = self.control.detach()
        for ours, theirs in zip(self.blocks, model.blocks, strict=True):
            q, k, v = ours.qkv.learnt().split([queries, keys, keys])
            gate, up = ours.gate_up.learnt().chunk(2)
            learnt = {"q": q, "k": k, "v": v, "gate": gate, "up": up}
            learnt |= {"o": ours.o.learnt(), "down": ours.down.learnt()}
            for name, difference in learnt.items():
                getattr(theirs, name).weight.data += difference
            for name in _NORMS:
                getattr(theirs, name).weight.data.copy_(getattr(ours, name).weight)
        model.final_norm.weight.data.copy_(self.final_norm.weight)

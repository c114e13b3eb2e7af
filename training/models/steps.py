"""Matrices rounded to the steps of a quantization level, as llama.cpp's quantizer rounds them.

Q5_0 and Q4_0 store a block of 32 weights as whole multiples of one step. The weight of a block that
is farthest from zero becomes the lowest multiple (llama.cpp, ggml-quants.c).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import torch
from torch import Tensor, nn

_BLOCK = 32
LOWEST: Mapping[str, int] = MappingProxyType({"Q5_0": -16, "Q4_0": -8})
"""Level -> its lowest multiple; the highest is one less than its opposite."""
_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8)
"""The shares of a block's largest weight that may be stored; a smaller one gives finer steps."""


def rounded(
    matrix: Tensor,
    level: str,
    *,
    share: Tensor | float = 1.0,
    chance: torch.Generator | None = None,
) -> Tensor:
    """Return a matrix, whose rows are whole blocks, rounded to the steps of `level`.

    Each weight goes to the nearest step. With `chance` it goes up or down at random, in proportion
    to its position, so that sums keep changes of less than half a step (stochastic rounding, Gupta
    et al. 2015, arXiv:1502.02551). `share` (blocks, 1) is the kept share of each block's largest.
    """
    lowest = LOWEST[level]
    blocks = matrix.float().reshape(-1, _BLOCK)
    high, low = blocks.amax(1, keepdim=True), blocks.amin(1, keepdim=True)
    step = torch.where(high > -low, high, low) * share / lowest
    step = torch.where(step == 0, torch.ones_like(step), step)
    multiples = blocks / step
    if chance is not None:
        # The farthest weight must stay the farthest, or the file would have another step.
        shift = torch.rand(blocks.shape, generator=chance) - 0.5
        multiples += shift.scatter_(1, blocks.abs().argmax(1, keepdim=True), 0.0)
    multiples = multiples.round_().clamp_(lowest, -lowest - 1)
    return multiples.mul_(step.half().float()).reshape(matrix.shape)


def spread(model: nn.Module, level: str, chance: torch.Generator) -> None:
    """Move each weight of a model that lies on the steps of `level` to a random place around it.

    A stored model has only the step of a weight. If all weights began in the middle of their steps,
    training would change no step for a long time, and then many at once.
    """
    for matrix in model.parameters():
        if matrix.ndim == 2:
            blocks = matrix.detach().reshape(-1, _BLOCK)
            size = blocks.abs()
            most = size.amax(1, keepdim=True)
            shift = (torch.rand(blocks.shape, generator=chance) - 0.5) * 0.9 * most / -LOWEST[level]
            # The farthest weight does not move and stays the farthest: it defines the step.
            blocks += shift.scatter_(1, size.argmax(1, keepdim=True), 0.0)
            blocks.clamp_(-most, most)


def on_steps(
    weights: Mapping[str, Tensor], level: str, chance: torch.Generator | None = None
) -> dict[str, Tensor]:
    """Return a model's weights with its matrices rounded to `level`; the rest is unchanged."""
    return {
        name: rounded(tensor, level, chance=chance) if tensor.ndim == 2 else tensor
        for name, tensor in weights.items()
    }


class Storing:
    """A model as it is stored at `level`; "" leaves it unchanged.

    The share of each block is chosen once, where rounding changes least. A new share in the middle
    of a training would change half of a block's weights at once. `shares` are those of an earlier
    training.
    """

    def __init__(self, model: nn.Module, level: str, shares: Tensor | None = None) -> None:
        self.level = level
        self._matrices = [each for each in model.parameters() if each.ndim == 2] if level else []
        self.shares = shares
        if self._matrices and shares is None:
            found = [best_shares(each.detach(), level) for each in self._matrices]
            self.shares = torch.cat(found)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Round the matrices to their steps while a loss and its gradients are computed.

        Afterwards they have full precision again, and the training step is taken there. So the
        stored model learns (straight-through estimation, Bengio et al. 2013, arXiv:1308.3432; for
        whole models Jacob et al. 2018, arXiv:1712.05877).
        """
        if self.shares is None:
            yield
            return
        with torch.no_grad():  # all at once: 130 small products would take a GPU longer
            fine = torch.cat([each.reshape(-1, _BLOCK) for each in self._matrices])
            _fill(self._matrices, rounded(fine, self.level, share=self.shares.to(fine.device)))
        try:
            yield
        finally:
            _fill(self._matrices, fine)


def best_shares(matrix: Tensor, level: str) -> Tensor:
    """Return the share (blocks, 1) with which rounding changes each block of a matrix least."""
    blocks = matrix.float().reshape(-1, _BLOCK)
    errors = [(rounded(blocks, level, share=share) - blocks).square_().sum(1) for share in _SHARES]
    return torch.tensor(_SHARES, device=blocks.device)[torch.stack(errors).argmin(0)][:, None]


def _fill(matrices: Sequence[Tensor], blocks: Tensor) -> None:
    parts = blocks.split([each.numel() // _BLOCK for each in matrices])
    with torch.no_grad():
        for each, part in zip(matrices, parts, strict=True):
            each.copy_(part.view_as(each))

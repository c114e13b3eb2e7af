"""Matrices on the steps of a level, as llama.cpp's quantizer puts them.

Q5_0 and Q4_0 store 32 weights as whole multiples of one step. The weight of a block that is
farthest from zero is its lowest multiple (llama.cpp, ggml-quants.c).
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


def rounded(matrix: Tensor, level: str, chance: torch.Generator | None = None) -> Tensor:
    """Return a matrix, whose rows are whole blocks, on the steps of `level`.

    Each weight goes to the nearest step, or with `chance` up or down in proportion to where it
    lies: the sums of a matrix keep what is less than half a step (stochastic rounding, Gupta et
    al. 2015, arXiv:1502.02551).
    """
    lowest = LOWEST[level]
    blocks = matrix.float().reshape(-1, _BLOCK)
    place = blocks.abs().argmax(1, keepdim=True)
    step = blocks.gather(1, place) / lowest
    step = torch.where(step == 0, torch.ones_like(step), step)
    multiples = blocks / step
    if chance is not None:
        # The farthest stays the farthest, or the file would be written with another step.
        shift = torch.rand(blocks.shape, generator=chance) - 0.5
        multiples += shift.scatter_(1, place, 0.0)
    multiples = multiples.round().clamp(lowest, -lowest - 1)
    return (multiples * step.half().float()).reshape(matrix.shape)


def scattered(matrix: Tensor, level: str, chance: torch.Generator) -> Tensor:
    """Return a matrix that lies on the steps of `level`, each weight half a step around its own.

    Otherwise half of the weights of a Q5_0 are halfway between two steps of Q4_0, and the first
    step of a training at that level turns all of them over at once.
    """
    blocks = matrix.float().reshape(-1, _BLOCK)
    step = blocks.abs().amax(1, keepdim=True) / LOWEST[level]
    return (blocks + step * (torch.rand(blocks.shape, generator=chance) - 0.5)).reshape(
        matrix.shape
    )


def on_steps(
    weights: Mapping[str, Tensor], level: str, chance: torch.Generator | None = None
) -> dict[str, Tensor]:
    """Return a model's weights with its matrices on the steps of `level`; the rest as it is."""
    return {
        name: rounded(tensor, level, chance) if tensor.ndim == 2 else tensor
        for name, tensor in weights.items()
    }


@contextmanager
def held_to(model: nn.Module, level: str) -> Iterator[None]:
    """Let the matrices lie on the steps of `level` while a loss and its gradients are computed.

    Afterwards they are as fine as before, and the step is taken there: a model learns to be good
    as it will be stored (straight-through estimation, Bengio et al. 2013, arXiv:1308.3432; for
    whole models Jacob et al. 2018, arXiv:1712.05877). Without a level nothing is done.
    """
    matrices = [each for each in model.parameters() if each.ndim == 2] if level else []
    if not matrices:
        yield
        return
    with torch.no_grad():  # all of them at once: a GPU would spend longer on 130 small steps
        fine = torch.cat([each.reshape(-1, _BLOCK) for each in matrices])
        _fill(matrices, rounded(fine, level))
    try:
        yield
    finally:
        _fill(matrices, fine)


def _fill(matrices: Sequence[Tensor], blocks: Tensor) -> None:
    parts = blocks.split([each.numel() // _BLOCK for each in matrices])
    with torch.no_grad():
        for each, part in zip(matrices, parts, strict=True):
            each.copy_(part.view_as(each))

"""Weights rounded by chance to the steps of a level, so that a small training is not undone.

Q5_0 stores 32 weights as whole multiples of one step. A model that was read from such a file lies
on these steps; what a training adds is mostly less than half a step, and rounding to the nearest
one takes it all away again. Rounded up or down by chance, in proportion to where a weight lies,
the sums of a matrix keep it: stochastic rounding (Gupta et al. 2015, "Deep Learning with Limited
Numerical Precision", arXiv:1502.02551). A weight that is on a step stays, so the exporter then
finds nothing left to round.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from gguf import GGMLQuantizationType, GGUFReader
from torch import Tensor

_BLOCK = 32
_LOWEST, _HIGHEST = -16, 15
_SEED = 5


def has_steps(path: Path) -> bool:
    """Whether the matrices of a GGUF file are on the steps of Q5_0."""
    return any(each.tensor_type == GGMLQuantizationType.Q5_0 for each in GGUFReader(path).tensors)


def on_steps(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a model's weights with its matrices on the steps of Q5_0; the rest as it is."""
    chance = torch.Generator().manual_seed(_SEED)
    return {
        name: rounded(tensor, chance) if tensor.ndim == 2 else tensor
        for name, tensor in weights.items()
    }


def rounded(matrix: Tensor, chance: torch.Generator) -> Tensor:
    """Return a matrix, whose rows are whole blocks, on the steps of Q5_0, by chance."""
    blocks = matrix.float().reshape(-1, _BLOCK)
    place = blocks.abs().argmax(1, keepdim=True)
    # As llama.cpp has it: the weight that is farthest from zero is the lowest multiple.
    step = (blocks.gather(1, place) / _LOWEST).half().float()
    step = torch.where(step == 0, torch.ones_like(step), step)
    # That one stays the farthest, or the step would be another one when the file is written.
    shift = torch.rand(blocks.shape, generator=chance) - 0.5
    shift.scatter_(1, place, 0.0)
    multiples = (blocks / step + shift).round().clamp(_LOWEST, _HIGHEST)
    return (multiples * step).reshape(matrix.shape)

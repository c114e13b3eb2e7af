"""The smoothed loss of a linear output; logits are written once and never kept in float32.

With a vocabulary of 40,000 the loss costs more than the layers before it: PyTorch's own loss reads
and writes the logits some ten times, in float32. Here the gradient is computed at the same time,
from the softmax in the products' precision, as in Liger Kernel (Hsu et al., arXiv:2410.10989).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear


class _LinearLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, *others: Any) -> Tensor:
        """Compute the loss together with both gradients.

        With logits z = hidden @ table.T and p = softmax(z), the loss of a position is
        logsumexp(z) - (1 - s) z[target] - s mean(z), and its gradient by z is
        p - (1 - s) onehot - s / count. Only p is a full matrix; the other terms are added to the
        products with it.
        """
        table, targets, smoothing, dtype = others
        count = len(targets)
        narrow, weights = hidden.to(dtype), table.to(dtype)
        logits = linear(narrow, weights)
        wanted = logits.gather(1, targets[:, None])[:, 0].float()
        share_of = torch.softmax(logits, -1)
        # Use the likeliest token's probability: the target's may round to zero in bfloat16.
        top, at = share_of.max(-1)
        log_sum = logits.gather(1, at[:, None])[:, 0].float() - top.float().log()
        mean_row = table.mean(0)
        smooth = (1 - smoothing) * wanted + smoothing * (hidden.float() @ mean_row)
        by_hidden = (share_of @ weights).float()
        by_hidden -= (1 - smoothing) * table[targets] + smoothing * mean_row
        by_table = None  # frozen
        if ctx.needs_input_grad[1]:
            by_table = (share_of.t() @ narrow).float()
            by_table -= smoothing / len(table) * hidden.sum(0)
            by_table.index_add_(0, targets, hidden.float(), alpha=smoothing - 1)
            by_table.div_(count)
        ctx.save_for_backward(by_hidden.div_(count).to(hidden.dtype), by_table)
        return (log_sum - smooth).mean()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        by_hidden, by_table = ctx.saved_tensors
        table_too = None if by_table is None else by_table * gradients[0]
        return by_hidden * gradients[0], table_too, None, None, None


def linear_loss(
    hidden: Tensor, table: Tensor, targets: Tensor, smoothing: float, dtype: torch.dtype
) -> Tensor:
    """Return the mean cross entropy of `hidden` (count, width) @ `table`.T (width, vocabulary).

    `targets` (count,) are smoothed; products are computed in `dtype`.
    """
    loss: Tensor = _LinearLoss.apply(hidden, table, targets, smoothing, dtype)
    return loss

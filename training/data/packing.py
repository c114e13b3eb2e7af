"""Short sequences packed into rows of one static length, with masks that keep them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

T = TypeVar("T")


@dataclass(frozen=True)
class Packed:
    """All (rows, length), int64: token ids; number of the sequence within its row, 0 for
    padding; position within the sequence."""

    ids: Tensor
    sequence: Tensor
    position: Tensor


def pack(items: Iterable[T], size: Callable[[T], int], length: int) -> list[list[T]]:
    """Put items together into rows of at most `length` tokens: largest first, each into the
    fullest row that still has room for it."""
    rows_by_room: dict[int, list[list[T]]] = {}
    for item in sorted(items, key=size, reverse=True):
        need = size(item)
        room = next((r for r in range(need, length) if rows_by_room.get(r)), length)
        row = rows_by_room[room].pop() if room < length else []
        row.append(item)
        rows_by_room.setdefault(room - need, []).append(row)
    return [row for rows in rows_by_room.values() for row in rows]


def lay_out(rows: Sequence[Sequence[list[int]]], length: int) -> Packed:
    """Return token sequences, grouped by row, as tensors."""
    ids, sequence, position = (np.zeros((len(rows), length), np.int64) for _ in range(3))
    for index, row in enumerate(rows):
        begin = 0
        for number, tokens in enumerate(row, 1):
            end = begin + len(tokens)
            ids[index, begin:end] = tokens
            sequence[index, begin:end] = number
            position[index, begin:end] = range(len(tokens))
            begin = end
    return Packed(*(torch.from_numpy(array) for array in (ids, sequence, position)))

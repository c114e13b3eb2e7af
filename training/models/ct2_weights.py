"""Reads the weights of a CTranslate2 model back into float32 arrays, to continue its training."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

# Type ids as ctranslate2.specs.model_spec writes them. bfloat16 (5) is not a numpy type.
DTYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
BINARY_VERSION = 6

Array = NDArray[np.generic]


def read_raw(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Return every variable of a `model.bin` as stored (int8 stays int8), and the aliases.

    Raises ValueError with the file's name when it has another version or contains bfloat16."""
    with path.open("rb") as file:
        (version,) = _unpack(file, "I")
        if version != BINARY_VERSION:
            raise ValueError(
                f"ct2-version: {path} has binary version {version}, expected {BINARY_VERSION}; "
                "convert the model again with a current ctranslate2"
            )
        _string(file)  # the specification's name
        _unpack(file, "I")  # its revision
        variables = {}
        (count,) = _unpack(file, "I")
        for _ in range(count):
            name = _string(file)
            (rank,) = _unpack(file, "B")
            shape = _unpack(file, f"{rank}I")
            (type_id,) = _unpack(file, "B")
            (size,) = _unpack(file, "I")
            if type_id not in DTYPES:
                raise ValueError(f"ct2-dtype: {path}: {name} has type {type_id}; save it as int8")
            variables[name] = np.frombuffer(file.read(size), DTYPES[type_id]).reshape(shape)
        (count,) = _unpack(file, "I")
        aliases = {_string(file): _string(file) for _ in range(count)}
    return variables, aliases


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return every weight of a `model.bin` as float32; int8 and int16 are divided by their scales.

    Scalars that describe the model (such as `num_heads`) are kept; an alias (tied weights) names
    the same array as its variable."""
    variables, aliases = read_raw(path)
    weights: dict[str, NDArray[np.float32]] = {}
    for name, array in variables.items():
        if name.endswith("_scale"):
            continue
        value = array.astype(np.float32)
        scale = variables.get(f"{name}_scale")
        if scale is not None:
            # int8 has one scale per row, int16 one for the whole matrix.
            rows = scale.astype(np.float32).reshape(scale.shape + (1,) * (value.ndim - scale.ndim))
            value = value / rows
        weights[name] = value
    for alias, name in aliases.items():
        if name in weights:
            weights[alias] = weights[name]
    return weights


def _unpack(file: BinaryIO, layout: str) -> tuple[int, ...]:
    return struct.unpack(f"<{layout}", file.read(struct.calcsize(f"<{layout}")))


def _string(file: BinaryIO) -> str:
    (length,) = _unpack(file, "H")
    return file.read(length)[:-1].decode("utf-8")

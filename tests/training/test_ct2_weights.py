"""Weights that CTranslate2 wrote are read back."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training.models.ct2_weights import read_weights


def tiny_spec() -> Any:
    """Return a spec of one matrix with a bias, one that shares its weight, and one number."""
    from ctranslate2.specs import common_spec, model_spec  # loads torch if it is installed

    class TinySpec(model_spec.ModelSpec):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = common_spec.LinearSpec()
            self.second = common_spec.LinearSpec()
            self.num_heads = np.dtype("int16").type(4)

        @property
        def name(self) -> str:
            return "Tiny"

    return TinySpec()


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["float32", "int8", "int16"])
def test_weights_come_back_within_half_a_step_and_shared_ones_have_both_names(
    tmp_path: Path, quantization: str
) -> None:
    matrix = np.random.default_rng(3).normal(size=(6, 32)).astype(np.float32)
    matrix[2] *= 40  # one scale for all rows would lose the small ones
    bias = np.arange(6, dtype=np.float32)
    spec = tiny_spec()
    spec.first.weight, spec.first.bias = matrix.copy(), bias
    spec.second.weight, spec.second.bias = spec.first.weight, bias + 1
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(tmp_path))
    weights = read_weights(tmp_path / "model.bin")

    sizes = np.abs(matrix)
    steps = {
        "float32": 0.0,
        "int8": sizes.max(axis=1, keepdims=True) / 127,
        "int16": sizes.max() / 1024,
    }
    read = weights["first/weight"]
    assert read.dtype == np.float32
    exact = 0.0 if quantization == "float32" else 1e-6
    assert (np.abs(read - matrix) <= steps[quantization] / 2 + exact).all()
    np.testing.assert_array_equal(read, weights["second/weight"])
    np.testing.assert_array_equal(weights["first/bias"], bias)
    np.testing.assert_array_equal(weights["second/bias"], bias + 1)
    assert weights["num_heads"] == 4
    assert not any(name.endswith("_scale") for name in weights)


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(struct.pack("<I", 99) + bytes(40))
    with pytest.raises(ValueError, match=r"ct2-version: .*model\.bin has binary version 99"):
        read_weights(path)

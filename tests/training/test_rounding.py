"""What a training added to a quantized model survives when it is quantized again."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.needs import needs_train_extra

needs_train_extra()

import torch  # noqa: E402
from gguf import GGMLQuantizationType, quants  # noqa: E402

from pipeline.core.resources import bundled  # noqa: E402
from training.export.rounding import has_steps, on_steps  # noqa: E402

pytestmark = pytest.mark.train


def stored(matrix: torch.Tensor) -> torch.Tensor:
    level = GGMLQuantizationType.Q5_0
    return torch.from_numpy(quants.dequantize(quants.quantize(matrix.numpy(), level), level))


def test_a_small_training_is_not_undone() -> None:
    torch.manual_seed(1)
    before = stored(torch.randn(64, 640) * 0.03)
    step = before.abs().amax() / 16
    after = before + 0.1 * step  # everywhere less than half of a step
    inputs = torch.ones(640)
    wanted = (after - before) @ inputs

    naive = (stored(after) - before) @ inputs
    kept = (stored(on_steps({"x": after})["x"]) - before) @ inputs
    assert naive.mean() < 0.5 * wanted.mean()
    assert kept.mean().item() == pytest.approx(wanted.mean().item(), rel=0.1)


def test_what_is_on_a_step_stays_there() -> None:
    torch.manual_seed(2)
    weights = {"x": torch.randn(4, 96), "norm": torch.randn(7), "none": torch.zeros(2, 32)}
    once = on_steps(weights)
    np.testing.assert_array_equal(stored(once["x"]).numpy(), once["x"].numpy())
    np.testing.assert_array_equal(once["norm"].numpy(), weights["norm"].numpy())
    assert not once["none"].any()


def test_only_a_file_of_that_level_has_its_steps() -> None:
    starter, tiny = (bundled("models", name, "gemma", "model.gguf") for name in ("starter", "tiny"))
    assert has_steps(starter)
    assert not has_steps(tiny)

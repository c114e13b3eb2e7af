"""A quantized model keeps what training added when it is quantized again."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.needs import needs_train_extra

needs_train_extra()

import torch  # noqa: E402
from gguf import GGMLQuantizationType, quants  # noqa: E402

from pipeline.core.resources import bundled  # noqa: E402
from training.models.gemma_gguf import level_of  # noqa: E402
from training.models.steps import (  # noqa: E402
    LOWEST,
    Storing,
    best_shares,
    on_steps,
    rounded,
    spread,
)

pytestmark = pytest.mark.train
LEVELS = pytest.mark.parametrize("level", sorted(LOWEST))


def stored(matrix: torch.Tensor, level: str = "Q5_0") -> torch.Tensor:
    kind = GGMLQuantizationType[level]
    return torch.from_numpy(quants.dequantize(quants.quantize(matrix.numpy(), kind), kind))


def test_a_small_training_is_not_undone() -> None:
    torch.manual_seed(1)
    before = stored(torch.randn(64, 640) * 0.03)
    step = before.abs().amax() / 16
    after = before + 0.1 * step  # everywhere less than half of a step
    inputs = torch.ones(640)
    wanted = (after - before) @ inputs

    naive = (stored(after) - before) @ inputs
    chance = torch.Generator().manual_seed(5)
    kept = (stored(on_steps({"x": after}, "Q5_0", chance)["x"]) - before) @ inputs
    assert naive.mean() < 0.5 * wanted.mean()
    assert kept.mean().item() == pytest.approx(wanted.mean().item(), rel=0.1)


@LEVELS
@pytest.mark.parametrize("by_chance", [False, True])
def test_what_is_on_a_step_stays_there(level: str, by_chance: bool) -> None:
    torch.manual_seed(2)
    weights = {"x": torch.randn(4, 96), "norm": torch.randn(7), "none": torch.zeros(2, 32)}
    chance = torch.Generator().manual_seed(5) if by_chance else None
    once = on_steps(weights, level, chance)
    np.testing.assert_array_equal(stored(once["x"], level).numpy(), once["x"].numpy())
    np.testing.assert_array_equal(once["norm"].numpy(), weights["norm"].numpy())
    assert not once["none"].any()


@LEVELS
def test_a_model_learns_at_the_level_in_which_it_is_stored(level: str) -> None:
    torch.manual_seed(3)
    model = torch.nn.Linear(64, 8)
    before = model.weight.detach().clone()
    storing = Storing(model, level)
    with storing.held():
        held = model.weight.detach().clone()
        model(torch.ones(2, 64)).square().sum().backward()
    np.testing.assert_array_equal(stored(held, level).numpy(), held.numpy())
    np.testing.assert_array_equal(model.weight.detach().numpy(), before.numpy())
    assert model.weight.grad is not None
    assert model.weight.grad.abs().sum() > 0
    with Storing(model, level, storing.shares).held():
        np.testing.assert_array_equal(model.weight.detach().numpy(), held.numpy())
    with Storing(model, "").held():
        np.testing.assert_array_equal(model.weight.detach().numpy(), before.numpy())


def test_a_share_of_the_largest_weight_may_be_better_than_all_of_it() -> None:
    torch.manual_seed(6)
    matrix = torch.randn(64, 640)

    def error(share: torch.Tensor | float) -> float:
        return float((rounded(matrix, "Q4_0", share=share) - matrix).square().mean())

    assert error(best_shares(matrix, "Q4_0")) < 0.95 * error(1.0)


def test_nearest_steps_are_those_of_llama_cpp() -> None:
    torch.manual_seed(4)
    matrix = torch.randn(512, 640)
    same = rounded(matrix, "Q4_0") == stored(matrix, "Q4_0")
    assert same.float().mean() > 0.999  # halves are rounded differently


def test_a_file_tells_on_which_steps_it_is() -> None:
    starter, tiny = (bundled("models", name, "gemma", "model.gguf") for name in ("starter", "tiny"))
    assert level_of(starter) in LOWEST
    assert level_of(tiny) == ""


@LEVELS
def test_a_stored_model_learns_from_everywhere_within_its_steps(level: str) -> None:
    torch.manual_seed(4)
    model = torch.nn.Linear(640, 64)
    model.weight.data = rounded(model.weight.detach(), level)
    before = model.weight.detach().clone()
    spread(model, level, torch.Generator().manual_seed(5))
    moved = model.weight.detach() - before
    np.testing.assert_array_equal(rounded(model.weight.detach(), level).numpy(), before.numpy())
    assert (moved != 0).float().mean() > 0.9
    assert moved.mean().abs() < 0.01 * moved.abs().mean()

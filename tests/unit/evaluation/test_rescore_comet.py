"""CometKiwi's adapter. The model needs a licence, so a fake replaces its package."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pipeline.core.errors import EngineError, ModelError
from pipeline.evaluation.rescore import MODEL, CometKiwi


class Checkpoint:
    """The used part of what `comet.load_from_checkpoint` returns (unbabel-comet 2.2)."""

    def __init__(self) -> None:
        self.fails = False

    def predict(
        self,
        samples: list[dict[str, str]],
        batch_size: int = 16,
        gpus: int = 1,
        progress_bar: bool = True,
        num_workers: int | None = None,
    ) -> dict[str, Any]:
        if self.fails:
            raise RuntimeError("out of memory")
        assert (gpus, num_workers, progress_bar) == (0, 0, False)
        return {"scores": [len(sample["mt"]) / 10 - 0.1 for sample in samples]}


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Replace the package `comet` and record the calls to it."""
    seen = SimpleNamespace(names=[], paths=[], checkpoint=Checkpoint(), refuses=False)
    module = ModuleType("comet")

    def download_model(model: str) -> str:
        seen.names.append(model)
        if seen.refuses:
            raise KeyError(f"Model '{model}' not supported by COMET.")
        return "/cache/checkpoints/model.ckpt"

    def load_from_checkpoint(checkpoint_path: str) -> Checkpoint:
        seen.paths.append(checkpoint_path)
        checkpoint: Checkpoint = seen.checkpoint
        return checkpoint

    vars(module).update(download_model=download_model, load_from_checkpoint=load_from_checkpoint)
    monkeypatch.setitem(sys.modules, "comet", module)
    return seen


def test_without_the_extra_the_command_is_told() -> None:
    if importlib.util.find_spec("comet") is not None:
        pytest.skip("the extra is installed here")
    with pytest.raises(ModelError) as refused:
        CometKiwi().load()
    assert refused.value.code == "comet-missing"
    assert "-m pip install 'stark-translate[comet]'" in refused.value.fix


def test_scores_come_back_in_order_and_within_bounds(package: SimpleNamespace) -> None:
    engine = CometKiwi()
    engine.load()
    assert package.names == [MODEL]
    assert package.paths == ["/cache/checkpoints/model.ckpt"]
    captions = [("a", "12345"), ("a", ""), ("a", "x" * 20)]
    assert engine.estimate(captions) == [pytest.approx(0.4), 0.0, 1.0]
    assert engine.estimate([]) == []


def test_a_checkpoint_is_not_asked_for_elsewhere(package: SimpleNamespace) -> None:
    CometKiwi("/models/kiwi.ckpt").load()
    assert (package.names, package.paths) == ([], ["/models/kiwi.ckpt"])


def test_a_model_that_cannot_be_had_is_named(package: SimpleNamespace) -> None:
    package.refuses = True
    with pytest.raises(ModelError) as refused:
        CometKiwi("owner/other").load()
    assert refused.value.code == "comet-unusable"
    assert "owner/other" in refused.value.message


def test_a_failure_has_a_code(package: SimpleNamespace) -> None:
    engine = CometKiwi()
    engine.load()
    package.checkpoint.fails = True
    with pytest.raises(EngineError, match="out of memory"):
        engine.estimate([("a", "b")])

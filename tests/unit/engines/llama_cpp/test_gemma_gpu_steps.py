"""How much of a model goes on the GPU, and how much less next."""

from __future__ import annotations

from pipeline.core.resources import bundled
from pipeline.engines.llama_cpp import llama
from pipeline.engines.llama_cpp.gemma import gpu_steps, in_words


def test_half_is_tried_where_all_is_refused_and_then_the_cpu() -> None:
    (starter,) = bundled("models", "tiny", "gemma").glob("*.gguf")
    layers = llama.layers(starter)
    assert layers > 2
    assert gpu_steps(starter, -1, 1.0) == [-1, layers // 2, 0]
    assert gpu_steps(starter, -1, 0.5) == [layers // 2, 0]
    assert gpu_steps(starter, 1, 1.0) == [1, 0]
    assert gpu_steps(starter, 0, 1.0) == [0]


def test_people_read_where_the_layers_are() -> None:
    told = [in_words(layers) for layers in (-1, 12, 0)]
    assert told == ["all layers on the GPU", "12 layers on the GPU", "the CPU alone"]

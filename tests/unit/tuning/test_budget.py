"""The computed needs of models, compared with figures that others have published."""

from __future__ import annotations

import pytest

from pipeline.models.registry import read_registry
from pipeline.tuning.budget import (
    CUDA_CONTEXT_BYTES,
    GPUS,
    SERVICE_BYTES,
    Need,
    Shape,
    Writing,
    fits,
    hearing_needs,
    known_gpu,
    shape_of,
    tokens_per_second,
    total,
    writing_needs,
)

REFERENCE = {
    "4b-q4_k_m": 3.8,
    "4b-q5_k_m": 4.2,
    "4b-q8_0": 5.6,
    "12b-q4_k_m": 10.7,
    "12b-q5_k_m": 12.2,
    "12b-q8_0": 17.6,
}
"""Total GB on a GPU: Whisper INT8 .9, cache of 256 tokens .1, one CUDA context .4, and weights of
2.4 to 12.0. A 12B total includes the 4B model of the same level.
"""
LEVELS = ("q4_k_m", "q5_k_m", "q8_0")


def writing(name: str, context: int = 256, batch: int = 32, *, on_gpu: bool = True) -> Writing:
    size = read_registry()[name].size_bytes
    return Writing(name, size, context=context, batch=batch, on_gpu=on_gpu)


def on_one_gpu(*names: str) -> list[Need]:
    """Return the reference's needs: everything in one process, hence one context."""
    whisper = read_registry()["distil-large-v3"]
    needs = list(hearing_needs(whisper.name, whisper.size_bytes, "int8", on_gpu=True))
    for name in names:
        needs += writing_needs(writing(name))
    contexts = [need for need in needs if need.bytes == CUDA_CONTEXT_BYTES]
    return [need for need in needs if need not in contexts[1:]]


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_worked_out_is_within_seven_percent_of_the_reference(level: str) -> None:
    four, twelve = f"translategemma-4b-{level}", f"translategemma-12b-{level}"
    small = total(on_one_gpu(four), "gpu") / 1e9
    assert small == pytest.approx(REFERENCE[f"4b-{level}"], rel=0.07)
    assert total(on_one_gpu(four), "ram") == 0
    both = total(on_one_gpu(four, twelve), "gpu") / 1e9
    assert both == pytest.approx(REFERENCE[f"12b-{level}"], rel=0.07)


def test_the_cache_grows_with_the_context() -> None:
    assert Shape(34, 4, 256).cache_bytes(1) == 139_264
    short, long = (
        next(
            n
            for n in writing_needs(writing("translategemma-4b-q4_k_m", tokens))
            if n.what[0] == "c"
        )
        for tokens in (256, 2048)
    )
    assert long.bytes == 8 * short.bytes == 285_212_672


def test_each_process_on_a_gpu_has_a_context_of_its_own() -> None:
    whisper = hearing_needs("distil-large-v3", 1_516_479_628, "int8_float16", on_gpu=True)
    both = (*whisper, *writing_needs(writing("translategemma-4b-q4_k_m")))
    assert [need.bytes for need in both].count(CUDA_CONTEXT_BYTES) == 2
    on_cpu = writing_needs(writing("translategemma-4b-q4_k_m", on_gpu=False))
    assert total(on_cpu, "gpu") == 0


def test_whisper_with_eight_bits_is_half_of_its_file() -> None:
    size = 1_600_000_000
    ((eight,), (sixteen,), (other,)) = (
        hearing_needs("w", size, kind, on_gpu=False) for kind in ("int8", "float16", "int7")
    )
    assert sixteen.bytes - eight.bytes == size // 2
    assert other.bytes == sixteen.bytes, "of a kind that nobody knows nothing is made light of"


def test_room_is_for_the_service_too() -> None:
    draft = read_registry()["opus-mt-en-es"]
    needs = (Need(draft.name, draft.memory_bytes, "ram"), Need("on it", 10, "gpu"))
    enough = 450_000_000 + SERVICE_BYTES
    assert fits(needs, ram_bytes=enough, gpu_bytes=10)
    assert not fits(needs, ram_bytes=enough - 1, gpu_bytes=10)
    assert not fits(needs, ram_bytes=enough, gpu_bytes=9)


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("translategemma-4b-q4_k_m", 34),
        ("translategemma-12b-it.Q8_0.gguf", 48),
        ("gemma-3-270m-q4_k_m", 18),
        ("ours-1B.gguf", 26),
        ("starter", 0),
        ("gemma-3-4bit", 0),
        ("own-3b", 0),
    ],
)
def test_a_name_tells_the_layers(name: str, layers: int) -> None:
    shape = shape_of(name)
    assert (shape.layers if shape else 0) == layers


def test_a_model_without_known_layers_is_its_weights() -> None:
    ours = writing_needs(Writing("ours", 9, context=256, batch=32, on_gpu=False))
    assert [need.what for need in ours] == ["final translator: ours"]


@pytest.mark.parametrize(
    ("gpu", "from_", "to"),
    [
        *(("RTX 4090", 195, 195), ("RTX 3090", 50, 189), ("RTX 2070", 25, 40)),
        *(("RTX 3060", 25, 35), ("RTX A2000", 20, 30)),
    ],
)
def test_cited_speeds_are_within_what_is_expected(gpu: str, from_: float, to: float) -> None:
    """Tokens a second of Gemma 3 4B as Q4_K_M."""
    found = known_gpu(f"NVIDIA GeForce {gpu}")
    assert found is not None
    least, most = tokens_per_second(2_489_909_760, found.bandwidth)
    assert least <= 1.03 * from_
    assert to <= 1.01 * most


def test_a_small_model_is_not_endlessly_quick() -> None:
    assert tokens_per_second(1, 4800)[1] == pytest.approx(500)


def test_gpus_are_told_apart() -> None:
    assert [known_gpu(f"NVIDIA {gpu.name}, 1") for gpu in GPUS] == list(GPUS)
    assert known_gpu("NVIDIA T400") is None
    assert known_gpu("Radeon") is None


@pytest.mark.parametrize("name", ["NVIDIA RTX 2000 Ada Generation", "a2000 ada"])
def test_the_2000_ada_is_no_a2000(name: str) -> None:
    found = known_gpu(name)
    assert found
    assert (found.name, found.memory_gb) == ("RTX 2000 Ada", 16)

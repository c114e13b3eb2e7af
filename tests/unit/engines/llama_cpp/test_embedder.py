"""Sentences as vectors, by a real GGUF model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.engines.llama_cpp.embedder import Embedder

pytestmark = pytest.mark.slow

GRACE = "Dios es bueno con nosotros."
LIKE = "El Señor es bueno con nosotros."
OTHER = "El autobús sale a las nueve."


@pytest.fixture(scope="module")
def embedder(gemma_270m: Path) -> Embedder:
    made = Embedder(gemma_270m)
    made.load()
    return made


def test_what_means_the_same_lies_nearer(embedder: Embedder) -> None:
    grace, like, other = (embedder.embed(text) for text in (GRACE, LIKE, OTHER))
    assert np.linalg.norm(grace) == pytest.approx(1, abs=1e-5)
    assert grace @ like > grace @ other


def test_a_sentence_keeps_its_vector_whatever_came_before(embedder: Embedder) -> None:
    before = embedder.embed(GRACE)
    embedder.embed(OTHER)
    np.testing.assert_allclose(embedder.embed(GRACE), before, atol=1e-5)


def test_a_text_that_is_longer_than_the_context_is_cut() -> None:
    """The file says nothing of pooling: its vector is the mean of its words."""
    (file,) = bundled("models", "tiny", "gemma").glob("*.gguf")
    tiny = Embedder(file)
    tiny.load()
    assert tiny.embed(2000 * "gracia ") @ tiny.embed(3000 * "gracia ") > 0.999


def test_a_broken_file_is_told_with_its_setting(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF no more")
    with pytest.raises(ModelError, match=r"learn\.embedding: .*broken\.gguf cannot") as caught:
        Embedder(file).load()
    assert caught.value.code == "model-broken"

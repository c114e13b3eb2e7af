"""The starter's recognizer and quick translator, loaded once for each file of tests."""

from __future__ import annotations

import pytest

from pipeline.core.resources import bundled
from pipeline.core.types import Pcm
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.ctranslate2.whisper import Whisper
from tests.support.needs import needs_file
from tests.support.sounds import sermon_sentences

STARTER = bundled("models", "starter")


@pytest.fixture(scope="module")
def marian() -> Marian:
    needs_file(STARTER / "marian")
    engine = Marian(STARTER / "marian")
    engine.load()
    return engine


@pytest.fixture(scope="module")
def whisper() -> Whisper:
    needs_file(STARTER / "stt")
    engine = Whisper(STARTER / "stt", threads=1)
    engine.load()
    return engine


@pytest.fixture(scope="module")
def sermon() -> list[tuple[Pcm, str]]:
    """The first sentences of the demo sermon and what is said in them."""
    return sermon_sentences(14)

"""The starter's engines, loaded once for each file of tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.resources import bundled
from pipeline.core.types import Pcm
from pipeline.dictionary.glossary import Glossary, compile_glossary, parse_terms
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.ctranslate2.whisper import Whisper
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.models.resolve import resolve
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
def gguf() -> Path:
    """The tiny final translator's file."""
    needs_file(bundled("models", "tiny", "gemma"))
    return resolve("gemma", "tiny")


@pytest.fixture(scope="module")
def gemma(gguf: Path) -> Gemma:
    engine = Gemma(gguf, prompt="starter", threads=1, context=512)
    engine.load()
    return engine


@pytest.fixture(scope="module")
def glossary() -> Glossary:
    """The church terms that ship for Spanish."""
    file = bundled("dictionary", "glossary", "en-es.toml")
    return compile_glossary(parse_terms(file.read_text("utf-8"), file.name), "es")


@pytest.fixture(scope="module")
def sermon() -> list[tuple[Pcm, str]]:
    """The first sentences of the demo sermon and what is said in them."""
    return sermon_sentences(14)

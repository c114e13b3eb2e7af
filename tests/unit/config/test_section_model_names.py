from __future__ import annotations

import pytest

from pipeline.config.schema import Settings
from pipeline.config.section import known_name
from pipeline.models.registry import hub_id, read_registry


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("base", "whisper-base"),
        ("Whisper base", "whisper-base"),
        ("openai/whisper-small", "Systran/faster-whisper-small"),
        ("whisper_small", "Systran/faster-whisper-small"),
        ("large", "Systran/faster-whisper-large-v3"),
        ("turbo", "large-v3-turbo"),
        ("whisper-small.en", "small.en"),
        ("TranslateGemma", "translategemma-4b-q4_k_m"),
        ("Helsinki-NLP/opus-mt-en-es", "opus-mt-en-es"),
    ],
)
def test_common_names_lead_to_a_model_that_can_be_pulled(called: str, name: str) -> None:
    assert known_name(called) == name
    assert name in read_registry() or hub_id(name)


@pytest.mark.parametrize("name", ["auto", "starter", "models/own", "me/Whisper-Small", "our.en"])
def test_other_names_and_paths_stay(name: str) -> None:
    assert known_name(name) == name


@pytest.mark.parametrize("name", sorted(read_registry()))
def test_no_model_of_the_registry_is_taken_for_another(name: str) -> None:
    assert known_name(name) == name


def test_the_settings_take_them() -> None:
    given = {"stt": {"model": "base"}, "translate": {"targets": ["fr"], "final": {"model": "tiny"}}}
    settings = Settings.model_validate(given)
    assert settings.stt.model == "whisper-base"
    assert settings.translate.final.model == "tiny", "a translator of that name ships"


@pytest.mark.parametrize(
    ("engine", "called", "name"),
    [
        ("gemma", "TranslateGemma", "translategemma-4b-q4_k_m"),
        ("gemma", "large", "large"),  # the Whisper of that name translates nothing
        ("openai", "translategemma", "translategemma"),  # a server has its own names
    ],
)
def test_a_translator_has_translators_names(engine: str, called: str, name: str) -> None:
    final = {"engine": engine, "model": called, "server": "gpu"}
    servers = {"gpu": {"url": "http://localhost:1/v1"}}
    given = {"servers": servers, "translate": {"final": final}}
    assert Settings.model_validate(given).translate.final.model == name

"""What each kind of translator is told of the settings; which one is asked for: test_factory."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.schema import Final, Settings
from pipeline.config.section import ModelServer
from pipeline.core.errors import ModelError
from pipeline.engines.exllama import ExLlama
from pipeline.engines.process.model_specs import exllama_spec, gemma_spec, openai_spec
from pipeline.engines.specification import EngineSpec, make

SECTION = "translate.final"


def test_all_that_are_asked_by_a_prompt_are_told_the_same() -> None:
    url = "http://10.0.0.5:8080/v1"
    settings = Settings(servers={"gpu": ModelServer(url=url)})
    final = Final(deadline_s=3.0, context=512, server="gpu")
    here = gemma_spec(settings, final, SECTION)
    there = openai_spec(settings, final, SECTION)
    asked = {"prompt": "starter", "source": "en", "target": "es", "context": 512, "deadline_s": 3.0}
    for spec in (here, there):
        assert {key: spec.arguments[key] for key in asked} == asked
        assert EngineSpec.from_json(spec.as_json()) == spec
    assert there.arguments["url"] == url


def test_exl2_models_are_folders(tmp_path: Path) -> None:
    folder = tmp_path / "exl2"
    final = Final(engine="exllamav2", model=str(folder))
    with pytest.raises(ModelError, match=r"translate\.final\.model: there is no folder"):
        exllama_spec(Settings(), final, SECTION)
    folder.mkdir()
    spec = exllama_spec(Settings(), final, SECTION)
    assert (spec.kind, spec.model, spec.wants_gpu) == ("exllamav2", folder, True)
    assert isinstance(make(spec), ExLlama)

"""The settings that each kind of translator gets; test_factory tests which one is chosen."""

from __future__ import annotations

from pipeline.config.schema import Settings
from pipeline.config.section import ModelServer
from pipeline.config.targets import Final
from pipeline.engines.process.model_specs import gemma_spec, openai_spec
from pipeline.engines.specification import EngineSpec

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

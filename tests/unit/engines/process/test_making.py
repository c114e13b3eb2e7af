"""An engine made from its description."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.ctranslate2.whisper import Whisper
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.engines.process.making import make
from pipeline.engines.remote.openai import OpenAi
from pipeline.engines.specification import EngineSpec

WHISPER = EngineSpec("whisper", "whisper:base", Path("/m/base"), {"device": "cpu", "threads": 2})
MARIAN = EngineSpec("marian", "marian", Path("/m/marian"), {"compute_type": "int8"})
GEMMA = EngineSpec("gemma", "gemma", Path("/m/g.gguf"), {"gpu_layers": -1, "prompt": "starter"})
ELSEWHERE = EngineSpec("openai", "openai", Path("church"), {"url": "http://10.0.0.5:8080/v1"})


@pytest.mark.parametrize(
    ("spec", "kind"),
    [(WHISPER, Whisper), (MARIAN, Marian), (GEMMA, Gemma), (ELSEWHERE, OpenAi)],
)
def test_it_crosses_to_another_process_and_makes_the_engine_there(
    spec: EngineSpec, kind: type
) -> None:
    there = EngineSpec.from_json(orjson.loads(orjson.dumps(spec.as_json())))
    assert there == spec
    assert isinstance(make(there), kind)

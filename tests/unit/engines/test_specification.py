"""An engine described by plain values."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.ctranslate2.whisper import Whisper
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.engines.remote.openai import OpenAi
from pipeline.engines.specification import GPU_SHARES, EngineSpec, make

WHISPER = EngineSpec("whisper", "whisper:base", Path("/m/base"), {"device": "cpu", "threads": 2})
MARIAN = EngineSpec("marian", "marian", Path("/m/marian"), {"threads": 1})
GEMMA = EngineSpec("gemma", "gemma", Path("/m/g.gguf"), {"gpu_layers": -1, "prompt": "starter"})

ELSEWHERE = EngineSpec("openai", "openai", Path("church"), {"url": "http://10.0.0.5:8080/v1"})


def test_only_what_asks_for_a_gpu_has_less_of_it_to_try() -> None:
    assert (WHISPER.wants_gpu, MARIAN.wants_gpu, GEMMA.wants_gpu) == (False, False, True)
    assert not ELSEWHERE.wants_gpu
    for spec in (WHISPER, MARIAN, ELSEWHERE):
        assert spec.with_gpu_share(0.0).arguments == spec.arguments
    shares = [GEMMA.with_gpu_share(share).arguments for share in GPU_SHARES["gemma"]]
    assert [s["gpu_share"] for s in shares] == [1.0, 0.5, 0.0]
    assert {s["gpu_layers"] for s in shares} == {-1}


def test_a_recognizer_leaves_the_gpu_with_a_type_that_the_cpu_knows() -> None:
    on_gpu = EngineSpec("whisper", "w", Path("/m"), {"device": "cuda", "compute_type": "float16"})
    assert on_gpu.with_gpu_share(1.0).arguments == on_gpu.arguments
    assert on_gpu.with_gpu_share(0.0).arguments == {"device": "cpu", "compute_type": "int8"}


@pytest.mark.parametrize(
    ("spec", "kind"),
    [(WHISPER, Whisper), (MARIAN, Marian), (GEMMA, Gemma), (ELSEWHERE, OpenAi)],
)
def test_it_crosses_to_another_process_and_makes_the_engine_there(
    spec: EngineSpec, kind: type
) -> None:
    received = EngineSpec.from_json(orjson.loads(orjson.dumps(spec.as_json())))
    assert received == spec
    assert isinstance(make(received), kind)

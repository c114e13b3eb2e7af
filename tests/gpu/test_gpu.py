"""Engines on a real NVIDIA GPU: found, used, full, and lost while it computes.

No CI machine has one. `pytest tests/gpu` runs them where llama.cpp was built with CUDA.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest

from pipeline.core.errors import EngineError, EngineGoneError
from pipeline.core.resources import bundled
from pipeline.engines.llama_cpp import llama
from pipeline.engines.process.engine_process import TranslatorProcess
from pipeline.engines.process.gpu_use import gpu_use, query
from pipeline.engines.specification import EngineSpec
from pipeline.evaluation import sentences
from pipeline.tuning.hardware import machine
from tests.support.engine_processes import TEXT, Kept, kept_processes, spec

if not query("--query-gpu=uuid"):
    pytest.skip("this machine has no GPU of NVIDIA's", allow_module_level=True)
if not llama.has_gpu():
    pytest.skip("llama.cpp was built without CUDA", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MB = 1 << 20
FILLS = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
assert not cuda.cuInit(0)
assert not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
assert not cuda.cuCtxSetCurrent(context)
assert not cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
size = free.value - int(sys.argv[1])
assert not cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
print("full", flush=True)
sys.stdin.read()
"""
"""A program that holds all but the given bytes of a GPU's memory, until its input ends."""


@pytest.fixture
def kept() -> Iterator[Callable[..., Kept]]:
    with kept_processes() as make:
        yield make


def on_gpu(**arguments: object) -> EngineSpec:
    return spec("final", gpu_layers=-1, **arguments)


@contextmanager
def full_gpu(but_bytes: int) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", FILLS, str(but_bytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as filling:
        assert filling.stdout is not None
        assert filling.stdout.readline() == "full\n"
        yield
        filling.communicate()


def test_the_machine_is_recognized() -> None:
    found = machine()
    names = query("--query-gpu=name").split("\n")
    assert [gpu.name for gpu in found.gpus] == [name for name in names if name]
    assert found.llama_gpu
    memory = [int(line) * MB for line in query("--query-gpu=memory.total").split()]
    assert [gpu.total_bytes for gpu in found.gpus] == pytest.approx(memory, rel=0.01)


def test_all_layers_are_on_the_gpu_and_say_what_the_cpu_says(kept: Callable[..., Kept]) -> None:
    there, here = kept("final", engine=on_gpu()), kept("final")
    assert there.ask() == here.ask()
    assert there.process.degraded_reason == ""
    use = gpu_use(there.pid)
    assert use is not None
    assert use.memory_bytes > there.process.spec.model.stat().st_size
    assert gpu_use(here.pid) is None


def test_a_process_killed_while_it_computes_is_followed_by_another(
    kept: Callable[..., Kept],
) -> None:
    engine = kept("final", engine=on_gpu())
    answer = engine.ask()
    lost = engine.pid
    threading.Timer(0.3, psutil.Process(lost).kill).start()
    with pytest.raises((EngineGoneError, EngineError)):
        ask_for(engine, 30)
    deadline_s = time.monotonic() + 60
    while engine.process.pid in {None, lost} and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert engine.ask() == answer
    use = gpu_use(engine.pid)
    assert use is not None, "the one that follows is on the GPU again"
    assert gpu_use(lost) is None, "its memory is given back"


@pytest.mark.parametrize("left_mb", [40, 560])
def test_a_full_gpu_costs_speed_and_no_caption(kept: Callable[..., Kept], left_mb: int) -> None:
    here = kept("final").ask()
    with full_gpu(left_mb * MB):
        engine = kept("final", engine=starter_on_gpu())
        text = engine.ask()
        assert text
        assert engine.process.degraded_reason, "nobody is told that the GPU is full"
    again = kept("final", engine=on_gpu())
    assert again.ask() == here
    assert again.process.degraded_reason == ""


def test_memory_of_the_gpu_stays_over_a_hundred_sentences(kept: Callable[..., Kept]) -> None:
    engine = kept("final", engine=starter_on_gpu())
    held = []
    for number, sentence in enumerate(sentences.read()[:100]):
        ask(engine, sentence.source)
        if number % 10 == 9:
            use = gpu_use(engine.pid)
            assert use is not None
            held.append(use.memory_bytes)
    assert max(held) - held[0] <= 16 * MB, held


def test_whisper_hears_on_the_gpu_what_it_hears_on_the_cpu(kept: Callable[..., Kept]) -> None:
    try:
        ctypes.CDLL("libcublas.so.12")
    except OSError:
        pytest.skip("CTranslate2 needs libcublas.so.12 for a GPU")
    there = kept("stt", engine=spec("stt", device="cuda", compute_type="float16"))
    here = kept("stt")
    assert there.ask().lower().split()[:4] == here.ask().lower().split()[:4]
    assert there.process.degraded_reason == ""
    assert gpu_use(there.pid) is not None


def test_whisper_without_a_gpu_hears_on_the_cpu(
    kept: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    engine = kept("stt", engine=spec("stt", device="cuda", compute_type="float16"))
    assert engine.ask() == kept("stt").ask()
    assert "on the CPU instead of the GPU" in engine.process.degraded_reason


def starter_on_gpu() -> EngineSpec:
    """Return the shipped model, which takes 90 MB of a GPU."""
    model = bundled("models", "starter", "gemma", "model.gguf")
    return EngineSpec("gemma", "gemma", model, {"gpu_layers": -1}, "translate.final")


def ask_for(engine: Kept, seconds: float) -> None:
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        ask(engine, TEXT)


def ask(engine: Kept, text: str) -> str:
    assert isinstance(engine.process, TranslatorProcess)
    return engine.process.translate(text).text

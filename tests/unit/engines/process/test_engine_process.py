"""Engines in processes of their own: the starter models, real signals, real deaths."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.audio.file import read_audio
from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.core.resources import bundled
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm
from pipeline.core.types import SAMPLE_RATE
from pipeline.engines.process.engine_process import TranslatorProcess, Work
from pipeline.engines.protocols import TranslationRequest
from pipeline.engines.specification import EngineSpec, make
from tests.support.engine_processes import PATIENT_S, TEXT, Kept, golden_pcm, kept_processes, spec
from tests.support.model_servers import MODEL, answers, scripted
from training.models.ct2_weights import read_raw

pytestmark = pytest.mark.slow


@pytest.fixture
def keep() -> Iterator[Callable[..., Kept]]:
    with kept_processes() as make:
        yield make


@pytest.fixture(scope="module")
def running() -> Iterator[dict[str, Kept]]:
    """Yield a loaded process of each part, for tests that leave it unchanged."""
    with kept_processes() as make:
        made = {part: make(part, engine=single(part)) for part in ("stt", "partial", "final")}
        for kept in made.values():
            kept.process.load()
        yield made


def single(part: str) -> EngineSpec:
    """Return an engine of one thread: several wait for each other while other tests run."""
    return spec(part, threads=1)


@pytest.mark.parametrize("part", ["stt", "partial", "final"])
def test_it_says_what_the_engine_itself_says(running: dict[str, Kept], part: str) -> None:
    kept = running[part]
    engine: Any = make(single(part))
    engine.load()
    process: Any = kept.process
    if part == "stt":
        pcm = golden_pcm()
        assert process.recognize(pcm, final=True) == engine.recognize(pcm, final=True)
        ids = [token.id for token in engine.recognize(pcm, final=False).tokens][:3]
        partial = process.recognize(pcm, final=False, prefix=ids)
        assert partial == engine.recognize(pcm, final=False, prefix=ids)
        assert process.recognize(np.zeros(0, np.float32), final=False).text == ""
        return
    grown: list[str] = []
    engine.deadline_s = PATIENT_S
    alone = engine.translate(TEXT)
    beside = process.translate(TEXT, TranslationRequest(grown.append))
    assert beside == alone
    assert grown
    assert alone.text.startswith(grown[0])
    # The draft, the committed text and the wanted terms reach the engine as well.
    committed = Standing(source=5, target=3, pieces=(("\u2581La",), ()), closed=1)
    wanted = (WantedTerm("peace", 17, 22, ("sosiego",), "es", "sosiegos?"),)
    asked = TranslationRequest(None, "La gracia a vosotros.", committed, wanted)
    assert process.translate(TEXT, asked) == engine.translate(TEXT, asked)
    assert process.translate("half a \ud83d character").text


def test_two_threads_that_ask_at_once_are_both_counted(keep: Callable[..., Kept]) -> None:
    class Hesitant(TranslatorProcess):
        """Another thread always runs between reading the counters and replacing them."""

        @property
        def work(self) -> Work:
            before: Work = self.__dict__.get("counted", Work())
            time.sleep(0.05)
            return before

        @work.setter
        def work(self, new: Work) -> None:
            self.__dict__["counted"] = new

    kept = keep("partial")
    kept.process.__class__ = Hesitant
    kept.process.load()
    kept.ask()
    once = kept.process.work.generated_tokens
    threads = [threading.Thread(target=kept.ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept.process.work.generated_tokens == 5 * once > 0


def test_a_flipped_bit_that_leaves_a_translation_without_a_score_costs_the_score_alone(
    keep: Callable[..., Kept], tmp_path: Path
) -> None:
    healthy = spec("partial")
    model = tmp_path / "marian"
    shutil.copytree(healthy.model, model)
    weights = bytearray((model / "model.bin").read_bytes())
    scale = read_raw(model / "model.bin")[0]["decoder/embeddings/weight_scale"]
    at = weights.index(scale.tobytes())
    weights[at + 3] ^= 0x40  # bit 30 of its first number
    (model / "model.bin").write_bytes(weights)
    kept = keep("partial", engine=replace(healthy, model=model))
    kept.process.load()
    translator = kept.process
    assert isinstance(translator, TranslatorProcess)
    assert kept.ask() is not None
    with pytest.raises(EngineError, match="no score"):
        translator.score(TEXT, ["Gracia y paz a vosotros."])
    assert kept.codes == []


def test_hotwords_and_the_deadline_travel_with_each_call(running: dict[str, Kept]) -> None:
    final, stt = running["final"], running["stt"]
    final.process.deadline_s = 0.0  # type: ignore[union-attr]
    with pytest.raises(EngineError, match="final-late"):
        final.ask()
    final.process.deadline_s = PATIENT_S  # type: ignore[union-attr]
    assert final.ask()
    plain = stt.ask()
    stt.process.hotwords = "Habakkuk, Zephaniah, Nebuchadnezzar, Mephibosheth"  # type: ignore[union-attr]
    stt.process.recognize(golden_pcm(), final=True)  # type: ignore[union-attr]
    stt.process.hotwords = ""  # type: ignore[union-attr]
    assert stt.ask() == plain


def test_the_parent_imports_no_library_of_an_engine(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; "
        "from pipeline.engines.process.engine_process import *; "
        "from pipeline.engines.specification import *; "
        "from pipeline.models.resolve import resolve; "
        "p = TranslatorProcess(EngineSpec('gemma', 'gemma', resolve('gemma', 'tiny'), {}), "
        "FINAL); p.deadline_s = 120; p.load(); assert p.translate('Amen.').text; p.close(); "
        "maps = Path('/proc/self/maps').read_text(); "
        "heavy = ('llama', 'ctranslate2', 'onnxruntime', 'sentencepiece', 'libggml'); "
        "print([h for h in heavy if h in maps], "
        "[m for m in sys.modules if m in ('llama_cpp', 'ctranslate2', 'faster_whisper')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] []"


def test_a_recognition_that_is_cancelled_stops_and_the_process_goes_on(
    running: dict[str, Kept],
) -> None:
    process: Any = running["stt"].process
    pid, pcm = process.pid, read_audio(bundled("demo", "sermon.flac"))[: 3 * SAMPLE_RATE]
    whole = process.recognize(pcm, final=False)
    process.is_cancelled = lambda: True
    with pytest.raises(EngineCancelledError):
        process.recognize(pcm, final=False)
    process.is_cancelled = lambda: False
    assert process.recognize(pcm, final=False) == whole
    assert process.pid == pid
    assert process.degraded_reason == ""


def test_a_translation_that_is_cancelled_stops_and_the_process_goes_on(
    running: dict[str, Kept],
) -> None:
    process: Any = running["final"].process
    pid, whole = process.pid, process.translate(TEXT)
    long = " ".join(["The Lord is my shepherd and I shall not want."] * 8)
    grown: list[str] = []
    process.is_cancelled = lambda: bool(grown)
    with pytest.raises(EngineCancelledError):
        process.translate(long, TranslationRequest(grown.append))
    process.is_cancelled = lambda: True  # the answer comes before or after the child reads this
    for _ in range(5):
        with suppress(EngineCancelledError):
            process.translate("Amen.")
    process.is_cancelled = lambda: False
    assert process.translate(TEXT).text == whole.text
    assert process.pid == pid
    assert process.degraded_reason == ""


def test_the_real_quick_translator_stands_in_for_a_server_and_judges(
    keep: Callable[..., Kept],
) -> None:
    with scripted(answers(403, b"{}")) as server:
        arguments = {"url": server.url, "deadline_s": PATIENT_S, "local": spec("partial").as_json()}
        kept = keep("partial", engine=EngineSpec("openai", "openai", Path(MODEL), arguments))
        kept.process.load()
        assert isinstance(kept.process, TranslatorProcess)
        made = kept.process.translate(TEXT)
        ((mean, least),) = kept.process.score(TEXT, [made.text])
    assert made.engine == "marian"
    assert made.text
    assert "marian stands in on this machine" in kept.process.degraded_reason
    assert least <= mean < 0

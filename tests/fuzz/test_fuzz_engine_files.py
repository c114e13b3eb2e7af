"""Models of every format with flipped and cut bytes, in their engines' own processes.

Native code reads them. If it hangs, aborts or exhausts memory, only that process ends, in bounded
time, and a code reports it. The processes have limits on memory and process count.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import StarkError
from pipeline.core.resources import bundled
from pipeline.models import integrity
from tests.support.engine_processes import kept_processes, spec
from tests.support.failing_engines import put_into_children
from tests.support.material import FUZZ, damaged
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow
SOME = settings(FUZZ, max_examples=max(2, settings().max_examples // 50))
LOAD_S, PATIENT_S = 20.0, 280.0
"""Load time limits: of a damaged model, and of an intact one on a busy machine."""
LIMITS = """
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    resource.setrlimit(resource.RLIMIT_NPROC, (4096, 4096))
"""
FILES = {
    "stt": ("model.bin", "tokenizer.json", "config.json"),
    "partial": ("model.bin", "source.spm", "target.spm", "config.json"),
    "final": ("model.gguf",),
}
HEAD = 20_000
"""Tensor names, sizes and types lie within it; beyond it a flipped bit only changes a weight."""
SILERO = bundled("models", "silero", "silero_vad_16k.onnx")


def limit(part: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the processes for `part`, and their load time."""
    for name, value in put_into_children(folder / "site", part, LIMITS).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(integrity, "_UNKNOWN_S", LOAD_S)


def outcome(part: str, folder: Path, name: str, content: bytes, hang_s: float = LOAD_S) -> str:
    """Load a model with one damaged file and ask it; return the outcome."""
    engine = spec(part)
    own = folder / "model"
    shutil.rmtree(own, ignore_errors=True)
    if engine.model.is_dir():
        shutil.copytree(engine.model, own)
        (own / name).write_bytes(content)
        model = own
    else:
        own.mkdir()
        model = own / name
        model.write_bytes(content)
    with kept_processes() as keep:
        kept = keep(part, engine=replace(engine, model=model), restarts=False, hang_s=hang_s)
        with suppress(StarkError):
            kept.process.load()
            kept.ask()
            return "loaded"
        return "refused"


@pytest.mark.parametrize("part", ["stt", "partial"])
@SOME
@given(data=st.data())
def test_a_damaged_model_ends_its_own_process_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, data: st.DataObject
) -> None:
    """A damaged final translator does not even end it: test_fuzz_gguf.py."""
    limit(part, tmp_path, monkeypatch)
    original = spec(part).model
    name = data.draw(st.sampled_from([n for n in FILES[part] if (original / n).is_file()]))
    whole = (original / name).read_bytes()
    size = min(len(whole), HEAD)
    outcome(part, tmp_path, name, data.draw(damaged(whole[:size], most=3)) + whole[size:])


@pytest.mark.parametrize("part", FILES)
def test_a_whole_model_of_unknown_origin_loads_within_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    limit(part, tmp_path, monkeypatch)
    monkeypatch.setattr(integrity, "_UNKNOWN_S", PATIENT_S)
    original = spec(part).model
    name = FILES[part][0]
    whole = (original / name if original.is_dir() else original).read_bytes()
    assert outcome(part, tmp_path, name, whole, PATIENT_S) == "loaded"


@SOME
@given(data=st.data())
def test_a_damaged_voice_detector_is_refused_or_hears(tmp_path: Path, data: st.DataObject) -> None:
    """The daemon runs only the shipped detector, in its own process; this test uses another one."""
    files = [tmp_path / f"{number}.onnx" for number in range(4)]
    for file in files:
        file.write_bytes(data.draw(damaged(SILERO.read_bytes(), most=3)))
    code = (
        "import resource, sys; from pathlib import Path; import numpy as np\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "from pipeline.audio.silero_vad import Silero\n"
        "from pipeline.core.errors import EngineError, ModelError\n"
        "for file in sys.argv[1:]:\n"
        "    silero = Silero(Path(file))\n"
        "    try:\n        silero.load(); silero.probability(np.zeros(512, np.float32))\n"
        "    except (ModelError, EngineError) as error:\n        print(error.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *files],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from pipeline.audio.silero_vad import Silero
from pipeline.core.errors import EngineError, ModelError
from pipeline.core.resources import bundled


@pytest.fixture(scope="module")
def silero() -> Silero:
    detector = Silero()
    detector.load()
    return detector


def probabilities(silero: Silero, audio: NDArray[np.floating]) -> NDArray[np.float64]:
    silero.reset()
    whole = len(audio) // 512 * 512
    blocks = np.asarray(audio[:whole], np.float32).reshape(-1, 512)
    return np.array([silero.probability(block) for block in blocks])


SECONDS = np.arange(16_000 * 4) / 16_000
NOISE = np.random.default_rng(7).normal(0, 1, len(SECONDS))
NOT_SPEECH = {  # and the pauses and the organ of the sermon
    "loud noise": 0.3 * NOISE,
    "rumble": 0.002 * np.cumsum(NOISE - NOISE.mean()),
    "mains hum": np.sum([0.2 / k * np.sin(2 * np.pi * 50 * k * SECONDS) for k in range(1, 6)], 0),
}


@pytest.mark.parametrize("name", NOT_SPEECH)
def test_what_is_not_speech_is_far_from_the_threshold(silero: Silero, name: str) -> None:
    assert probabilities(silero, NOT_SPEECH[name]).max() < 0.35


@pytest.mark.slow
def test_the_sermon_is_told_apart_into_speech_and_the_rest(silero: Silero) -> None:
    audio, rate = soundfile.read(bundled("demo", "sermon.flac"), dtype="float32")
    assert rate == 16_000
    times = json.loads(bundled("demo", "sermon.json").read_text(encoding="utf-8"))
    p = probabilities(silero, audio)
    middle_s = (np.arange(len(p)) + 0.5) * 0.032

    def within(start_s: float, end_s: float) -> NDArray[np.float64]:
        return p[(middle_s > start_s) & (middle_s < end_s)]

    for sentence in times["sentences"]:
        spoken = within(sentence["start_s"] + 0.1, sentence["end_s"] - 0.1)
        assert (spoken >= 0.5).mean() > 0.75, sentence["en"]
    for section in times["sections"]:
        if section["kind"] != "speech":
            assert within(section["start_s"] + 0.5, section["end_s"]).max() < 0.35


def test_reset_forgets_what_was_heard(silero: Silero) -> None:
    audio, _ = soundfile.read(bundled("demo", "sermon.flac"), dtype="float32", frames=16_000 * 3)
    first = probabilities(silero, audio)
    assert np.array_equal(probabilities(silero, audio), first)
    unforgotten = [silero.probability(block) for block in audio[:5120].reshape(-1, 512)]
    assert not np.allclose(unforgotten, first[:10])


def test_a_block_of_another_size_is_a_mistake(silero: Silero) -> None:
    with pytest.raises(ValueError, match="512"):
        silero.probability(np.zeros(480, np.float32))


def refusal(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        Silero(path).load()
    assert str(path) in caught.value.message
    return caught.value.code


def test_a_model_that_is_missing_broken_or_has_other_inputs_is_named(tmp_path: Path) -> None:
    file = tmp_path / "silero.onnx"
    assert refusal(file) == "model-missing"
    whole = bundled("models", "silero", "silero_vad_16k.onnx").read_bytes()
    for content in (b"", b"not a model", whole[: len(whole) // 2]):
        file.write_bytes(content)
        assert refusal(file) == "model-broken"
    spec = importlib.util.find_spec("faster_whisper")
    assert spec
    assert spec.origin
    (other,) = Path(spec.origin).parent.glob("assets/*.onnx")
    assert refusal(other) == "model-broken"


def test_what_is_no_probability_and_what_cannot_be_run_are_errors_that_a_reset_cures(
    silero: Silero,
) -> None:
    silero.reset()
    nan, misshapen = np.full_like(silero._state, np.nan), np.zeros((1, 1, 1), np.float32)
    for state, says in ((nan, "says nan"), (misshapen, "vad-failed")):
        silero._state = state
        with pytest.raises(EngineError, match=says):
            silero.probability(np.zeros(512, np.float32))
        silero.reset()
        assert silero.probability(np.zeros(512, np.float32)) < 0.1


@pytest.mark.slow
def test_nothing_is_kept_about_the_machine_and_sent_to_onnxruntimes_maker(tmp_path: Path) -> None:
    """Version 1.31 writes a number for the machine and a queue into the user's cache."""
    home = {
        k: v for k, v in os.environ.items() if k not in ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    }
    load = "from pipeline.audio.silero_vad import Silero; Silero().load()"
    subprocess.run(
        [sys.executable, "-c", load], env=home | {"HOME": str(tmp_path)}, check=True, timeout=60
    )
    assert not [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name]

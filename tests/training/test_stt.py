"""The committed speech model through the plain public API of faster-whisper, without torch."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.support.needs import needs_file, needs_program
from training.data import speech

MODEL = Path("models/starter/stt").resolve()
TEXT = "The Lord is my shepherd, and we pray for the church."
LISTEN = """
import json, sys
import soundfile
from faster_whisper import WhisperModel
model = WhisperModel(sys.argv[1], device="cpu", compute_type="int8", cpu_threads=2)
audio, _ = soundfile.read(sys.argv[2], dtype="float32")
segments, _ = model.transcribe(
    audio, language="en", beam_size=1, temperature=0.0, without_timestamps=True,
    condition_on_previous_text=False, hotwords=sys.argv[3] or None,
)
print(json.dumps({
    "text": " ".join(segment.text.strip() for segment in segments),
    "torch": "torch" in sys.modules,
}))
"""


def listen(audio: speech.Audio, folder: Path, hotwords: str = "") -> dict[str, object]:
    """Return what the model hears, in a process of its own, without network."""
    path = folder / "speech.wav"
    soundfile.write(path, audio, speech.SAMPLE_RATE_HZ, subtype="FLOAT")
    done = subprocess.run(
        [sys.executable, "-c", LISTEN, MODEL, path, hotwords],
        capture_output=True,
        check=True,
        text=True,
        env={"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "PATH": ""},
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("hotwords", ["", "Ephesus, Golgotha, Nicodemus, righteousness, Isaiah"])
def test_the_committed_model_hears_a_sentence_without_torch(tmp_path: Path, hotwords: str) -> None:
    needs_program("espeak-ng")
    needs_file(MODEL / "model.bin")
    audio = speech.speak(TEXT, speech.Voice("espeak-ng", "en-us+m3", 0.9))

    heard = listen(audio, tmp_path, hotwords)

    assert heard["torch"] is False
    words = str(heard["text"]).lower().replace(".", "").replace(",", "").split()
    expected = TEXT.lower().replace(".", "").replace(",", "").split()
    assert len(set(expected) & set(words)) >= len(set(expected)) - 1, heard["text"]


@pytest.mark.slow
def test_nobody_speaks_in_noise(tmp_path: Path) -> None:
    needs_file(MODEL / "model.bin")
    noise = speech.coloured_noise(4 * speech.SAMPLE_RATE_HZ, random.Random(3)) * np.float32(0.05)

    assert listen(noise, tmp_path)["text"] == ""


def test_the_model_is_small_and_complete() -> None:
    needs_file(MODEL / "model.bin")
    names = {path.name for path in MODEL.iterdir()}

    assert names == {
        "model.bin", "config.json", "vocabulary.json", "tokenizer.json", "preprocessor_config.json",
    }  # fmt: skip
    assert sum(path.stat().st_size for path in MODEL.iterdir()) < 10_000_000

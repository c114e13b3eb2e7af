"""The real program with a streaming recognizer: captions, records, and mistakes in settings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE
from scripts.support.program import call, started
from tests.support.needs import needs_file, needs_module
from tests.support.schemas import problems
from tests.support.tiny_transducer import write_transducer

pytestmark = pytest.mark.slow

KENNEDY = bundled("demo", "voices", "jfk_1961.flac")
ENGINE, MODEL = "STARK_TRANSLATE__STT__ENGINE", "STARK_TRANSLATE__STT__MODEL"


def test_moonshine_captions_a_human_voice(tmp_path: Path) -> None:
    needs_module("moonshine_voice")
    needs_file(KENNEDY)
    chosen = {ENGINE: "moonshine"}
    with started("run", "--input", str(KENNEDY), "--pace", "fast", cwd=tmp_path, **chosen) as run:
        assert run.end(120) == 0
        finals = run.records()
        said = " ".join(each["raw_text"] for each in finals)
        assert "what you can do for your country." in said, said
        assert {each["filtered"] for each in finals} <= {None, ""}, finals
        assert [each["source"]["text"] for each in run.journal()][-1].endswith("country.")
        (models,) = [each for each in run.records("event") if each["event"] == "models"]
        hears = models["models"][0]
        assert (hears["engine"], hears["file"]) == ("moonshine", "decoder_model_merged.ort")
        for record in (*finals, models):
            assert problems(f"records/{record['type']}", record) == [], record


def test_a_transducer_of_sherpa_onnx_is_asked_for_every_utterance(tmp_path: Path) -> None:
    needs_module("sherpa_onnx", "onnx")
    needs_file(KENNEDY)
    model = write_transducer(tmp_path / "tones")
    chosen = {ENGINE: "sherpa-onnx", MODEL: str(model)}
    # The voice lets the detector find utterances; what this model hears in it is tones.
    with started("run", "--input", str(KENNEDY), "--pace", "fast", cwd=tmp_path, **chosen) as run:
        assert run.end(120) == 0
        assert run.records()
        assert {each["raw_text"].split()[0] for each in run.records() if each["raw_text"]} <= {
            *("grace", "to", "you", "r", "your"),
        }
        # Its text of a voice is nonsense, which the filter says; nothing else is wrong.
        faults = [each for each in run.records("event") if each["event"] == "fault"]
        assert {each["code"] for each in faults} <= {"stt-unusable"}, faults


def test_an_engine_without_its_model_ends_the_start(tmp_path: Path) -> None:
    needs_module("sherpa_onnx")
    sound = tmp_path / "sound.wav"
    soundfile.write(sound, np.zeros(SAMPLE_RATE, np.float32), SAMPLE_RATE)
    done = call("run", "--input", str(sound), cwd=tmp_path, env={ENGINE: "sherpa-onnx"})
    assert done.returncode == 78
    assert "[model-unnamed]" in done.stderr

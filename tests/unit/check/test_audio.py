"""The sound check on files; cli/commands/test_check.py tests it with a microphone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.file import AudioFile
from pipeline.audio.silero_vad import Silero
from pipeline.check.audio import Heard, checks, judge, listen
from pipeline.check.result import Result, results
from pipeline.config.schema import Audio, Settings
from pipeline.core.errors import AudioError
from tests.support.paths import ROOT

SERMON = ROOT / "demo" / "sermon.flac"


def told(audio: Audio, seconds: float = 1.0) -> dict[str, Result]:
    found = results(list(checks(Settings(audio=audio), seconds)))
    return {result.name: result for result in found}


def heard(path: Path, seconds: float = 60.0) -> Heard:
    detector = Silero()
    detector.load()
    return listen(AudioFile(path, pace="fast"), detector, seconds=seconds, threshold=0.5)


@pytest.mark.slow
def test_speech_is_heard_as_speech_and_only_so_much_is_taken() -> None:
    found = heard(SERMON, 5.0)
    assert found.seconds == pytest.approx(5.0, abs=0.04)
    assert 2.0 < found.speech_s < 4.0
    assert -30 < found.loudest_dbfs < -10
    assert found.clipped_share == 0


def test_a_tone_at_full_scale_is_clipping_and_not_speech(tmp_path: Path) -> None:
    tone = np.clip(3 * np.sin(np.arange(48_000) * 0.2), -1, 1)
    soundfile.write(tmp_path / "tone.wav", tone, 16_000, subtype="FLOAT")
    found = heard(tmp_path / "tone.wav")
    assert found.clipped_share == 1
    assert found.speech_s < 0.5


@pytest.mark.parametrize(
    ("loudest_dbfs", "clipped_share", "speech_s", "code"),
    [
        (-120.0, 0.0, 0.0, "audio-silent"),
        (-60.0, 0.0, 0.1, "audio-silent"),
        (-20.0, 0.5, 2.0, "audio-clipping"),
    ],
)
def test_what_cannot_be_captioned_is_red(
    loudest_dbfs: float, clipped_share: float, speech_s: float, code: str
) -> None:
    with pytest.raises(AudioError) as caught:
        judge(Heard(3.0, loudest_dbfs, clipped_share, speech_s), "Mixer")
    assert caught.value.code == code
    assert caught.value.message.startswith("Mixer")
    assert caught.value.fix


@pytest.mark.parametrize(
    ("loudest_dbfs", "clipped_share", "speech_s", "code"),
    [
        (-20.0, 0.0, 2.0, ""),
        (-20.0, 0.05, 2.0, "audio-clipping"),
        (-55.0, 0.0, 2.0, "audio-quiet"),
        (-20.0, 0.0, 0.1, "audio-no-speech"),
    ],
)
def test_what_can_be_captioned_is_green_or_advised(
    loudest_dbfs: float, clipped_share: float, speech_s: float, code: str
) -> None:
    passed = judge(Heard(3.0, loudest_dbfs, clipped_share, speech_s), "Mixer")
    assert passed.code == code
    assert bool(passed.advice) == bool(code)


@pytest.mark.slow
def test_a_file_is_listened_to_beyond_its_first_seconds(tmp_path: Path) -> None:
    speech, _ = soundfile.read(SERMON, dtype="float32", stop=160_000)
    late = np.concatenate([np.zeros(10 * 16_000, np.float32), speech])
    soundfile.write(tmp_path / "late.wav", late, 16_000)
    found = told(Audio(input=str(tmp_path / "late.wav")))
    assert all(result.ok for result in found.values())
    assert "speech" in found["level"].message


def test_a_voice_on_another_channel_is_found(tmp_path: Path) -> None:
    file = tmp_path / "stereo.wav"
    tone = np.sin(np.arange(16_000) / 5) / 4
    soundfile.write(file, np.stack([tone * 0, tone], axis=1), 16_000)
    level = told(Audio(input=str(file)))["level"]
    assert (level.code, level.fix.split(":")[0]) == ("audio-silent", "Channel 2 has sound")
    soundfile.write(file, np.zeros((16_000, 2)), 16_000)
    assert "Switch the microphone on" in told(Audio(input=str(file)))["level"].fix


def test_a_file_that_is_not_there_is_red_and_not_listened_to(tmp_path: Path) -> None:
    found = told(Audio(input=str(tmp_path / "nowhere.wav")))
    assert found["audio"].code == "audio-missing"
    assert "audio.input" in found["audio"].fix
    assert "level" not in found

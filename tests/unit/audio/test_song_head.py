"""The shipped head: speech stays speech, an organ is song; and its file, intact or broken."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.file import AudioFile
from pipeline.audio.silero_vad import Silero
from pipeline.audio.song_head import (
    STEP_BLOCKS,
    WINDOW_BLOCKS,
    LinearSongDetector,
    SongFeatures,
    read_song_head,
)
from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, Pcm
from scripts.demo.music import organ
from scripts.support.program import SERMON
from tests.support.sounds import speech


def song_of(pcm: Pcm) -> list[float]:
    """Return the detector's output for a sound, look by look, with the real voice detector."""
    silero, detector = Silero(), LinearSongDetector()
    silero.load()
    detector.load()
    blocks = [pcm[at : at + BLOCK_SAMPLES] for at in range(0, len(pcm) - 511, BLOCK_SAMPLES)]
    found = [detector.probability(block, silero.probability(block)) for block in blocks]
    return [each for each in found if each is not None]


def section(name: str) -> Pcm:
    pcm, rate = soundfile.read(SERMON, dtype="float32")
    (part,) = (each for each in SECTIONS if each["name"] == name)
    return np.asarray(pcm[round(part["start_s"] * rate) : round(part["end_s"] * rate)])


SECTIONS = json.loads(SERMON.with_suffix(".json").read_text("utf-8"))["sections"]


@pytest.mark.slow
def test_the_sermon_is_speech_and_its_hymn_is_song() -> None:
    for name in ("greeting", "message"):
        assert max(song_of(section(name))) < 0.5
    assert np.median(song_of(section("hymn"))) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("voice", ["jfk_1961", "lj050_0131"])
def test_people_who_speak_do_not_sing(voice: str) -> None:
    file = AudioFile(bundled("demo", "voices", f"{voice}.flac"), pace="fast")
    file.open()
    looks = song_of(np.concatenate([block.pcm for block in file.blocks()]))
    assert np.mean(np.array(looks) > 0.8) < 0.02


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "model-missing"),
        ("", "model-broken"),
        ("[1, 2]", "model-broken"),
        ('{"weights": [[1, 2, 3]], "bias": [0, 0, 0]}', "model-broken"),
        ('{"weights": "no", "bias": []}', "model-broken"),
    ],
)
def test_a_head_that_is_missing_or_broken_is_named(
    tmp_path: Path, content: str | None, code: str
) -> None:
    path = tmp_path / "head.json"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(ModelError, match=r"head\.json") as raised:
        read_song_head(path)
    assert raised.value.code == code


def test_the_head_that_ships_says_how_it_was_made() -> None:
    assert read_song_head().bias.shape == (3,)
    stored = json.loads(bundled("models", "song", "head.json").read_text("utf-8"))
    assert "training.train.train_song" in stored["made_by"]


ORGAN = np.asarray(0.1 * organ("G3+B3+D4:4 C3+E3+G3:4", 90, SAMPLE_RATE), np.float32)


def looks(pcm: Pcm, thought: float = 0.5) -> list[np.ndarray]:
    features = SongFeatures()
    blocks = [pcm[at : at + BLOCK_SAMPLES] for at in range(0, len(pcm) - 511, BLOCK_SAMPLES)]
    found = [features.push(block, thought) for block in blocks]
    return [each for each in found if each is not None]


def test_there_is_a_look_every_quarter_of_a_second_once_two_have_been_heard() -> None:
    blocks = len(ORGAN) // BLOCK_SAMPLES
    found = looks(ORGAN)
    assert len(found) == (blocks - WINDOW_BLOCKS) // STEP_BLOCKS + 1
    assert {each.shape for each in found} == {(SongFeatures.COUNT,)}


def test_all_of_them_are_numbers_also_of_silence_and_of_full_scale() -> None:
    for pcm in (np.zeros(48_000, np.float32), np.ones(48_000, np.float32)):
        assert np.isfinite(looks(pcm)).all()


def test_they_do_not_tell_how_loud_it_is() -> None:
    noise = np.random.default_rng(1).standard_normal(len(ORGAN)).astype(np.float32)
    sound = ORGAN + np.float32(0.002) * noise
    loud, soft = looks(sound)[3], looks(sound * np.float32(0.25))[3]
    assert np.allclose(loud, soft, atol=0.15)


@pytest.mark.slow
def test_after_a_reset_nothing_of_before_is_in_a_look() -> None:
    fresh, used = SongFeatures(), SongFeatures()
    before = speech(4.0) * 2
    for at in range(0, 100 * BLOCK_SAMPLES, BLOCK_SAMPLES):
        used.push(before[at : at + BLOCK_SAMPLES], 1.0)
    used.reset()
    for at in range(0, WINDOW_BLOCKS * BLOCK_SAMPLES, BLOCK_SAMPLES):
        block = ORGAN[at : at + BLOCK_SAMPLES]
        one, two = fresh.push(block, 0.0), used.push(block, 0.0)
    assert one is not None
    assert two is not None
    assert np.array_equal(one, two)

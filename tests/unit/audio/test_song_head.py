"""The head that ships: speech stays speech, an organ is song; and its file, whole or broken."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.audio.file import AudioFile
from pipeline.audio.silero_vad import Silero
from pipeline.audio.song_head import LinearSongDetector, read_song_head
from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.core.types import BLOCK_SAMPLES, Pcm
from scripts.support.program import SERMON


def song_of(pcm: Pcm) -> list[float]:
    """What the detector says of a sound, look by look, with the real voice detector."""
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
@pytest.mark.parametrize("voice", ["harvard_list_72", "jfk_1961", "lj050_0131"])
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
        LinearSongDetector(path).load()
    assert raised.value.code == code


def test_the_head_that_ships_says_how_it_was_made() -> None:
    assert read_song_head().bias.shape == (3,)
    said = json.loads(bundled("models", "song", "head.json").read_text("utf-8"))
    assert "training.train.train_song" in said["made_by"]

"""Sound for training: read, split in three, with balanced speakers; unusable files are reported."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.core.errors import LearningError
from pipeline.learning.data.folder import METADATA
from training.data import sound
from training.data.sound import Utterance

EVERY = [
    Utterance(Path(f"{number}.flac"), f"Sentence number {number}.", source="review")
    for number in range(400)
]


def test_each_utterance_is_always_in_the_same_part() -> None:
    split = sound.divide(EVERY)
    assert sound.divide(EVERY[::-1]).held_out == split.held_out[::-1]
    parts = [split.training, split.development, split.held_out]
    assert sum(map(len, parts)) == len({each for part in parts for each in part}) == 400
    assert all(20 < len(part) < 90 for part in parts[1:])


def test_what_only_the_score_vouches_for_is_not_held_out() -> None:
    assert not sound.divide([replace(each, source="auto") for each in EVERY]).held_out


def test_one_sentence_in_two_voices_is_in_one_part() -> None:
    again = [replace(each, file=Path(f"again-{each.file}")) for each in EVERY]
    split = sound.divide([*EVERY, *again])
    texts = [{each.text for each in part} for part in (split.training, split.development)]
    assert not texts[0] & texts[1]


def test_what_is_held_out_is_not_learnt_from_another_recording() -> None:
    again = [replace(each, file=Path(f"again-{each.file}"), source="auto") for each in EVERY]
    split = sound.divide([*EVERY, *again])
    assert {each.source for each in split.held_out} == {"review"}
    seen = {each.text for each in (*split.training, *split.development)}
    assert not seen & {each.text for each in split.held_out}


def test_a_recognizer_learns_from_its_own_language_only(tmp_path: Path) -> None:
    lines = (
        '{"file_name": "a.flac", "transcription": "Grace.", "lang": "en"}\n',
        '{"file_name": "b.flac", "transcription": "Gracia.", "lang": "es"}\n',
        '{"file_name": "c.flac", "transcription": "Amen."}\n',
    )
    (tmp_path / METADATA).write_text("".join(lines))
    assert [each.text for each in sound.read(tmp_path, "en")] == ["Grace.", "Amen."]


def test_a_speaker_who_is_seldom_in_the_pulpit_is_heard_as_often() -> None:
    often = [replace(each, speaker="Ana") for each in EVERY[:90]]
    seldom = [replace(each, speaker="Ben") for each in EVERY[90:100]]
    drawn = list(islice(sound.endless([*often, *seldom], random.Random(1)), 180))
    assert Counter(each.speaker for each in drawn) == {"Ana": 90, "Ben": 90}
    assert set(often) <= set(drawn)
    assert set(Counter(each for each in drawn if each.speaker == "Ben").values()) == {9}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "sound-missing"),
        ("{", "sound-unreadable"),
        ("[]", "sound-unreadable"),
        ('{"file_name": "a.flac"}\n', "sound-unreadable"),
        ('{"file_name": "a.flac", "transcription": "a", "terms": 3}\n', "sound-unreadable"),
    ],
)
def test_a_folder_that_cannot_be_read_is_told(
    tmp_path: Path, content: str | None, code: str
) -> None:
    if content is not None:
        (tmp_path / METADATA).write_text(content)
    with pytest.raises(LearningError) as caught:
        sound.read(tmp_path, "en")
    assert caught.value.code == code
    assert caught.value.fix


def test_too_little_is_told_with_how_much_there_is() -> None:
    with pytest.raises(LearningError, match="3 utterances are too few") as caught:
        sound.divide(EVERY[:3])
    assert caught.value.code == "sound-too-little"


def test_files_that_are_no_sound_are_told_by_name(tmp_path: Path) -> None:
    empty, noise, long = (tmp_path / name for name in ("empty.flac", "noise.flac", "long.wav"))
    empty.touch()
    noise.write_bytes(b"fLaC no more")
    soundfile.write(long, np.zeros(16_000 * 31), 16_000)
    for path in (empty, noise, long, tmp_path / "absent.flac"):
        with pytest.raises(LearningError, match=path.name) as caught:
            sound.load(Utterance(path, "Amen."))
        assert caught.value.code == "sound-broken"


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_silence_does_not_teach_words(tmp_path: Path, value: float) -> None:
    path = tmp_path / "silence.wav"
    soundfile.write(path, np.full(16_000, value, np.float32), 16_000, subtype="FLOAT")
    with pytest.raises(LearningError, match="it is silent"):
        sound.load(Utterance(path, "Amen."))

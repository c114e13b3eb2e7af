"""The recordings of the benchmarks and the word times beside them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
import soundfile

from pipeline.audio.file import read_audio
from pipeline.config.schema import Vad
from pipeline.core.errors import SessionError
from pipeline.core.resources import bundled
from scripts.bench import recordings
from scripts.bench.recordings import Material

VOICES = bundled("demo", "voices")


@pytest.fixture(scope="module")
def voices(tmp_path_factory: pytest.TempPathFactory) -> Material:
    return recordings.voices(VOICES, tmp_path_factory.mktemp("joined"))


def check_times(material: Material) -> None:
    """Check that every word of the text has a time, in order, within the recording."""
    assert [word.text for word in material.words] == material.text.split()
    assert all(word.start_s <= word.end_s for word in material.words)
    assert all(a.start_s <= b.start_s and a.end_s <= b.end_s for a, b in pairwise(material.words))
    assert material.words[0].start_s >= 0
    assert material.words[-1].end_s <= material.duration_s


@pytest.mark.parametrize("name", ["sermon", "pauses"])
def test_every_word_of_the_demo_has_its_time(name: str) -> None:
    material = recordings.demo(name)
    check_times(material)
    assert material.sentences
    starts = {word.start_s for word in material.words}
    assert {round(sentence.start_s, 3) for sentence in material.sentences} <= starts
    ends = {word.end_s for word in material.words}
    assert {round(sentence.end_s, 3) for sentence in material.sentences} <= ends


def test_people_are_joined_to_one_recording_that_knows_its_words(voices: Material) -> None:
    check_times(voices)
    assert soundfile.info(voices.audio).duration == pytest.approx(voices.duration_s)
    assert voices.sentences == ()
    kennedy_s = soundfile.info(VOICES / "jfk_1961.flac").duration
    harvard = voices.text.split().index("A")
    assert voices.words[harvard].start_s > kennedy_s + recordings.PAUSE_S - 0.1


def test_a_recording_without_word_times_makes_all_unknown(tmp_path: Path) -> None:
    names = ("jfk_1961.flac", "lj050_0131.flac")
    (tmp_path / "voices.json").write_text(json.dumps({name: {"text": "amen"} for name in names}))
    for name in (*names, "jfk_1961.words.json"):
        (tmp_path / name).symlink_to(VOICES / name)
    joined = recordings.voices(tmp_path, tmp_path)
    assert (joined.words, joined.text) == ((), "amen amen")


def test_word_times_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.words.json").write_text('{"words": [')
    with pytest.raises(SessionError, match=r"a\.words\.json cannot be used"):
        recordings.word_times(tmp_path / "a.flac")
    assert recordings.word_times(tmp_path / "b.flac") == ()


@pytest.mark.slow
def test_utterances_are_cut_where_the_program_cuts_them() -> None:
    pcm = read_audio(VOICES / "jfk_1961.flac")
    cut = recordings.utterances(pcm, Vad(silence_ms=400))
    assert [each.final for each in cut] == [True] * len(cut)
    assert [each.id for each in cut] == list(range(cut[0].id, cut[0].id + len(cut)))
    assert cut[0].start_s < 0.3
    assert cut[-1].end_s == pytest.approx(11.0, abs=0.3)
    assert len(cut) >= 3, "Kennedy makes pauses"

"""The sentences and the sound that engines are measured with."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import LearningError
from pipeline.learning.data.folder import PAIRS, DataFolder
from pipeline.learning.data.pairs import LearningPair
from pipeline.learning.measuring import few_sentences, few_spoken, sentence_sets, sound_sets
from pipeline.learning.mix.mix_files import is_held_out
from pipeline.learning.verdict import OWN_SOUND


def reviewed(number: int) -> LearningPair:
    return LearningPair(
        session_id="s",
        id=number,
        source_lang="en",
        text=f"Sentence {number}.",
        target_lang="es",
        translation=f"Frase {number}.",
        source="review",
        status="accepted",
        audio=f"s-{number}.flac",
    )


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    made = DataFolder(tmp_path / "learning")
    (made.path / "audio").mkdir(parents=True)
    made.write_pairs(PAIRS, [reviewed(n) for n in range(40)])
    lines = [f'{{"file_name":"s-{n}.flac","transcription":"Sentence {n}."}}\n' for n in range(40)]
    (made.path / "audio" / "metadata.jsonl").write_text("".join(lines))
    return made


def test_the_church_is_measured_with_what_it_held_out(data: DataFolder, tmp_path: Path) -> None:
    (tmp_path / "bible.tsv").write_text("In the beginning.\tEn el principio.\n")
    sets = sentence_sets(data, ("en", "es"), [("bible", tmp_path / "bible.tsv")])
    held_out = [pair for pair in data.pairs() if is_held_out(pair)]
    counts = {each.name: len(each.sentences) for each in sets}
    assert counts == {
        "own sermons": len(held_out),
        "gate, general": 50,
        "gate, theological": 50,
        "preaching": 60,
        "meaning": 300,
        "bible": 1,
    }
    assert sum(len(s.terms) for each in sets if "gate" in each.name for s in each.sentences) > 300
    sound = sound_sets(data, "en")
    own = {spoken.file.stem for spoken in sound if spoken.set == OWN_SOUND}
    assert own == {f"s-{pair.id}" for pair in held_out}
    assert {each.set for each in sound} == {OWN_SOUND, "voices"}
    assert all(each.file.is_file() for each in sound if each.set == "voices")
    assert {each.set for each in sound_sets(data, "de")} == {OWN_SOUND}


def test_a_part_of_each_set_comes_from_all_over_it(data: DataFolder) -> None:
    sets = sentence_sets(data, ("en", "es"))
    assert few_sentences(sets, 0) == sets
    some = few_sentences(sets, 5)
    assert [each.name for each in some] == [each.name for each in sets]
    for part, whole in zip(some, sets, strict=True):
        places = [whole.sentences.index(each) for each in part.sentences]
        assert len(places) == min(5, len(whole.sentences))
        assert places == sorted(set(places))
        assert places[-1] >= len(whole.sentences) * 4 // 5
    sound = sound_sets(data, "en")
    heard = [each.set for each in few_spoken(sound, 2)]
    assert heard == [OWN_SOUND, OWN_SOUND, "voices", "voices"]
    assert few_spoken(sound, 0) == sound


def test_french_is_measured_with_the_french_sentences(data: DataFolder) -> None:
    sets = {each.name: each.sentences for each in sentence_sets(data, ("en", "fr"))}
    assert {name: len(each) for name, each in sets.items()} == {
        "gate, general": 50,
        "gate, theological": 50,
        "preaching": 60,
        "meaning": 300,
    }
    assert sets["gate, theological"][9].target == "La croix n'était pas un plan B."
    assert sets["preaching"][45].target == "La mort n'a pas le dernier mot."


def test_without_sound_of_ones_own_voices_alone_say_nothing(tmp_path: Path) -> None:
    assert sound_sets(DataFolder(tmp_path), "en") == []


def test_other_languages_have_their_own_sets_only(data: DataFolder) -> None:
    assert sentence_sets(data, ("fr", "de")) == []


def test_sound_in_another_language_measures_no_recognizer_of_this_one(data: DataFolder) -> None:
    metadata = data.path / "audio" / "metadata.jsonl"
    english = {spoken.text for spoken in sound_sets(data, "en") if spoken.set == OWN_SOUND}
    (said, *_) = english
    line = f'"{said}","lang":"es"'
    metadata.write_text(metadata.read_text().replace(f'"{said}"', line))
    assert {spoken.text for spoken in sound_sets(data, "es")} == english
    assert said not in {spoken.text for spoken in sound_sets(data, "en")}


def test_sound_without_metadata_is_told(tmp_path: Path) -> None:
    with pytest.raises(LearningError) as raised:
        sound_sets(DataFolder(tmp_path), "en", tmp_path)
    assert raised.value.code == "sound-unreadable"

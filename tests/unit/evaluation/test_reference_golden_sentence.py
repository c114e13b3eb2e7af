from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.core.errors import AudioError, SessionError
from pipeline.evaluation.reference import Golden, read_golden
from tests.support.paths import ROOT

DEMO = ROOT / "demo"
GOLDEN = DEMO / "golden.json"


def golden(must: dict[str, tuple[str, ...]]) -> Golden:
    return Golden(np.zeros(16_000, np.float32), {}, must)


def test_the_recording_is_cut_from_the_demo_sermon_sample_for_sample() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    whole, rate = soundfile.read(DEMO / golden["from"], dtype="int16")
    cut, _ = soundfile.read(DEMO / golden["audio"], dtype="int16")
    first, last = round(golden["start_s"] * rate), round(golden["end_s"] * rate)
    assert np.array_equal(cut, whole[first:last]), "cut it again: demo/README.md tells how"


def test_what_is_spoken_is_what_the_sermon_s_reference_has_there() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    sermon = json.loads((DEMO / "sermon.json").read_text("utf-8"))
    inside = [
        sentence
        for sentence in sermon["sentences"]
        if golden["start_s"] < sentence["end_s"] and sentence["start_s"] < golden["end_s"]
    ]
    assert [(s["en"], s["es"]) for s in inside] == [(golden["text"]["en"], golden["text"]["es"])]
    assert golden["start_s"] + 0.2 < inside[0]["start_s"]
    assert inside[0]["end_s"] + 0.2 < golden["end_s"]


def test_the_sentence_itself_misses_nothing_in_either_language() -> None:
    sentence = read_golden(GOLDEN)
    assert sentence.duration_s == pytest.approx(3.2, abs=0.04)
    for lang, text in sentence.text.items():
        assert sentence.must[lang]
        assert sentence.missing(text, lang) == []


def test_french_is_asked_for_what_spanish_is() -> None:
    sentence = read_golden(GOLDEN)
    assert len(sentence.must["fr"]) == len(sentence.must["es"])
    assert sentence.missing("Le Seigneur te gardera de tout mal.", "fr") == []
    assert sentence.missing(sentence.text["es"], "fr") == ["Seigneur", "gardera", "tout"]


def test_every_word_must_be_heard_and_every_content_word_translated() -> None:
    """Once "He gained his life" passed for "gave"."""
    sentence = read_golden(GOLDEN)
    assert sentence.unheard("the lord will keep you from all evil") == []
    assert sentence.unheard("The Lord will heal you from all evil.") == ["keep"]
    assert sentence.missing("Jehová te librará de todo mal.", "es") == []
    assert sentence.missing("El Señor te dejará de todo mal.", "es") == ["guardará"]


def test_whole_words_count_in_any_case_and_with_any_punctuation() -> None:
    sentence = golden({"en": ("soul", "Lord"), "es": ("alma",)})
    assert sentence.missing("LORD, keep my soul!", "en") == []
    assert sentence.missing("The lords keep souls.", "en") == ["soul", "Lord"]
    assert sentence.missing("El almacén", "es") == ["alma"]
    assert sentence.missing("", "es") == ["alma"]


def test_in_a_language_without_expectation_nothing_is_missing() -> None:
    assert golden({"es": ("alma",)}).missing("Er behütet deine Seele.", "de") == []


@pytest.mark.parametrize("content", ["{", "[]", '{"audio": "golden.flac"}', '{"audio": 1}'])
def test_a_broken_reference_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "golden.json").write_text(content)
    with pytest.raises(SessionError) as caught:
        read_golden(tmp_path / "golden.json")
    assert caught.value.code == "reference-unreadable"
    assert "golden.json" in caught.value.message


def test_a_reference_without_its_recording(tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_bytes(GOLDEN.read_bytes())
    with pytest.raises(AudioError) as caught:
        read_golden(tmp_path / "golden.json")
    assert caught.value.code == "audio-missing"

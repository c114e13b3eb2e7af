"""Distributing a text over utterances, ordering words, and the aligner on a real voice."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.audio.file import read_audio
from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE
from scripts.bench.recordings import SpokenWord, word_times
from scripts.bench.word_times import WordAligner, main, shared_out, within


def word(text: str, start_s: float, end_s: float) -> SpokenWord:
    return SpokenWord(text=text, start_s=start_s, end_s=end_s)


def test_a_text_is_shared_out_by_what_was_recognized() -> None:
    text = "And so, my fellow Americans, ask not what your country can do"
    heard = ["And so my fellow American.", "Esk not.", "What your country can do?"]
    assert shared_out(text, heard) == [
        "And so, my fellow Americans,",
        "ask not",
        "what your country can do",
    ]


def test_no_word_is_lost_where_nothing_was_recognized() -> None:
    assert " ".join(shared_out("ask not", ["", "ask"])).split() == ["ask", "not"]
    assert shared_out("ask not", ["", ""]) == ["ask not", ""]
    assert shared_out("ask not", []) == []


def test_a_stretch_begins_with_its_first_word_and_ends_with_its_last() -> None:
    spoken = [word("a", 0.5, 0.9), word("b", 0.8, 0.7), word("c", 2.0, 2.1)]
    found = within(spoken, 1.0, 1.8)
    assert [(each.start_s, each.end_s) for each in found] == [(1.0, 1.0), (1.0, 1.0), (1.8, 1.8)]
    assert within([], 1.0, 2.0) == []


def test_a_folder_without_voices_is_an_error(
    tmp_path: Path, whisper_base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path), "--models", str(whisper_base.parent)]) == 2
    assert "voices.json" in capsys.readouterr().err


@pytest.mark.slow
def test_the_times_of_a_persons_words_are_made_again(whisper_base: Path) -> None:
    file = bundled("demo", "voices", "jfk_1961.flac")
    kept = word_times(file)
    at = next(place for place, each in enumerate(kept) if each.text == "country.")
    # From "what" on; 0.3 s earlier is the middle of the first long pause before it.
    first = next(place for place, each in enumerate(kept) if each.text == "what")
    from_s = kept[first].start_s - 0.3
    part = read_audio(file)[round(from_s * SAMPLE_RATE) :]
    text = " ".join(each.text for each in kept[first:])
    made = WordAligner(whisper_base).align(part, text)
    assert [each.text for each in made] == [each.text for each in kept[first:]]
    apart = [
        abs(new.start_s + from_s - old.start_s)
        for new, old in zip(made, kept[first : at + 1], strict=True)
    ]
    assert sorted(apart)[len(apart) // 2] < 0.15

"""A service in two languages: what is in the recording, and the counts over its captions."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.protocol.caption import CaptionMessage, SourceText
from scripts.quality.spoken_languages import Said, figures, looks, mixed, spoken_in
from scripts.support.journal import message

SAID = [Said("en", 0.0, 4.0), Said("es", 5.0, 9.0), Said("", 10.0, 20.0), Said("es", 21.0, 24.0)]
ENGLISH, SPANISH = "This is what the people have said.", "Esto es lo que la gente ha dicho."


def tone(length_s: float) -> Pcm:
    return np.sin(np.arange(round(length_s * SAMPLE_RATE), dtype=np.float32) / 6)


def heard(key: int, lang: str, start_s: float, shown: str, into: str = "es") -> CaptionMessage:
    said = message(key, "", shown, start_s=start_s, end_s=start_s + 4, lang=into)
    return replace(said, source=SourceText(lang, ENGLISH if lang == "en" else SPANISH))


def test_both_languages_take_turns_around_one_hymn() -> None:
    sound, said = mixed([tone(0.5)] * 20, [tone(0.7)] * 30, tone(3.0))
    assert [each.lang for each in said[:7]] == ["en", "es", "es", "en", "en", "es", "es"]
    (sung,) = (each for each in said if not each.lang)
    assert sung.end_s - sung.start_s == pytest.approx(3.0)
    at = said.index(sung)
    assert (said[at - 1].lang, said[at + 1].lang) == ("en", "es")
    for before, after in pairwise(said):
        assert 0.6 <= after.start_s - before.end_s <= 1.4
    for each in said:
        part = sound[round(each.start_s * SAMPLE_RATE) : round(each.end_s * SAMPLE_RATE)]
        assert 20 * np.log10(np.sqrt(np.mean(part**2))) == pytest.approx(-23, abs=0.1)
    assert len(sound) / SAMPLE_RATE > said[-1].end_s


def test_a_caption_is_of_the_language_of_most_of_its_time() -> None:
    caption = message(1, "", "", start_s=3.0, end_s=7.0)
    assert spoken_in(caption, SAID) == "es"
    assert spoken_in(replace(caption, start_s=12.0, end_s=14.0), SAID) == ""
    assert spoken_in(replace(caption, start_s=30.0, end_s=31.0), SAID) == ""


def test_a_text_looks_like_the_language_of_its_everyday_words() -> None:
    assert [looks(text) for text in (ENGLISH, SPANISH, "Ezra", "")] == ["en", "es", "", ""]


def test_what_came_of_a_recording_is_counted() -> None:
    spanish = [
        heard(1, "en", 0.0, SPANISH),
        heard(2, "en", 5.0, ENGLISH),  # misrecognized as English, and left so
        heard(3, "es", 12.0, SPANISH),  # the hymn
    ]
    draft = replace(spanish[0], final=False)
    counts = figures({"es": [draft, *spanish], "en": [heard(1, "en", 0.0, ENGLISH, "en")]}, SAID)
    assert (counts.utterances, counts.right, counts.unheard, counts.sung) == (2, 1, 1, 1)
    assert counts.wrong == [f"es: {ENGLISH}"]
    assert counts.missed == [f"5.0-9.0 en: {ENGLISH}"]

"""The stages as functions: their input, their output and the measured times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.schema import Church
from pipeline.core.standing import Standing
from pipeline.core.types import (
    Caption,
    Pcm,
    Recognition,
    Transcript,
    Translation,
    Utterance,
)
from pipeline.engines.protocols import PLAIN, TranslationRequest
from pipeline.workers.steps import blend, transcribe, translate
from tests.support.fakes import FakeRecognizer, FakeTranslator, Speech, pcm_of

SCRIPT = [Speech(0.0, 1.0, "grace and peace")]


def utterance() -> Utterance:
    pcm = pcm_of(SCRIPT, 1.0)
    return Utterance(7, 2, True, "silence", 0, len(pcm), pcm, spoken_s=99.0, closed_s=100.0)


def transcript(text: str = "grace and peace") -> Transcript:
    return Transcript(utterance(), "en", text, text, Recognition(text))


def caption(text: str) -> Caption:
    return Caption(transcript(), "es", text, "marian", final=False)


def test_transcribe_keeps_the_utterance_and_measures_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([101.0, 101.5])
    clock = SimpleNamespace(monotonic=lambda: next(ticks))
    monkeypatch.setattr("pipeline.workers.steps.time", clock)
    made = transcribe(FakeRecognizer(SCRIPT), utterance(), lang="en", free_s=100.25)
    assert made.raw_text == made.text == "grace and peace"
    assert made.utterance.id == 7
    assert made.level_dbfs == pytest.approx(-60.0, abs=0.1)
    assert (made.span.start_s, made.span.end_s, made.span.busy_s) == (101.0, 101.5, 0.25)
    assert made.span.ms == 500.0


@pytest.mark.parametrize("named", ["", "whisper:small"])
def test_a_transcript_names_who_heard_it(named: str) -> None:
    class BehindAServer(FakeRecognizer):
        def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
            return replace(super().recognize(pcm, final=final, prefix=prefix), engine=named)

    asked = BehindAServer(SCRIPT, name="openai:large")
    made = transcribe(asked, utterance(), lang="en", free_s=50.0)
    assert made.recognition.engine == (named or "openai:large")
    assert made.span.busy_s == 0.0, "the engine was idle"


def test_translate_makes_a_caption_that_is_not_yet_final() -> None:
    made = translate(FakeTranslator("es"), transcript(), lang="es", handed_s=3.0, free_s=4.0)
    assert (made.id, made.lang, made.text) == (7, "es", "grace-es and-es peace-es")
    assert made.final is False
    assert made.translation is not None
    assert made.translation.tokens == 3
    assert made.span.busy_s == 1.0


def test_sentences_of_chinese_touch() -> None:
    both = Translation("神爱世人。 他来了。 Amen. 阿们", "marian")
    made = translate(FakeTranslator(says=lambda *_: both), transcript(), lang="zh")
    assert made.text == "神爱世人。他来了。Amen. 阿们"


@pytest.mark.parametrize(
    ("spell", "text"), [(True, "Romans-es 8:28-es"), (False, "Romans-es eight-es twenty-eight-es")]
)
def test_the_translator_gets_references_as_they_are_printed(spell: bool, text: str) -> None:
    said = transcript("Romans eight twenty-eight")
    made = translate(FakeTranslator("es"), said, lang="es", church=Church(references=spell))
    assert made.text == text
    assert made.transcript is said


@pytest.mark.parametrize(
    ("source", "text", "kept"),
    [
        ("", "Read Romans 8:28 today", ""),
        ("Read Romans eight twenty-eight", "Read Romans 8:28 today", "Read Romans 8:28"),
        # Its committed part is "Romans 8".
        ("Read Romans eight", "Read Romans eight twenty-eight today", "Read Romans eight"),
    ],
)
def test_a_committed_length_follows_what_is_written_otherwise(
    source: str, text: str, kept: str
) -> None:
    asked: list[tuple[str, int]] = []

    class Noting(FakeTranslator):
        def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
            assert request.standing
            asked.append((text, request.standing.source))
            return super().translate(text, request)

    said = transcript("Read Romans eight twenty-eight today")
    request = TranslationRequest(standing=Standing(len(source)))
    translate(Noting("es"), said, lang="es", request=request, church=Church())
    assert asked == [(text, len(kept))]


LINE = st.text("ab ", max_size=20).map(lambda text: " ".join(text.split()))


@given(LINE, LINE)
def test_blend_shows_the_beginning_and_says_that_it_is_stable(beginning: str, draft: str) -> None:
    blended = blend(beginning, caption(draft))
    assert blended.text[: blended.stable] == beginning
    assert blended.text == beginning or draft.endswith(blended.text[blended.stable :].strip())


def test_no_space_stands_between_chinese_sentences_of_beginning_and_draft() -> None:
    blended = blend("阿们。", replace(caption("阿门。我们祷告。"), stable=3))
    assert (blended.text, blended.stable) == ("阿们。我们祷告。", 3)

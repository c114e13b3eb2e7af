"""The quick pass of a further language: its own rung limits its partials. What it shares
with the first target's pass is tested in test_transcriber.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.config.loader import changed, load
from pipeline.config.schema import Settings
from pipeline.core.errors import ModelCrashError
from pipeline.core.reports import Fault, Report, Retranslated
from pipeline.core.types import Caption, Cause, Recognition, Transcript, Utterance
from pipeline.workers.degradation import LIMIT_S, Degradation, Rung, Waits
from pipeline.workers.queues import Retranslation, TranscriptQueue
from pipeline.workers.quick import Quick, QuickPass
from tests.support.fakes import FakeTranslator


def partial(revision: int) -> Transcript:
    pcm = np.zeros(8_000, np.float32)
    utterance = Utterance(1, revision, False, "partial", 0, 8_000, pcm)
    text = " ".join(["grace"] * revision)
    return Transcript(utterance, "en", text, text, Recognition(text))


def quick(reports: list[Report], translator: FakeTranslator, rung: Rung = Rung.FULL) -> Quick:
    degradation = Degradation()
    degradation.observe(Waits(quick_s=LIMIT_S.get(rung, 0.0) * 1.1), 0.0)
    made = QuickPass(
        settings=Settings(),
        translator=translator,
        drafts=None,
        degradation=degradation,
        emit=reports.append,
        stage="quick-fr",
        shed=True,
    )
    return Quick(made, TranscriptQueue(lambda: True), is_stale=lambda _: False)


@pytest.mark.parametrize(
    ("rung", "shown"), [(Rung.FULL, 6), (Rung.FEWER_PARTIALS, 3), (Rung.NO_PARTIALS, 0)]
)
def test_partials_are_given_up_first(rung: Rung, shown: int) -> None:
    reports: list[Report] = []
    worker = quick(reports, FakeTranslator("quick"), rung)
    for revision in range(1, 7):
        worker._take(partial(revision))
    assert sum(isinstance(report, Caption) for report in reports) == shown


def test_a_model_that_crashes_is_done_without() -> None:
    class Crashing(FakeTranslator):
        def load(self) -> None:
            raise ModelCrashError("model-crashes", "It crashes.")

    reports: list[Report] = []
    worker = quick(reports, Crashing("quick"))
    worker.load()
    worker._take(partial(1))
    assert [report.code for report in reports if isinstance(report, Fault)] == ["model-crashes"]
    assert [report.engine for report in reports if isinstance(report, Caption)] == ["source"]


def test_a_caption_that_is_filled_in_leaves_the_current_sentence_its_committed_words() -> None:
    worker = quick([], FakeTranslator("quick"))
    earlier = said("en", "Peace.")

    def now(revision: int) -> Transcript:
        made = partial(revision)
        return replace(made, utterance=replace(made.utterance, id=2))

    worker._take(now(2))
    worker._take(now(3))
    assert worker.quick.commits._stood
    stood = worker.quick.commits._stood
    worker._take(earlier)
    assert worker.quick.commits._stood == stood
    worker._take(now(4))
    assert worker.quick.commits._stood.startswith(stood)


TWO = load(flags={"translate.source": ["en", "es"]}).settings
TO_ENGLISH = TWO.by_target()[0]
TO_FRENCH = changed(TWO, {"translate.target": "fr"})


def shown(settings: Settings, said: Transcript, *, translator: bool = True) -> list[Caption]:
    reports: list[Report] = []
    worker = quick(reports, FakeTranslator("quick"))
    worker.quick.settings = settings
    if not translator:
        worker.quick._translator = None
    worker._take(said)
    return [report for report in reports if isinstance(report, Caption)]


def said(lang: str, text: str, english: str = "", *, whole: bool = True) -> Transcript:
    pcm = np.zeros(8_000, np.float32)
    cause: Cause = "silence" if whole else "partial"
    utterance = Utterance(1, 1, whole, cause, 0, 8_000, pcm)
    recognition = Recognition(text, english=english, engine="whisper:base")
    return Transcript(utterance, lang, text, text, recognition)


def test_what_is_spoken_in_the_caption_language_is_shown_as_it_was_heard() -> None:
    for whole in (True, False):
        (caption,) = shown(TWO, said("es", "Gracias.", whole=whole))
        assert (caption.text, caption.lang, caption.engine) == ("Gracias.", "es", "heard")
        assert caption.final == whole
    (translated,) = shown(TWO, said("en", "Thanks."))
    assert (translated.text, translated.lang) == ("Thanks.-quick", "es")


def test_without_a_translator_the_recognizers_own_english_stands_in() -> None:
    (caption,) = shown(TO_ENGLISH, said("es", "Gracias.", "Thank you."), translator=False)
    shown_caption = (caption.text, caption.lang, caption.engine, caption.final)
    assert shown_caption == ("Thank you.", "en", "whisper:base", True)


def test_into_a_third_language_it_goes_by_way_of_english() -> None:
    (caption,) = shown(TO_FRENCH, said("es", "Gracias.", "Thank you."))
    assert (caption.text, caption.lang, caption.final) == ("Thank-quick you.-quick", "fr", True)
    assert (caption.transcript.lang, caption.transcript.text) == ("es", "Gracias.")


def test_where_nothing_better_is_left_the_caption_is_marked_by_its_language() -> None:
    (caption,) = shown(TO_FRENCH, said("es", "Gracias."))
    assert (caption.text, caption.lang, caption.engine) == ("Gracias.", "es", "source")
    assert shown(TO_FRENCH, said("es", "Gracias", whole=False)) == []


def test_a_correction_in_the_caption_language_needs_no_translator() -> None:
    reports: list[Report] = []
    worker = quick(reports, FakeTranslator("quick"))
    worker.quick.settings = TWO
    worker.quick.retranslate(Retranslation(1, said("es", "Gracias."), is_speech=False))
    (report,) = reports
    assert isinstance(report, Retranslated)
    assert report.caption is not None
    assert (report.caption.text, report.caption.final) == ("Gracias.", True)

"""The translate thread: whatever its engine does, every draft becomes a final."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from pipeline.config.schema import Church, Settings
from pipeline.core.errors import (
    EngineCancelledError,
    EngineError,
    EngineGoneError,
    ModelError,
)
from pipeline.core.languages import LANGUAGES
from pipeline.core.reports import Fault, Report, Retranslated, WorkerEnded
from pipeline.core.types import (
    Alternative,
    Caption,
    Recognition,
    Transcript,
    Translation,
    Utterance,
)
from pipeline.engines.protocols import (
    PLAIN,
    Scorer,
    SentencePair,
    TranslationRequest,
    Translator,
)
from pipeline.workers.base import FAULTS_IN_A_ROW
from pipeline.workers.degradation import LIMIT_S, Degradation, Rung, Waits
from pipeline.workers.queues import DraftQueue, Retranslation
from pipeline.workers.steps import source_caption
from pipeline.workers.translator import Translate
from tests.support.fakes import FakeTranslator, OnText
from tests.support.patience import wait_for


def draft(id: int) -> Caption:  # noqa: A002
    utterance = Utterance(id, 1, True, "silence", 0, 1, np.zeros(1, np.float32))
    transcript = Transcript(utterance, "en", "amen brother", "amen brother", Recognition("x"))
    return Caption(transcript, "es", "amén hermano", "marian", final=False)


class Reporting(Translate):
    """Keeps its reports."""

    reports: list[Report]


def worker(
    translator: Translator,
    *,
    count: int = 1,
    rung: Rung = Rung.FULL,
    is_stale: Callable[[Utterance], bool] = lambda _: False,
) -> Reporting:
    reports: list[Report] = []
    drafts = DraftQueue(50)
    for number in range(1, count + 1):
        drafts.put((draft(number), time.monotonic()))
    drafts.put(None)
    degradation = Degradation()
    degradation.observe(Waits(*[LIMIT_S.get(rung, 0.0) * 1.1] * 3), 0.0)
    made = Reporting(
        settings=Settings(),
        translator=translator,
        drafts=drafts,
        degradation=degradation,
        emit=reports.append,
        is_stale=is_stale,
    )
    made.reports = reports
    return made


def done(made: Translate) -> None:
    made.begin()
    made.run()


def run(translator: Translator, *, count: int = 1, rung: Rung = Rung.FULL) -> list[Report]:
    made = worker(translator, count=count, rung=rung)
    done(made)
    assert made.reports[-1] == WorkerEnded("translate", None)
    return made.reports


def finals(reports: list[Report]) -> list[tuple[int, str, str]]:
    return [(c.id, c.text, c.engine) for c in reports if isinstance(c, Caption) and c.final]


def faults(reports: list[Report]) -> list[str]:
    return [r.code for r in reports if isinstance(r, Fault)]


def test_every_draft_becomes_a_final_in_order() -> None:
    """The engine's retreat from the GPU is told; an error makes the draft itself the final."""
    retreat = "all layers on the GPU: out of memory"
    engine = FakeTranslator("gemma", degraded_reason=retreat, fails=lambda call: call == 2)
    made = worker(engine, count=3)
    done(made)
    good = "amen-gemma brother-gemma", "gemma"
    assert finals(made.reports) == [(1, *good), (2, "amén hermano", "marian"), (3, *good)]
    assert faults(made.reports) == ["gpu-unavailable", "final-failed"]
    assert made.degraded_reason == retreat


def test_a_translator_that_goes_over_to_another_language_is_told_of_once_and_still_shown() -> None:
    langs = iter(["es", "es", *["pt"] * 6])

    def write(*_: object) -> Translation:
        text = " ".join(LANGUAGES[next(langs)].examples)
        return Translation(text, "gemma", tokens=60, avg_logprob=-0.2)

    reports = run(FakeTranslator("gemma", says=write), count=8)
    assert {engine for _, _, engine in finals(reports)} == {"gemma"}
    assert [(r.code, r.message) for r in reports if isinstance(r, Fault)] == [
        ("final-language", "What the final translator wrote last is Portuguese, not Spanish.")
    ]


def test_while_its_process_is_away_drafts_become_finals_without_a_rest_or_a_fault() -> None:
    def leave(*_: object) -> None:
        away.degraded_reason = "the final translator crashed"
        raise EngineGoneError("engine-gone", "It is not there.")

    away = FakeTranslator("gemma", says=leave)
    made = worker(away, count=FAULTS_IN_A_ROW + 3)
    done(made)
    assert [engine for *_, engine in finals(made.reports)] == ["marian"] * (FAULTS_IN_A_ROW + 3)
    assert away.calls == FAULTS_IN_A_ROW + 3, "it is asked again at once when it is back"
    assert faults(made.reports) == [], "its keeper tells"
    assert made.degraded_reason == "the final translator crashed"


def test_a_broken_model_is_reported_and_drafts_become_finals() -> None:
    error = ModelError("model-broken", "The model cannot be loaded.")
    reports = run(FakeTranslator(cannot_load=error), count=2)
    assert [engine for _, _, engine in finals(reports)] == ["marian", "marian"]
    assert faults(reports) == ["model-broken"]


def test_a_missing_model_ends_the_start() -> None:
    error = ModelError("model-missing", "The model cannot be loaded.")
    made = worker(FakeTranslator(cannot_load=error))
    made.run()
    assert made.reports == [WorkerEnded("translate", error)]


@pytest.mark.parametrize(
    "garbage",
    [
        Translation("", "gemma"),
        Translation("no no no", "gemma", stopped="loop"),
        Translation("y así sigue y sigue", "gemma", stopped="length"),
        Translation("Amén<end_of_turn><eos>", "gemma"),
    ],
)
def test_garbage_is_not_shown(garbage: Translation) -> None:
    reports = run(FakeTranslator(says=lambda *_: garbage))
    assert finals(reports) == [(1, "amén hermano", "marian")]
    assert faults(reports) == ["final-unusable"]


def test_garbage_in_a_row_lets_the_engine_rest_and_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipeline.workers.translator._REST_S", (0.2, 0.2))

    nothing = iter([Translation("", "gemma")] * FAULTS_IN_A_ROW)
    engine = FakeTranslator("gemma", says=lambda *_: next(nothing, None))
    made = worker(engine, count=FAULTS_IN_A_ROW + 2)
    assert made.degraded_reason == ""
    done(made)
    assert len(finals(made.reports)) == FAULTS_IN_A_ROW + 2
    assert engine.calls == FAULTS_IN_A_ROW
    assert "failed" in made.degraded_reason
    time.sleep(0.25)
    assert "failed" in made.degraded_reason, "until it has worked again"
    made._drafts.put((draft(99), time.monotonic()))
    made._drafts.put(None)
    made.work()
    assert finals(made.reports)[-1] == (99, "amen-gemma brother-gemma", "gemma")
    assert made.degraded_reason == ""


def test_control_tokens_are_not_streamed_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.workers.translator._STREAM_S", 0.0)

    def stream(_: str, on_text: OnText) -> Translation:
        assert on_text is not None
        for part in ("Amén", "Amén <unused7>", "Amén <unused7> hermano"):
            on_text(part)
        return Translation("Amén <unused7> hermano", "gemma")

    reports = run(FakeTranslator("gemma", says=stream))
    assert not any("<" in c.text for c in reports if isinstance(c, Caption))
    assert finals(reports) == [(1, "amén hermano", "marian")]


def test_what_an_operator_is_to_see_first_is_not_streamed() -> None:
    asked: list[bool] = []

    def listen(_: str, on_text: OnText) -> Translation:
        asked.append(on_text is not None)
        return Translation("Amén, hermano", "gemma")

    for is_held in (False, True):
        made = worker(FakeTranslator(says=listen))
        made.settings = Settings(church=Church(hold_doubtful=is_held))
        done(made)
    assert asked == [True, False]
    whole = draft(1)
    made = worker(FakeTranslator(says=listen))
    made.take((replace(whole, transcript=replace(whole.transcript, goes_on=0.8)), 0.0))
    assert asked == [True, False, False], "nor is what probably goes on"


def test_high_rungs_leave_the_engine_alone() -> None:
    engine = FakeTranslator("gemma")
    assert finals(run(engine, rung=Rung.PARTIAL_ENGINE_FINALS)) == [(1, "amén hermano", "marian")]
    assert engine.calls == 0


def test_streamed_chinese_sentences_touch() -> None:
    def slowly(_: str, on_text: OnText) -> Translation:
        assert on_text is not None
        time.sleep(0.3)
        on_text("阿们。 我们")
        return Translation("阿们。 我们祷告。", "gemma")

    made = worker(FakeTranslator("gemma", says=slowly), count=0)
    made._lang = "zh"
    final = made._final(source_caption(draft(1).transcript), time.monotonic())
    streamed = [r.text for r in made.reports if isinstance(r, Caption)]
    assert final is not None
    assert [*streamed, final.text] == ["阿们。我们", "阿们。我们祷告。"]


def test_words_are_streamed_over_the_draft() -> None:
    def slowly(_: str, on_text: OnText) -> Translation:
        assert on_text is not None
        on_text("too soon to show")
        time.sleep(0.3)
        on_text("Amén")
        return Translation("Amén, hermano", "gemma")

    shown = [r for r in run(FakeTranslator(says=slowly)) if isinstance(r, Caption)]
    assert [(c.text, c.final, c.stable) for c in shown] == [
        ("Amén hermano", False, 4),
        ("Amén, hermano", True, 13),
    ]


def test_the_translator_sees_the_draft_unless_it_is_in_the_spoken_language() -> None:
    seen: list[str] = []

    class Looks(FakeTranslator):
        def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
            seen.append(request.draft)
            return super().translate(text, request)

    made = worker(Looks("gemma"), count=0)
    made._final(draft(1), 0.0)
    made._final(source_caption(draft(2).transcript), 0.0)
    assert seen == ["amén hermano", ""]


def test_words_streamed_over_a_draft_in_the_spoken_language_are_not_mixed_with_it() -> None:
    def slowly(_: str, on_text: OnText) -> Translation:
        assert on_text is not None
        time.sleep(0.3)
        on_text("Amén,")
        return Translation("Amén, hermano", "gemma")

    made = worker(FakeTranslator("gemma", says=slowly), count=0)
    final = made._final(source_caption(draft(1).transcript), time.monotonic())
    assert final is not None
    shown = [r for r in made.reports if isinstance(r, Caption)]
    assert [(c.text, c.lang, c.engine, c.stable) for c in shown] == [("Amén,", "es", "gemma", 5)]
    assert (final.text, final.lang, final.final) == ("Amén, hermano", "es", True)


def test_what_is_unfinished_is_what_a_hanging_engine_holds() -> None:
    hang = threading.Event()
    made = worker(FakeTranslator("gemma", hang=hang), count=3)
    made.start()
    made.begin()
    wait_for(lambda: made.doing is not None)
    assert [(c.id, c.final) for c in made.take_unfinished()] == [(1, True), (2, True), (3, True)]
    assert made._drafts.qsize() == 1  # the end mark
    hang.set()
    made.join(5)
    assert not made.is_alive()
    assert made.doing is None


def test_taking_what_is_unfinished_may_meet_an_engine_that_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = worker(FakeTranslator("gemma"), count=0)
    reads = iter([(draft(1), 0.0), None])
    monkeypatch.setattr(Translate, "doing", property(lambda _: next(reads)), raising=False)
    assert [c.id for c in made.take_unfinished()] == [1]


def test_new_settings_hold_from_the_next_draft_on() -> None:
    held: list[tuple[float, bool]] = []
    final = {"deadline_s": 3.0, "stream": False}

    def change(_: str, on_text: OnText) -> None:
        made.settings = Settings.model_validate({"translate": {"final": final}})
        held.append((made.deadline_s, on_text is not None))

    made = worker(FakeTranslator("gemma", says=change), count=2)
    done(made)
    assert held == [(8.0, True), (3.0, False)]


def test_drafts_of_utterances_that_speech_returned_to_are_passed_over() -> None:
    translator = FakeTranslator("gemma")
    made = worker(translator, count=3, is_stale=lambda utterance: utterance.id == 2)
    done(made)
    assert [key for key, *_ in finals(made.reports)] == [1, 3]
    assert translator.calls == 2


def test_a_translation_that_is_not_wanted_any_more_stops_between_two_words() -> None:
    def talk(*_: object) -> None:
        for word in range(100):
            if translator.calls == 1 and word == 3:
                resumed.add(1)
            if translator.is_cancelled():
                said.append(word)
                raise EngineCancelledError("engine-cancelled", "Not wanted.")

    resumed: set[int] = set()
    said: list[int] = []
    translator = FakeTranslator("gemma", says=talk)
    made = worker(translator, count=2, is_stale=lambda each: each.id in resumed)
    done(made)
    assert [key for key, *_ in finals(made.reports)] == [2]
    assert said == [3]
    assert faults(made.reports) == [], "it is no error"
    assert made.degraded_reason == ""


def request(number: int = 1) -> Retranslation:
    transcript = draft(number).transcript
    return Retranslation(number, transcript, quick=draft(number))


def retranslated(reports: list[Report]) -> list[tuple[int, str, bool]]:
    found = [r for r in reports if isinstance(r, Retranslated)]
    return [(r.ticket, r.caption.engine, r.caption.final) for r in found if r.caption]


def until_retranslated(made: Reporting) -> None:
    """Run the worker until the request is answered, then end it."""
    assert made._drafts.get_nowait() is None
    thread = threading.Thread(target=made.work, daemon=True)
    thread.start()
    wait_for(lambda: retranslated(made.reports))
    made._drafts.put(None)
    thread.join(60)


def test_what_an_operator_wrote_gets_the_same_second_opinion_as_what_is_said() -> None:
    made = worker(FakeTranslator("gemma"), count=0)
    made._scorer = Prefers("amen-gemma brother-gemma")
    made._drafts.ask(request(7))
    until_retranslated(made)
    assert retranslated(made.reports) == [(7, "gemma", True)]
    (opinion,) = [
        r.caption.opinion for r in made.reports if isinstance(r, Retranslated) and r.caption
    ]
    assert opinion is not None
    assert (opinion.mean, opinion.least) == (-0.1, -3.0)


class LooksAround(FakeTranslator):
    """Has several translations; the other translator prefers a different one."""

    second = -0.35

    def translate(self, _: str, request: TranslationRequest = PLAIN) -> Translation:
        rivals = ((each, -9.0) for each in request.rivals or ())
        found = (("amén hermana", -0.2), ("amén hermano", self.second), *rivals)
        alternatives = tuple(Alternative(each, mean, mean) for each, mean in found)
        return Translation("amén hermana", self.name, 2, -0.2, alternatives=alternatives)


class Prefers:
    """Finds one text likely for each sentence, and fails if `fails` is set."""

    def __init__(self, *texts: str, fails: bool = False) -> None:
        self._texts, self._fails = texts, fails

    def score(self, text: str, targets: Sequence[str], *_: object) -> list[tuple[float, float]]:
        if self._fails:
            raise EngineError("marian-failed", "It was told to fail.")
        wanted = self._texts[-1 if text == "Good." else 0]
        return [(-0.1 if each == wanted else -3.0, -3.0) for each in targets]


@pytest.mark.parametrize(
    ("lang", "first", "best", "chosen"),
    [
        ("es", ("Mal.", "Malo."), ("Bien.", "Bueno."), "Bien. Bueno."),
        ("zh", ("不好。", "坏。"), ("很好。", "是。"), "很好。是。"),
        ("es", ("", "Malo."), ("", "Bueno."), "Bueno."),
    ],
)
def test_of_each_sentence_the_best_is_chosen(
    lang: str, first: tuple[str, str], best: tuple[str, str], chosen: str
) -> None:
    alternatives = tuple(
        Alternative(text, mean, mean, part)
        for part in (0, 1)
        for text, mean in ((first[part], -0.2), (best[part], -0.3))
    )
    both = Translation(" ".join(first), "gemma", 2, -0.2, alternatives=alternatives)
    made = worker(FakeTranslator(says=lambda *_: both), count=0)
    made._scorer, made._lang = Prefers(*best), lang
    made._drafts.get_nowait()  # the end mark, which would wait for this final
    said = replace(draft(1).transcript, text="Well. Good.")
    made.take((replace(draft(1), transcript=said), time.monotonic()))
    (caption,) = [report for report in made.reports if isinstance(report, Caption)]
    assert caption.text == chosen
    assert caption.translation is not None
    assert caption.translation.avg_logprob == pytest.approx(-0.3)


@pytest.mark.parametrize(("shed", "weighed"), [(True, ("hermano",)), (False, ("uno", "dos"))])
def test_while_another_caption_waits_only_the_draft_is_weighed(
    shed: bool, weighed: tuple[str, ...]
) -> None:
    asked: list[tuple[str, ...] | None] = []

    class Notes(FakeTranslator):
        def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
            asked.append(request.rivals)
            return super().translate(text, request)

    made = worker(Notes("gemma"), count=0)
    made._scorer, made._shed = Prefers("amén"), shed  # an end mark waits as a caption does
    alternatives = (Alternative("uno", -1.0, -1.0), Alternative("dos", -1.0, -1.0))
    found = Translation("hermano", "marian", alternatives=alternatives)
    made.take((replace(draft(1), text="hermano", translation=found), time.monotonic()))
    assert asked == [weighed]


@pytest.mark.parametrize(
    ("scorer", "stable", "second", "chosen"),
    [
        (Prefers("amén hermano"), 0, -0.35, "amén hermano"),
        (Prefers("así sea"), 0, -0.35, "amén hermana"),  # far too unlikely for the final translator
        (Prefers("amén hermano", fails=True), 0, -0.35, "amén hermana"),
        (Prefers(""), len("amén hermano"), -0.35, "amén hermana"),
        (Prefers(""), len("amén hermano"), -0.25, "amén hermano"),  # stays as shown
    ],
)
def test_of_several_translations_both_translators_choose(
    scorer: Scorer, stable: int, second: float, chosen: str
) -> None:
    translator = LooksAround("gemma")
    translator.second = second
    made = worker(translator, count=0)
    made._scorer = scorer
    made._drafts.get_nowait()  # the end mark, which would wait for this final
    found = Translation(
        "amén hermano", "marian", alternatives=(Alternative("así sea", -1.0, -1.0),)
    )
    made.take((replace(draft(1), stable=stable, translation=found), time.monotonic()))
    (caption,) = [report for report in made.reports if isinstance(report, Caption)]
    assert caption.text == chosen
    assert caption.translation is not None
    assert caption.translation.text == chosen
    assert not caption.translation.alternatives


def test_a_sentence_is_translated_behind_the_one_before() -> None:
    previous: list[SentencePair | None] = []

    class Follows(FakeTranslator):
        def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
            previous.append(request.previous)
            return Translation(f"{text} ya", self.name, 2, -0.2)

    done(worker(Follows("gemma"), count=2))
    assert previous == [None, SentencePair("amen brother", "amen brother ya")]


@pytest.mark.parametrize(("cancelled", "engine"), [(2, "gemma"), (9, "marian")])
def test_it_makes_way_for_a_draft_and_is_done_again_for_a_while(
    cancelled: int, engine: str
) -> None:
    order: list[str] = []

    def make_way(text: str, _: OnText) -> None:
        order.append(text)
        if text == "the correction" and order.count(text) <= cancelled:
            assert not translator.is_cancelled()
            made._drafts.put((draft(1), 0.0))  # somebody speaks meanwhile
            assert translator.is_cancelled()
            raise EngineCancelledError("engine-cancelled", "It is not wanted now.")

    translator = FakeTranslator("gemma", says=make_way)
    made = worker(translator, count=0)
    wanted = request(9)
    corrected = replace(wanted.transcript, text="the correction")
    made._drafts.ask(replace(wanted, transcript=corrected))
    until_retranslated(made)
    assert retranslated(made.reports) == [(9, engine, True)]
    times = min(cancelled, 5)
    assert len(finals(made.reports)) == times, "no draft is lost by it, nor waits for it"
    assert order[:2] == ["the correction", "amen brother"]
    assert made.degraded_reason == ""


@pytest.mark.parametrize(("fails", "rung"), [(True, Rung.FULL), (False, Rung.SOURCE_CAPTIONS)])
def test_where_the_final_translator_cannot_the_quick_ones_text_stays(
    fails: bool, rung: Rung
) -> None:
    made = worker(FakeTranslator("gemma", fails=lambda _: fails), count=0, rung=rung)
    made._retranslate(request(3))
    assert retranslated(made.reports) == [(3, "marian", True)]
    made._retranslate(Retranslation(4, request().transcript, quick=None))
    assert made.reports[-1] == Retranslated(4, None, "es")

"""The transcribe thread: captions at once, finals handed on, and what happens when engines fail."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest

from pipeline.config.loader import changed, load
from pipeline.config.schema import Settings
from pipeline.core.errors import (
    EngineCancelledError,
    EngineError,
    EngineGoneError,
    ModelCrashError,
    StarkError,
)
from pipeline.core.reports import Fault, Report, Retranslated, WorkerEnded
from pipeline.core.standing import Reopened, Token
from pipeline.core.types import Caption, Pcm, Recognition, Transcript, Translation, Utterance
from pipeline.dictionary.store import Dictionary
from pipeline.engines.protocols import Recognizer, Translator
from pipeline.text.sentences import goes_on
from pipeline.workers.degradation import LIMIT_S, Degradation, Rung, Waits
from pipeline.workers.queues import Draft, DraftQueue, Retranslation, UtteranceQueue
from pipeline.workers.quick import QuickPass
from pipeline.workers.transcriber import Transcribe, sentence_ends
from tests.support.fakes import FakeRecognizer, FakeTranslator, Speech, pcm_of

SCRIPT = [Speech(0.0, 2.0, "the lord is good")]
SPANISH = FakeTranslator("es")


def partial(id: int, revision: int, share: float) -> Utterance:  # noqa: A002
    pcm = pcm_of(SCRIPT, 2.0)[: round(32000 * share)]
    return Utterance(id, revision, False, "partial", 0, len(pcm), pcm)


def final(id: int = 1, revision: int = 9) -> Utterance:  # noqa: A002
    pcm = pcm_of(SCRIPT, 2.2)
    return Utterance(id, revision, True, "silence", 0, 32000, pcm, spoken_s=1.0, closed_s=1.4)


class Bench:
    """A transcribe worker with everything around it, run to the end of its input."""

    def __init__(
        self,
        *utterances: Utterance,
        recognizer: Recognizer | None = None,
        translator: Translator | None = SPANISH,
        drafts: int | None = 4,
        rung: Rung = Rung.FULL,
        shed: bool = True,
        read_all: bool = True,
        settings: Settings | None = None,
    ) -> None:
        self.reports: list[Report] = []
        self.drafts: DraftQueue | None = DraftQueue(drafts) if drafts else None
        mailbox, degradation = UtteranceQueue(), Degradation()
        degradation.observe(Waits(*[LIMIT_S.get(rung, 0.0) * 1.1] * 3), 0.0)
        settings = settings or Settings()
        self.dictionary = Dictionary(settings)
        self.worker = Transcribe(
            quick=QuickPass(
                settings=settings,
                translator=translator,
                drafts=self.drafts,
                degradation=degradation,
                emit=self.reports.append,
                stage="transcribe",
                shed=shed,
                glossaries=self.dictionary.glossaries,
            ),
            recognizer=recognizer or FakeRecognizer(SCRIPT),
            dictionary=self.dictionary,
            utterances=mailbox,
            shed=shed,
        )
        self.worker.load()
        for utterance in utterances:
            mailbox.put(utterance)
            if not utterance.final:  # otherwise the next replaces it
                self.worker.take(mailbox.take())  # type: ignore[arg-type]
        mailbox.close()
        if read_all:
            self.worker.begin()
            self.worker.run()

    @property
    def shown(self) -> list[Caption]:
        return [report for report in self.reports if isinstance(report, Caption)]

    @property
    def captions(self) -> list[tuple[str, bool, int]]:
        return [(c.text, c.final, c.stable) for c in self.shown]

    @property
    def faults(self) -> list[str]:
        return [report.code for report in self.reports if isinstance(report, Fault)]

    @property
    def filtered(self) -> list[tuple[int, str]]:
        found = [report for report in self.reports if isinstance(report, Transcript)]
        return [(each.utterance.id, each.filtered) for each in found]

    @property
    def handed(self) -> list[Caption]:
        assert self.drafts is not None
        out = []
        while (draft := self.drafts.get_nowait()) is not None:
            out.append(draft[0])
        return out


def ends(*calls: int) -> FakeRecognizer:
    """Return a recognizer whose process ends at these calls."""

    def says(*_: object) -> None:
        if recognizer.calls in calls:
            raise EngineGoneError("engine-gone", "The recognizer is not there.")

    recognizer = FakeRecognizer(SCRIPT, says=says)
    return recognizer


def test_partials_are_shown_with_their_stable_part_and_the_final_is_handed_on() -> None:
    bench = Bench(partial(1, 1, 0.5), partial(1, 2, 0.75), final())
    assert bench.captions == [
        ("the-es lord-es", False, 0),
        ("the-es lord-es is-es", False, len("the-es lord-es")),
        ("the-es lord-es is-es good-es", False, len("the-es lord-es is-es")),
    ]
    assert [c.text for c in bench.handed] == ["the-es lord-es is-es good-es"]


def test_without_a_partial_translator_the_source_stands_in_until_the_final() -> None:
    (handed,) = Bench(final(), translator=None).handed
    assert (handed.text, handed.engine, handed.lang) == ("the lord is good", "source", "en")


def test_a_full_queue_makes_the_draft_final() -> None:
    bench = Bench(final(1), final(2), final(3), drafts=2, read_all=False)
    # run() would wait to put its end mark into the full queue, so only take the work.
    while isinstance(utterance := bench.worker._utterances.take(), Utterance):
        bench.worker.take(utterance)
    assert [f for _, f, _ in bench.captions] == [False, False, False, True]
    assert bench.worker.quick.full_drafts == 1


@pytest.mark.slow
@pytest.mark.parametrize("rung", [Rung.PARTIAL_ENGINE_FINALS, Rung.SOURCE_CAPTIONS])
def test_high_rungs_make_finals_at_once(rung: Rung) -> None:
    bench = Bench(final(), rung=rung)
    expected = "the-es lord-es is-es good-es" if rung == 3 else "the lord is good"
    assert [(text, is_final) for text, is_final, _ in bench.captions] == [(expected, True)]


def test_a_hanging_final_translator_gets_nothing_more() -> None:
    bench = Bench(read_all=False)
    bench.worker.quick.final_engine_lost = True
    bench.worker.take(final())
    assert [is_final for _, is_final, _ in bench.captions] == [True]


@pytest.mark.parametrize("shed", [True, False])
def test_a_draft_that_comes_after_the_queue_was_taken_from_a_hanging_translator_is_final(
    *, shed: bool
) -> None:
    bench = Bench(final(), shed=shed, read_all=False)

    class FoundToHang(DraftQueue):
        def put(self, item: Draft | None, block: bool = True, timeout: float | None = None) -> None:
            bench.worker.quick.final_engine_lost = True
            super().put(item, block, timeout)

    bench.worker.quick._drafts = FoundToHang(4)
    bench.worker.begin()
    bench.worker.run()
    assert [is_final for _, is_final, _ in bench.captions] == [False, True]


def test_a_recognizer_error_costs_the_utterance_but_not_what_was_heard_of_it() -> None:
    failing = FakeRecognizer(SCRIPT, fails=lambda call: call == 2)
    bench = Bench(partial(1, 1, 0.75), final(), recognizer=failing)
    assert [c.text for c in bench.handed] == ["the-es lord-es is-es"]
    assert bench.faults == ["stt-failed"]


def test_what_was_sung_is_not_recognized_and_takes_its_caption_back() -> None:
    recognizer = FakeRecognizer(SCRIPT)
    bench = Bench(replace(final(), is_song=True), recognizer=recognizer)
    assert (recognizer.calls, bench.filtered) == (0, [(1, "song")])


def test_a_final_over_which_the_recognizers_process_ends_is_heard_again() -> None:
    bench = Bench(final(), recognizer=ends(1))
    assert [c.text for c in bench.handed] == ["the-es lord-es is-es good-es"]
    assert bench.faults == [], "its keeper tells"


def test_one_that_ends_it_twice_falls_back_on_its_last_partial() -> None:
    bench = Bench(partial(1, 1, 0.75), final(), recognizer=ends(2, 3))
    assert [c.text for c in bench.handed] == ["the-es lord-es is-es"]
    assert bench.faults == ["stt-failed"]


def test_without_a_partial_it_is_accounted_for_and_ends_nothing() -> None:
    bench = Bench(*[final(number) for number in range(1, 8)], recognizer=ends(*range(100)))
    assert bench.filtered == [(number, "stt-failed") for number in range(1, 8)]
    assert bench.reports[-1] == WorkerEnded("transcribe", None)


def test_a_partial_over_which_it_ends_is_left_to_the_next_one() -> None:
    recognizer = ends(1)
    bench = Bench(partial(1, 1, 0.5), partial(1, 2, 0.75), recognizer=recognizer)
    assert [text for text, _, _ in bench.captions] == ["the-es lord-es is-es"]
    assert recognizer.calls == 2


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (ModelCrashError("model-crashes", "It crashes whenever it is loaded."), 1),
        (EngineError("stt-failed", "It was told to fail."), 4 + 5),
    ],
)
def test_a_recognizer_that_is_given_up_or_fails_five_times_in_a_row_ends_the_worker(
    error: StarkError, calls: int
) -> None:
    def says(*_: object) -> None:
        if recognizer.calls != 4:  # after a success the count begins anew
            raise error

    recognizer = FakeRecognizer(SCRIPT, says=says)
    bench = Bench(*[final(number) for number in range(1, 13)], recognizer=recognizer)
    assert bench.reports[-1] == WorkerEnded("transcribe", error)
    assert recognizer.calls == calls


def test_while_the_quick_translators_process_is_away_the_spoken_words_stand_in() -> None:
    class Away(FakeTranslator):
        def translate(self, *_: object) -> Translation:
            self.degraded_reason = "the quick translator crashed"
            raise EngineGoneError("engine-gone", "It is not there.")

    bench = Bench(*[final(number) for number in range(1, 8)], translator=Away("es"), drafts=20)
    assert {c.engine for c in bench.handed} == {"source"}
    assert bench.faults == []
    assert bench.worker.degraded_reason == "the quick translator crashed"


def test_a_partial_translator_that_fails_in_a_row_rests_and_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipeline.workers.quick._REST_S", (0.2, 0.2))
    failing = FakeTranslator("es", fails=lambda call: call <= 6)
    bench = Bench(translator=failing, drafts=None, read_all=False)
    for number in range(1, 9):
        bench.worker.take(final(number))
    assert failing.calls == 5, "the rest of them cost no time"
    assert {c.engine for c in bench.shown} == {"source"}
    assert "quick translator failed" in bench.worker.degraded_reason
    assert bench.faults == ["final-failed"] * 5
    time.sleep(0.25)
    bench.worker.take(final(9))  # tried once: it fails again, and rests again
    bench.worker.take(final(10))
    assert failing.calls == 6
    assert bench.worker.degraded_reason
    time.sleep(0.25)
    bench.worker.take(final(11))
    assert (bench.shown[-1].engine, bench.shown[-1].final) == ("es", True)
    assert bench.worker.degraded_reason == ""


@pytest.mark.parametrize("garbage", ["", "Dios</s>", "神はその独り子を", "<pad><pad>"])
def test_what_a_partial_translator_may_not_show_is_the_spoken_words_instead(garbage: str) -> None:
    babbles = FakeTranslator(says=lambda *_: Translation(garbage, "es"))
    bench = Bench(partial(1, 1, 0.75), final(), translator=babbles, drafts=None)
    assert [text for text, _, _ in bench.captions] == ["the lord is", "the lord is good"]
    assert set(bench.faults) == {"partial-unusable"}


@pytest.mark.parametrize(
    "garbage",
    [
        "and then we go " * 6,
        "<|startoftranscript|><|en|>",
        "the lord is good and " * 3 + "so is every single one of these words that nobody ever said",
    ],
)
def test_a_recognizer_that_runs_away_on_the_final_leaves_the_last_good_partial(
    garbage: str,
) -> None:
    runs_away = FakeRecognizer(
        SCRIPT, says=lambda _, final: Recognition(garbage) if final else None
    )
    bench = Bench(partial(1, 1, 0.75), final(), recognizer=runs_away)
    (handed,) = bench.handed
    assert handed.text == "the-es lord-es is-es"
    assert handed.transcript.utterance.final
    assert handed.transcript.filtered == ""
    assert bench.faults == ["stt-unusable"]


@pytest.mark.parametrize("error", [None, EngineError, EngineGoneError])
def test_one_that_runs_away_or_fails_on_two_parts_together_hears_the_second_alone(
    error: type[EngineError] | None,
) -> None:
    heard = {32_000: "the lord is", 16_000: "good", 48_000: "the lord is " * 9}

    def says(pcm: Pcm, _: bool) -> Recognition:
        if error and len(pcm) == 48_000:
            raise error("stt-failed", "It is too long.")
        return Recognition(heard[len(pcm)], avg_logprob=-0.1)

    pcm = pcm_of(SCRIPT, 3.0)
    first = Utterance(1, 1, True, "silence", 0, 32_000, pcm[:32_000], can_resume=True)
    both = Utterance(1, 3, True, "silence", 0, 48_000, pcm)
    handed = Bench(first, both, recognizer=FakeRecognizer(SCRIPT, says=says)).handed
    assert [each.transcript.text for each in handed] == ["the lord is", "the lord is good"]
    assert handed[-1].transcript.utterance is both


def test_a_cough_behind_a_final_leaves_its_caption_as_it_was() -> None:
    bench = Bench(final(1, 1), drafts=None)
    (shown,) = bench.shown
    bench.worker.quick.reopened = Reopened(1, shown.transcript.text, "El Señor es bueno.")
    for again in (partial(1, 2, 1.0), final(1, 3)):
        bench.worker.take(again)
        caption = bench.reports[-1]
        assert isinstance(caption, Caption)
        assert (caption.text, caption.engine) == ("El Señor es bueno.", "es")
        assert caption.stable == len(caption.text)
    assert bench.faults == []


def test_a_final_in_which_nobody_spoke_takes_its_partials_back_all_the_same() -> None:
    coughs = FakeRecognizer(SCRIPT, says=lambda _, final: Recognition("") if final else None)
    bench = Bench(partial(1, 1, 0.75), final(), recognizer=coughs)
    assert bench.filtered == [(1, "empty")]
    assert bench.handed == []


def test_a_hallucination_is_reported_with_its_reason_and_not_shown() -> None:
    recognition = Recognition("Thank you for watching.", -1.5, 0.9, 1.0)
    imagines = FakeRecognizer(SCRIPT, says=lambda *_: recognition)
    bench = Bench(partial(1, 1, 0.5), final(), recognizer=imagines)
    assert bench.captions == []
    ((_, why),) = bench.filtered  # a partial is not reported
    assert why


def test_the_dictionary_corrects_before_translation(tmp_path: Path) -> None:
    script = [Speech(0.0, 2.0, "turn to the book of row mans")]
    pcm = pcm_of(script, 2.2)
    own = tmp_path / "own.toml"
    own.write_text(
        '[[rule]]\nhear = "row mans"\nwrite = "Romans"\nexample = "row mans"\nbecomes = "Romans"\n'
    )
    settings = load(flags={"dictionary.file": str(own)}).settings
    bench = Bench(settings=settings, read_all=False, recognizer=FakeRecognizer(script))
    bench.worker.take(Utterance(1, 1, True, "silence", 0, len(pcm), pcm))
    (shown,) = bench.shown
    assert shown.transcript.text == "turn to the book of Romans"
    assert shown.transcript.raw_text == "turn to the book of row mans"
    assert "Romans-es" in shown.text


def test_the_recognizer_listens_for_the_words_that_the_dictionary_has_now(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("")
    flags = {"dictionary.file": str(own), "stt.hotwords": True}
    settings, recognizer = load(flags=flags).settings, FakeRecognizer(SCRIPT)
    bench = Bench(recognizer=recognizer, settings=settings, drafts=None, read_all=False)

    def heard() -> list[str]:
        bench.worker.take(final())
        return recognizer.hotwords.split(", ")

    assert "Nebuchadnezzar" in heard()
    own.write_text(
        '[[rule]]\nhear = ["oh yellow ran"]\nwrite = "Oyelaran"\nhotword = true\n'
        'example = "pastor oh yellow ran"\nbecomes = "pastor Oyelaran"\n'
    )
    bench.dictionary.take(Dictionary(settings))
    assert heard()[0] == "Oyelaran"
    bench.worker.quick.settings = load(flags=flags | {"stt.hotwords": False}).settings
    assert heard() == [""]


def eager(revision: int = 8) -> Utterance:
    return replace(final(revision=revision), final=False, cause="eager")


def test_an_eager_utterance_is_understood_and_handed_on_as_a_final() -> None:
    bench = Bench(eager(), final())
    assert bench.captions == [("the-es lord-es is-es good-es", False, 0)]
    (handed,) = bench.handed
    assert handed.transcript.utterance.cause == "eager"
    bench = Bench(eager(), final(), drafts=None)
    assert [is_final for _, is_final, _ in bench.captions] == [True]


@pytest.mark.parametrize(
    ("text", "hotwords", "waits"),
    [
        ("the lord is good", False, True),
        ("the lord is good.", False, False),
        ("ask not!", False, True),
        ("the lord is good", True, False),
        ("ask not!", True, True),
    ],
)
def test_half_a_sentence_waits_for_its_other_half_and_so_does_a_word_or_two(
    text: str, hotwords: bool, waits: bool
) -> None:
    bench = Bench(recognizer=FakeRecognizer([Speech(0.0, 2.0, text)]), read_all=False)
    bench.worker.quick.settings = changed(bench.worker.quick.settings, {"stt.hotwords": hotwords})
    expected_more: list[tuple[int, float]] = []
    bench.worker._expect_more = lambda utterance, share: expected_more.append((utterance.id, share))
    bench.worker.take(final())
    assert expected_more == [(1, float(waits))]
    bench.worker.quick.settings = changed(bench.worker.quick.settings, {"vad.hold_ms": 1200})
    bench.worker.take(final())
    assert expected_more[1][1] == (1.0 if waits else pytest.approx(goes_on(text, "en")))


def test_sentences_inside_a_partial_end_with_their_last_token() -> None:
    text = "God is good to us. He said that the. Then we"
    until = [match.end() for match in re.finditer(r"\S+", text)]
    tokens = tuple(Token(place, "", end) for place, end in enumerate(until))
    ends_s = tuple(float(place + 1) for place in range(len(tokens)))
    # The second full stop is a guess: nobody ends with "that the".
    assert sentence_ends(Recognition(text, tokens=tokens, ends_s=ends_s), "en") == (5.0,)
    assert sentence_ends(Recognition(text), "en") == ()


def test_what_was_heard_of_an_utterance_that_speech_returned_to_is_dropped() -> None:
    class Resumes(FakeRecognizer):
        def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
            mailbox.put(resumed)
            return super().recognize(pcm, final=final)

    resumed = replace(final(revision=9), final=False, cause="resumed")
    bench = Bench(recognizer=Resumes(SCRIPT), read_all=False)
    mailbox = bench.worker._utterances
    for _ in range(2):  # the second one waited meanwhile
        bench.worker.take(eager())
        assert bench.reports == []
    assert bench.drafts is not None
    assert bench.drafts.empty()


class Interrupted(FakeRecognizer):
    """Another utterance arrives while it works at its first one."""

    mailbox: UtteranceQueue
    comes: Utterance

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        recognition = super().recognize(pcm, final=final)
        if self.calls == 1:
            self.mailbox.put(self.comes)
        if self.is_cancelled():
            raise EngineCancelledError("engine-cancelled", "Not wanted.")
        return recognition


@pytest.mark.parametrize(
    ("first", "comes", "shed", "captions"),
    [
        (partial(1, 1, 0.8), eager(), True, 1),
        (partial(1, 1, 0.8), eager(), False, 2),
        (partial(1, 1, 0.8), partial(1, 2, 0.9), True, 2),
        (eager(), final(2), True, 2),
    ],
    ids=["a final's", "not one of a file", "not another partial's", "not of a final"],
)
def test_a_partial_makes_way_for_what_is_prepared_as_a_final(
    first: Utterance, comes: Utterance, shed: bool, captions: int
) -> None:
    recognizer = Interrupted(SCRIPT)
    bench = Bench(recognizer=recognizer, shed=shed, read_all=False)
    recognizer.mailbox, recognizer.comes = UtteranceQueue(), comes
    bench.worker._utterances = recognizer.mailbox
    recognizer.mailbox.put(first)
    for _ in range(2):
        bench.worker.take(recognizer.mailbox.take())  # type: ignore[arg-type]
    assert len(bench.captions) == captions
    assert bench.faults == []


def written(text: str) -> Retranslation:
    return Retranslation(5, Transcript(final(), "en", text, text, Recognition(text)))


def results(bench: Bench) -> list[tuple[str, str, bool] | None]:
    found = [r.caption for r in bench.reports if isinstance(r, Retranslated)]
    return [(c.text, c.engine, c.final) if c else None for c in found]


def test_what_an_operator_wrote_is_translated_at_once_and_handed_on() -> None:
    bench = Bench(read_all=False)
    bench.worker.quick.retranslate(written("amen"))
    assert results(bench) == [("amen-es", "es", False)]
    assert bench.drafts is not None
    handed = bench.drafts.take()
    assert isinstance(handed, Retranslation)
    assert handed.quick is not None
    assert handed.quick.text == "amen-es"
    bench = Bench(read_all=False, drafts=None)
    bench.worker.quick.retranslate(written("amen"))
    assert results(bench) == [("amen-es", "es", True)], "there is no final translator"


def test_where_no_translator_is_left_that_is_told() -> None:
    bench = Bench(read_all=False, drafts=None, translator=FakeTranslator(fails=lambda _: True))
    bench.worker.quick.retranslate(written("amen"))
    assert results(bench) == [None]
    assert bench.faults == ["final-failed"]
    assert bench.worker.degraded_reason == "", "nothing that was spoken has failed"


class Bilingual(FakeRecognizer):
    """Puts its language before each text, and is sure that the speech is Spanish."""

    lang = ""

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        recognition = super().recognize(pcm, final=final, prefix=prefix)
        text = f"{self.lang} {recognition.text}"
        return replace(recognition, text=text, langs=(("en", 0.02), ("es", 0.98)))


class Committing(Bilingual):
    """Never changes a word, and remembers in which language it was to begin with how many."""

    def __init__(self) -> None:
        super().__init__(SCRIPT)
        self.asked: list[tuple[str, int]] = []

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        self.asked.append((self.lang, len(prefix)))
        said = super().recognize(pcm, final=final).text
        words = [f" {word}" for word in said.split()]
        ends = accumulate(map(len, words))
        tokens = tuple(Token(end, word, end - 1) for word, end in zip(words, ends, strict=True))
        return Recognition(
            said, tokens=tokens, committed=len(tokens), langs=(("en", 0.9), ("es", 0.1))
        )


def test_words_of_another_language_are_no_beginning_once_an_operator_has_chosen_one() -> None:
    two = changed(Settings(), {"translate.source": ["en", "es"]})
    recognizer = Committing()
    bench = Bench(partial(1, 1, 0.6), recognizer=recognizer, settings=two, read_all=False)
    bench.worker.take(partial(1, 2, 0.8))
    bench.worker.spoken.forced = "es"
    bench.worker.take(partial(1, 3, 0.9))
    bench.worker.take(partial(1, 4, 1.0))
    assert [lang for lang, _ in recognizer.asked] == ["en", "en", "es", "es"]
    assert [count > 0 for _, count in recognizer.asked] == [False, True, False, True]


def test_an_utterance_in_another_language_is_heard_again_in_that() -> None:
    two = changed(Settings(), {"translate.source": ["en", "es"]})
    long = replace(final(), end_sample=56_000)
    recognizer = Bilingual(SCRIPT)
    # Too short for the language to change, but long enough to show no words of another one.
    bench = Bench(partial(1, 1, 0.5), long, recognizer=recognizer, settings=two)
    assert recognizer.calls == 3
    (caption,) = bench.shown
    assert (caption.text, caption.engine, caption.final) == ("es the lord is good", "heard", True)
    assert (caption.transcript.lang, bench.handed) == ("es", [])

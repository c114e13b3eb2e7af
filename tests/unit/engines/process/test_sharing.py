"""Several languages take turns at one final translator."""

from __future__ import annotations

import threading

import pytest

from pipeline.core.errors import EngineCancelledError, EngineGoneError
from pipeline.core.types import Translation
from pipeline.engines.process.sharing import LanguageTranslator, Turns
from pipeline.engines.protocols import PLAIN, TranslationRequest
from tests.support.fakes import FakeTranslator
from tests.support.patience import wait_for


class Engine(FakeTranslator):
    """Works until it is released or cancelled."""

    def __init__(self) -> None:
        super().__init__("engine")
        self.target = ""
        self.done: list[str] = []
        self.cancelled: list[str] = []
        self.go = threading.Event()
        self.busy = threading.Event()

    def translate(self, text: str, *_: object) -> Translation:
        self.busy.set()
        while not self.go.wait(0.005):
            if self.is_cancelled():
                self.cancelled.append(self.target)
                raise EngineCancelledError("engine-cancelled", "Cancelled.")
        self.done.append(self.target)
        return Translation(f"{text}-{self.target}", self.name)


class At:
    """Translators in threads that take turns, at one engine or each at its own (on a server)."""

    def __init__(self, langs: str, most: int = 1, *, own: bool = False) -> None:
        self.turns = Turns(most)
        self.engine = Engine()
        self.engines = {lang: Engine() if own else self.engine for lang in langs.split()}
        self.translators = {
            lang: LanguageTranslator(self.turns, engine, lang, is_first=lang == "es")
            for lang, engine in self.engines.items()
        }
        self.made: list[str] = []
        self.threads: list[threading.Thread] = []

    def ask(self, *langs: str) -> None:
        """Request translations one after the other, until each waits or is at work."""
        for lang in langs:
            translator = self.translators[lang]
            thread = threading.Thread(
                target=lambda t=translator: self.made.append(t.translate("x").text)
            )
            self.threads.append(thread)
            before = len(self.turns._waiting) + len(self.turns._at_work)
            thread.start()
            wait_for(lambda n=before: len(self.turns._waiting) + len(self.turns._at_work) > n)  # type: ignore[misc]

    def at_work(self, lang: str) -> None:
        wait_for(lambda: any(each.by.lang == lang for each in self.turns._at_work))
        assert self.engines[lang].busy.wait(10), lang

    def finish(self) -> None:
        for engine in self.engines.values():
            engine.go.set()
        for thread in self.threads:
            thread.join(10)


def test_the_most_watched_of_those_that_wait_comes_first_and_nobody_starves() -> None:
    at = At("fr de ko")
    for lang, watchers in (("fr", 5), ("de", 1), ("ko", 9)):
        at.translators[lang].watchers = watchers
    at.ask("fr")
    at.at_work("fr")
    at.ask("de", "ko")
    at.finish()
    assert at.engine.done == ["fr", "ko", "de"]


def test_who_has_waited_a_round_comes_before_who_has_just_had_a_turn() -> None:
    at = At("ko de")
    at.engine.go.set()
    at.translators["ko"].watchers = 9
    with at.turns.turn(at.translators["ko"]):
        at.ask("de")
        at.turns._round += 1  # a round has passed since "de" came
        at.ask("ko")
    at.finish()
    assert at.engine.done == ["de", "ko"]


def test_the_first_language_comes_at_once_and_what_gave_way_is_made_again() -> None:
    at = At("fr es")
    at.translators["fr"].watchers = 50
    at.ask("fr")
    at.at_work("fr")
    at.ask("es")
    wait_for(lambda: at.engine.cancelled)
    at.finish()
    assert at.engine.cancelled == ["fr"]
    assert at.engine.done == ["es", "fr"]
    assert sorted(at.made) == ["x-es", "x-fr"]


class Writer(FakeTranslator):
    """Writes two letters at a time until it is cancelled."""

    target = ""

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        for count in range(2, 8, 2):
            if self.is_cancelled():
                raise EngineCancelledError("engine-cancelled", "Cancelled.")
            if request.on_text is not None:
                request.on_text(text[:count])
        return Translation(text, self.name)


def test_a_growing_text_never_gets_shorter_when_it_is_made_again() -> None:
    turns, writer, shown = Turns(), Writer(), list[str]()
    french = LanguageTranslator(turns, writer, "fr")
    spanish = LanguageTranslator(turns, writer, "es", is_first=True)
    first = threading.Thread(target=spanish.translate, args=("x",))

    def show(text: str) -> None:
        shown.append(text)
        if len(shown) == 2:
            first.start()
            wait_for(writer.is_cancelled)

    french.translate("abcdef", TranslationRequest(on_text=show))
    first.join(10)
    assert shown == ["ab", "abcd", "abcdef"]


def test_a_text_that_is_not_wanted_any_more_is_given_up_while_it_waits_and_at_work() -> None:
    at = At("es fr")
    at.ask("es")
    at.at_work("es")
    waiting = at.translators["fr"]
    waiting.is_cancelled = lambda: True
    with pytest.raises(EngineCancelledError):
        waiting.translate("x")
    at.finish()
    at.engine.go.clear()
    with pytest.raises(EngineCancelledError):
        waiting.translate("x")
    assert at.engine.done == ["es"]


def test_who_gets_no_turn_within_the_deadline_goes_without() -> None:
    at = At("es fr")
    at.ask("es")
    at.at_work("es")
    at.translators["fr"].deadline_s = 0.1
    with pytest.raises(EngineGoneError) as error:
        at.translators["fr"].translate("x")
    assert error.value.code == "engine-busy"
    at.finish()
    assert at.turns._waiting == []


def test_at_a_server_so_many_are_at_work_and_the_next_waits() -> None:
    at = At("fr de ko", 2, own=True)
    at.ask("fr", "de")
    at.translators["ko"].deadline_s = 0.1
    with pytest.raises(EngineGoneError):
        at.translators["ko"].translate("x")
    assert not at.engines["ko"].busy.is_set()
    at.translators["ko"].deadline_s = 60.0
    at.ask("ko")
    at.engines["de"].go.set()
    at.at_work("ko")
    assert not at.engines["fr"].go.is_set(), "it is at work still"
    at.finish()
    assert sorted(at.made) == ["x-de", "x-fr", "x-ko"]


@pytest.mark.parametrize(("langs", "gives_way"), [("fr de es", ["de"]), ("fr es", [])])
def test_at_a_full_server_one_gives_way_to_the_first_language(
    langs: str, gives_way: list[str]
) -> None:
    at = At(langs, 2, own=True)
    at.translators["fr"].watchers = 9
    at.ask(*langs.split()[:-1])
    at.ask("es")
    at.at_work("es")
    at.finish()
    assert [lang for lang, engine in at.engines.items() if engine.cancelled] == gives_way
    assert sorted(at.made) == sorted(f"x-{lang}" for lang in langs.split())

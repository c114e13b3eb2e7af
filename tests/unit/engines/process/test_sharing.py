"""Several languages take turns at one final translator."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import pytest

from pipeline.core.errors import EngineCancelledError, EngineGoneError
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm
from pipeline.core.types import Translation
from pipeline.engines.process.sharing import LanguageTranslator, Turns
from pipeline.engines.protocols import never


class Engine:
    """Works until it is let go, or cancelled."""

    name = "engine"
    degraded_reason = ""

    def __init__(self) -> None:
        self.target = ""
        self.deadline_s = 8.0
        self.is_cancelled: Callable[[], bool] = never
        self.done: list[str] = []
        self.cancelled: list[str] = []
        self.go = threading.Event()
        self.busy = threading.Event()

    def load(self) -> None:
        """It is loaded."""

    def translate(
        self,
        text: str,
        on_text: Callable[[str], None] | None = None,
        draft: str = "",
        standing: Standing | None = None,
        wanted: Sequence[WantedTerm] = (),
    ) -> Translation:
        self.busy.set()
        while not self.go.wait(0.005):
            if self.is_cancelled():
                self.cancelled.append(self.target)
                raise EngineCancelledError("engine-cancelled", "Cancelled.")
        self.done.append(self.target)
        return Translation(f"{text}-{self.target}", self.name)


class AtOne:
    """A shared engine, and threads that ask for it."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.shared = Turns()
        self.threads: list[threading.Thread] = []
        self.made: list[str] = []

    def of(self, lang: str, watchers: int = 0, *, is_first: bool = False) -> LanguageTranslator:
        translator = LanguageTranslator(self.shared, self.engine, lang, is_first=is_first)
        translator.watchers = watchers
        return translator

    def ask(self, translator: LanguageTranslator) -> None:
        thread = threading.Thread(
            target=lambda: self.made.append(translator.translate("grace").text)
        )
        self.threads.append(thread)
        before = len(self.shared._waiting)
        thread.start()
        until = time.monotonic() + 10
        while len(self.shared._waiting) == before and not self.engine.busy.is_set():
            assert time.monotonic() < until
            time.sleep(0.005)

    def finish(self) -> None:
        self.engine.go.set()
        for thread in self.threads:
            thread.join(10)


def test_each_gets_its_own_language() -> None:
    turns = AtOne()
    turns.ask(turns.of("fr"))
    turns.ask(turns.of("de"))
    turns.finish()
    assert sorted(turns.made) == ["grace-de", "grace-fr"]


def test_the_most_watched_of_those_that_wait_comes_first_and_nobody_starves() -> None:
    turns = AtOne()
    french, german, korean = turns.of("fr", 5), turns.of("de", 1), turns.of("ko", 9)
    turns.ask(french)
    turns.engine.busy.wait(10)
    turns.ask(german)
    turns.ask(korean)
    turns.finish()
    assert turns.engine.done == ["fr", "ko", "de"]


def test_who_has_waited_a_round_comes_before_who_has_just_had_a_turn() -> None:
    turns = AtOne()
    turns.engine.go.set()
    korean, german = turns.of("ko", 9), turns.of("de", 1)
    waited = turns.shared
    with waited.turn(korean):
        early = threading.Thread(target=lambda: turns.made.append(german.translate("x").text))
        early.start()
        while not waited._waiting:
            time.sleep(0.005)
        waited._round += 1  # a round has passed since it came
        late = threading.Thread(target=lambda: turns.made.append(korean.translate("x").text))
        late.start()
        while len(waited._waiting) < 2:
            time.sleep(0.005)
    early.join(10)
    late.join(10)
    assert turns.engine.done == ["de", "ko"]


def test_the_first_language_comes_at_once_and_what_gave_way_is_made_again() -> None:
    turns = AtOne()
    turns.ask(turns.of("fr", 50))
    turns.engine.busy.wait(10)
    turns.ask(turns.of("es", is_first=True))
    while not turns.engine.cancelled:
        time.sleep(0.005)
    turns.finish()
    assert turns.engine.cancelled == ["fr"]
    assert turns.engine.done == ["es", "fr"]
    assert sorted(turns.made) == ["grace-es", "grace-fr"]


def test_a_text_that_is_not_wanted_any_more_is_given_up_while_it_waits_and_at_work() -> None:
    turns = AtOne()
    turns.ask(turns.of("es", is_first=True))
    turns.engine.busy.wait(10)
    waiting = turns.of("fr")
    waiting.is_cancelled = lambda: True
    with pytest.raises(EngineCancelledError):
        waiting.translate("grace")
    turns.finish()
    turns.engine.go.clear()
    with pytest.raises(EngineCancelledError):
        waiting.translate("grace")
    assert turns.engine.done == ["es"]


def test_who_gets_no_turn_within_the_deadline_goes_without() -> None:
    turns = AtOne()
    turns.ask(turns.of("es", is_first=True))
    turns.engine.busy.wait(10)
    waiting = turns.of("fr")
    waiting.deadline_s = 0.1
    with pytest.raises(EngineGoneError) as error:
        waiting.translate("grace")
    assert error.value.code == "engine-busy"
    turns.finish()
    assert turns.shared._waiting == []


class AtServer:
    """Translators of their own at one server, each with a thread."""

    def __init__(self, most: int, langs: str) -> None:
        self.turns = Turns(most)
        self.engines = {lang: Engine() for lang in langs.split()}
        self.translators = {
            lang: LanguageTranslator(self.turns, engine, lang, is_first=lang == "es")
            for lang, engine in self.engines.items()
        }
        self.made: list[str] = []
        self.threads: list[threading.Thread] = []

    def ask(self, lang: str) -> None:
        translator = self.translators[lang]
        thread = threading.Thread(target=lambda: self.made.append(translator.translate("x").text))
        self.threads.append(thread)
        thread.start()

    def wait(self, lang: str) -> None:
        assert self.engines[lang].busy.wait(10), lang

    def finish(self) -> None:
        for engine in self.engines.values():
            engine.go.set()
        for thread in self.threads:
            thread.join(10)


def test_at_a_server_so_many_are_at_work_and_the_next_waits() -> None:
    at = AtServer(2, "fr de ko")
    for lang in ("fr", "de"):
        at.ask(lang)
        at.wait(lang)
    at.translators["ko"].deadline_s = 0.1
    with pytest.raises(EngineGoneError):
        at.translators["ko"].translate("x")
    assert not at.engines["ko"].busy.is_set()
    at.translators["ko"].deadline_s = 60.0
    at.ask("ko")
    at.engines["de"].go.set()
    at.wait("ko")
    assert not at.engines["fr"].go.is_set(), "it is at work still"
    at.finish()
    assert sorted(at.made) == ["x-de", "x-fr", "x-ko"]


def test_at_a_full_server_one_gives_way_to_the_first_language() -> None:
    at = AtServer(2, "es fr de")
    at.translators["fr"].watchers = 9
    for lang in ("fr", "de"):
        at.ask(lang)
        at.wait(lang)
    at.ask("es")
    at.wait("es")
    assert (at.engines["fr"].cancelled, at.engines["de"].cancelled) == ([], ["de"])
    at.finish()
    assert sorted(at.made) == ["x-de", "x-es", "x-fr"]


def test_where_there_is_room_nobody_gives_way() -> None:
    at = AtServer(2, "es fr")
    at.ask("fr")
    at.wait("fr")
    at.ask("es")
    at.wait("es")
    at.finish()
    assert at.engines["fr"].cancelled == []

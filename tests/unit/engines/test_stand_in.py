"""A server's translator with a local one behind it: who answers when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.core.types import Translation
from pipeline.engines import remote, stand_in
from pipeline.engines.openai import OpenAi
from pipeline.engines.protocols import Scorer, Translator
from pipeline.engines.stand_in import StandIn
from tests.support.model_servers import (
    MODEL,
    Answer,
    ScriptedServer,
    answers,
    free_port,
    says,
    scripted,
    stalls,
)

TEXT = "Grace to you."
REFUSES = answers(403, b"{}")


class Local:
    """A quick translator as small as can be; the real one is asked in tests of processes."""

    name = "marian"
    degraded_reason = ""
    deadline_s = 60.0

    def __init__(self) -> None:
        self.is_loaded = False
        self.is_cancelled: Callable[[], bool] = lambda: False

    def load(self) -> None:
        self.is_loaded = True

    def translate(self, text: str, *_: object) -> Translation:
        return Translation(f"({text})", "marian")

    def score(self, text: str, target: str) -> tuple[float, float]:
        return -1.0, -2.0


class Clock:
    """Time that goes on when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(stand_in, "time", made)
    return made


@contextmanager
def engine(*turns: Answer, deadline_s: float = 60.0) -> Iterator[tuple[StandIn, ScriptedServer]]:
    with scripted(*turns) as server:
        made = StandIn(OpenAi(MODEL, url=server.url, deadline_s=deadline_s), Local())
        made.load()
        yield made, server


def makers(made: StandIn, count: int) -> list[str]:
    return [made.translate(TEXT).engine for _ in range(count)]


def test_it_is_a_translator_that_can_judge() -> None:
    local = Local()
    made = StandIn(OpenAi(MODEL, url="http://127.0.0.1:1"), local)
    as_translator: Translator = made
    assert as_translator.name == "openai"
    assert isinstance(made, Scorer)
    assert made.score("Amen", "Amén") == (-1.0, -2.0)


def test_the_server_translates_while_it_answers(clock: Clock) -> None:
    with engine(says("Gracia.")) as (made, _):
        assert made.translate(TEXT).text == "Gracia."
        assert made.degraded_reason == ""


def test_a_server_that_is_not_there_costs_nobody_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_WAITS_S", ())
    local = Local()
    made = StandIn(OpenAi(MODEL, url=f"http://127.0.0.1:{free_port()}", deadline_s=60.0), local)
    made.load()
    assert local.is_loaded
    assert made.translate(TEXT) == Translation(f"({TEXT})", "marian")
    assert "nothing listens there; marian stands in on this machine" in made.degraded_reason


def test_a_failing_server_rests_longer_each_time_and_comes_back(clock: Clock) -> None:
    turns = [says("Uno."), REFUSES, REFUSES, says("Dos."), REFUSES, says("Tres.")]
    with engine(*turns) as (made, server):
        assert makers(made, 4) == ["openai", "marian", "marian", "marian"]
        assert len(server.asked) == 2
        clock.now_s += 5.1
        assert makers(made, 2) == ["marian", "marian"]
        assert len(server.asked) == 3
        clock.now_s += 5.1
        assert makers(made, 1) == ["marian"]
        assert len(server.asked) == 3, "it rests twice as long"
        clock.now_s += 5.1
        assert makers(made, 1) == ["openai"]
        assert made.degraded_reason == ""
        assert makers(made, 1) == ["marian"]
        clock.now_s += 5.1
        assert makers(made, 1) == ["openai"], "after a success it begins anew"


def test_one_that_stalls_leaves_the_local_one_time(clock: Clock) -> None:
    with engine(stalls(), deadline_s=0.3) as (made, server):
        assert makers(made, 3) == ["marian"] * 3
        assert len(server.asked) <= 1


def test_what_nobody_wants_is_not_made_here_either() -> None:
    with engine(stalls()) as (made, server):
        made.is_cancelled = lambda: bool(server.asked)
        with pytest.raises(EngineCancelledError):
            made.translate(TEXT)
        assert made.degraded_reason == ""


def test_where_both_fail_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Translation:
        raise EngineError("partial-failed", "It cannot.")

    monkeypatch.setattr(Local, "translate", fail)
    with engine(REFUSES) as (made, _), pytest.raises(EngineError, match="partial-failed"):
        made.translate(TEXT)

"""An engine on a server with a local fallback: which of them answers when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.core.resources import bundled
from pipeline.core.standing import Token
from pipeline.core.types import SAMPLE_RATE, Pcm, Recognition
from pipeline.engines.protocols import Recognizer
from pipeline.engines.remote import api_server as remote
from pipeline.engines.remote import stand_in
from pipeline.engines.remote.openai import OpenAi
from pipeline.engines.remote.openai_speech import OpenAiSpeech
from pipeline.engines.remote.stand_in import RecognizerStandIn, StandIn
from pipeline.evaluation.reference import read_golden
from pipeline.text.commit_policy import CommitPolicy
from tests.support.fakes import FakeTranslator
from tests.support.model_servers import (
    MODEL,
    Answer,
    ScriptedServer,
    answers,
    free_port,
    says,
    scripted,
    serves,
    stalls,
)
from tests.support.speech_servers import SPEECH_MODEL, heard_in_full, hears, speech_server

TEXT = "Grace to you."
REFUSES = answers(403, b"{}")


class Local(FakeTranslator):
    """A quick translator that can judge; the tests of processes use the real one."""

    def score(self, text: str, targets: Sequence[str], *_: object) -> list[tuple[float, float]]:
        return [(-1.0, -2.0)] * len(targets)


class Clock:
    """A clock that only the test advances."""

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
def engine(
    *turns: Answer, deadline_s: float = 60.0, **local: Any
) -> Iterator[tuple[StandIn, ScriptedServer]]:
    with scripted(*turns) as server:
        asked = OpenAi(MODEL, url=server.url, deadline_s=deadline_s)
        made = StandIn(asked, Local("marian", **local))
        made.load()
        yield made, server


def makers(made: StandIn, count: int) -> list[str]:
    return [made.translate(TEXT).engine for _ in range(count)]


def test_a_server_that_is_not_there_costs_nobody_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_WAITS_S", ())
    server = OpenAi(MODEL, url=f"http://127.0.0.1:{free_port()}", deadline_s=60.0)
    made = StandIn(server, Local("marian"))
    made.load()
    assert made.translate(TEXT).engine == "marian"
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


def test_where_both_fail_it_is_an_error() -> None:
    wanted = pytest.raises(EngineError, match="was told to fail")
    with engine(REFUSES, fails=lambda _: True) as (made, _), wanted:
        made.translate(TEXT)


PCM = np.zeros(SAMPLE_RATE, np.float32)
WORDS = {"Grace": 11, "to": 12, "you": 13, "all": 14}


class LocalRecognizer:
    """A minimal recognizer with its own token ids and the text that belongs to them.

    `test_real_recognizers_on_both_sides_of_a_break` uses the real one.
    """

    name = "whisper:small"
    degraded_reason = ""
    gpu_layers = -1

    def __init__(self) -> None:
        self.text = "Grace to"
        self.hotwords = ""
        self.is_cancelled: Callable[[], bool] = lambda: False
        self.prefixes: list[list[int]] = []

    def load(self) -> None:
        self.is_loaded = True

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        self.prefixes.append(list(prefix))
        assert set(prefix) <= set(WORDS.values()), "ids that it does not have end its process"
        if final:
            return Recognition(self.text)
        tokens, until = [], 0
        for word in self.text.split():
            until += len(word) + bool(until)
            tokens.append(Token(WORDS[word], f" {word}", until))
        ends_s = tuple(0.5 * (n + 1) for n in range(len(tokens)))
        return Recognition(self.text, tokens=tuple(tokens), ends_s=ends_s)


@contextmanager
def hearing(
    *turns: Answer, deadline_s: float = 60.0
) -> Iterator[tuple[RecognizerStandIn, LocalRecognizer]]:
    with scripted(*turns, models=serves(SPEECH_MODEL)) as server:
        local = LocalRecognizer()
        asked = OpenAiSpeech(SPEECH_MODEL, url=server.url, deadline_s=deadline_s)
        made = RecognizerStandIn(asked, local)
        made.load()
        yield made, local


def partial_text(made: Recognition) -> str:
    assert "".join(token.text for token in made.tokens).strip() == made.text
    assert made.tokens[-1].until == len(made.text)
    return made.text


def ids(made: Recognition, count: int) -> list[int]:
    return [token.id for token in made.tokens[:count]]


class TestRecognizers:
    def test_it_is_a_recognizer_of_the_servers_name_and_the_local_ones_gpu(self) -> None:
        with hearing(hears("Amen.")) as (made, local):
            as_recognizer: Recognizer = made
            assert as_recognizer.name == f"openai:{SPEECH_MODEL}"
            assert made.gpu_layers == -1
            assert local.is_loaded
            assert made.recognize(PCM, final=True).text == "Amen."
            assert (made.degraded_reason, local.prefixes) == ("", [])

    def test_the_local_one_steps_in_says_so_and_the_server_comes_back(self, clock: Clock) -> None:
        with hearing(hears("Uno."), REFUSES, hears("Dos.")) as (made, local):
            local.text = "Grace"
            made.hotwords = "Selah"
            heard = [made.recognize(PCM, final=True) for _ in range(3)]
            assert [(each.text, each.engine) for each in heard] == [
                ("Uno.", f"openai:{SPEECH_MODEL}"),
                ("Grace", "whisper:small"),
                ("Grace", "whisper:small"),
            ]
            assert "; whisper:small stands in on this machine" in made.degraded_reason
            assert local.hotwords == "Selah"
            clock.now_s += 5.1
            assert made.recognize(PCM, final=True).text == "Dos."
            assert made.degraded_reason == ""

    def test_a_servers_partial_keeps_what_stands_whatever_it_hears_then(self) -> None:
        with hearing(heard_in_full("Grace", "to"), heard_in_full("Grays", "too", "you")) as (m, _):
            first = m.recognize(PCM, final=False)
            second = m.recognize(PCM, final=False, prefix=ids(first, 2))
        assert partial_text(second) == "Grace to you"
        assert ids(second, 2) == ids(first, 2)

    def test_committing_waits_until_two_agree_and_says_why(self) -> None:
        policy = CommitPolicy("alignatt", 0.5)
        turns = (heard_in_full("Grace", "to", "yew"), heard_in_full("Grace", "to", "you", "all"))
        with hearing(*turns) as (made, _):
            first = made.recognize(PCM, final=False)
            commit = policy.push(first.tokens, first.ends_s, 9.0)
            assert (commit.committed, commit.reason) == ((), "the recognizer tells no times")
            second = made.recognize(PCM, final=False)
            commit = policy.push(second.tokens, second.ends_s, 9.0)
        assert [token.text.strip() for token in commit.committed] == ["Grace", "to"]

    def test_a_server_that_goes_within_a_sentence_takes_back_nothing(self, clock: Clock) -> None:
        with hearing(heard_in_full("Grays", "to"), REFUSES) as (made, local):
            first = made.recognize(PCM, final=False)
            local.text = "Grace to you"
            second = made.recognize(PCM, final=False, prefix=ids(first, 1))
            third = made.recognize(PCM, final=False, prefix=ids(second, 2))
        assert local.prefixes == [[], []], "it does not know the server's ids"
        assert partial_text(second) == partial_text(third) == "Grays to you"
        assert ids(third, 1) == ids(first, 1)

    def test_nor_does_one_that_comes_back_within_a_sentence(self, clock: Clock) -> None:
        with hearing(REFUSES, heard_in_full("Grace", "too", "you")) as (made, _):
            first = made.recognize(PCM, final=False)
            assert first.ends_s, "its times are its own: it commits by them"
            clock.now_s += 5.1
            second = made.recognize(PCM, final=False, prefix=ids(first, 2))
        assert partial_text(second) == "Grace to you"
        assert ids(second, 2) == [11, 12]

    def test_the_local_one_is_forced_to_begin_with_what_it_told(self, clock: Clock) -> None:
        with hearing(REFUSES) as (made, local):
            first = made.recognize(PCM, final=False)
            made.recognize(PCM, final=True)  # a final, but the utterance resumes
            made.recognize(PCM, final=False, prefix=ids(first, 1))
            made.recognize(PCM, final=False, prefix=[12])
        assert local.prefixes == [[], [], [11], []], "only what the one before it began with"


@pytest.mark.slow
def test_real_recognizers_on_both_sides_of_a_break(clock: Clock) -> None:
    """The server, faster-whisper behind a socket, stops mid-sentence; the local Whisper goes on."""
    from pipeline.engines.ctranslate2.whisper import Whisper
    from pipeline.models.resolve import resolve

    model: Path = resolve("stt", "starter")
    golden = read_golden(bundled("demo", "golden.json"))
    policy = CommitPolicy("alignatt", 0.5)
    shown: list[str] = []
    with speech_server(model) as server:
        asked = OpenAiSpeech(SPEECH_MODEL, url=server.url, deadline_s=300.0)
        made = RecognizerStandIn(asked, Whisper(model))
        made.load()
        whole = made.recognize(golden.pcm, final=True)
        assert made.degraded_reason == ""
        assert golden.missing(whole.text, "en") == []
        for step in range(1, 5):
            if step == 3:
                server.shutdown()
                server.server_close()
            heard = golden.pcm[: len(golden.pcm) * step // 4]
            prefix = [token.id for token in policy.committed]
            partial = made.recognize(heard, final=False, prefix=prefix)
            commit = policy.push(partial.tokens, partial.ends_s, len(heard) / SAMPLE_RATE)
            assert commit.reason != "the text does not begin as committed"
            assert bool(made.degraded_reason) == (step >= 3)
            shown.append("".join(token.text for token in commit.committed))
        assert "whisper:" in made.degraded_reason
        assert golden.missing(made.recognize(golden.pcm, final=True).text, "en") == []
    assert all(later.startswith(earlier) for earlier, later in pairwise(shown))
    assert shown[-1].strip()

"""A model server: its address, the models it lists, and what is sent unencrypted."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from pipeline.core.errors import EngineCancelledError, EngineError
from pipeline.engines.remote import api_server as remote
from pipeline.engines.remote.api_server import ApiServer, RemoteEngine, words_of
from tests.support.model_servers import MODEL, Answer, answers, go_on, scripted, serves


def listed(models: Answer) -> list[str]:
    with scripted(models=models) as server:
        return ApiServer(server.url, MODEL).models(until_s=time.monotonic() + 60.0, check=go_on)


def test_a_servers_models_by_name() -> None:
    assert listed(serves("a", "b/c")) == ["a", "b/c"]
    assert listed(serves()) == []
    assert listed(answers(404, b"no", "text/plain")) == [], "it need not tell"


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"data": 3}', b"no json"])
def test_a_list_that_is_none(body: bytes) -> None:
    with pytest.raises(EngineError, match="server-nonsense"):
        listed(answers(200, body))


@pytest.mark.parametrize(
    ("url", "key_file", "is_open", "shows"),
    [
        ("http://gpu.example.org:8080/v1", "key", True, True),
        ("http://gpu.example.org:8080/v1", "", True, False),
        ("https://gpu.example.org/v1", "key", False, False),
        ("http://127.0.0.1:8080/v1", "key", False, False),
    ],
)
def test_what_others_on_the_network_can_see(
    url: str, key_file: str, is_open: bool, shows: bool
) -> None:
    made = ApiServer(url, MODEL, key_file=key_file)
    assert (made.is_open, made.shows_key) == (is_open, shows)
    assert made.place == url.split("/")[2]


def test_the_setting_that_names_the_model_is_said() -> None:
    with scripted(models=serves("large-v3")) as server:
        made = ApiServer(server.url, MODEL, section="stt", model_key="server_model")
        with pytest.raises(EngineError, match="large-v3") as raised:
            made.check_model(until_s=time.monotonic() + 60.0, check=go_on)
    assert "stt.server_model" in raised.value.fix


def test_errors_are_said_in_the_servers_own_words() -> None:
    assert words_of({"message": "Not\n here."}) == "Not here"
    assert words_of("busy") == "busy"
    assert words_of([1]) == words_of(None) == ""
    assert len(words_of("word " * 100)) <= 200


def failing(*codes: str) -> Callable[[], str]:
    """Return a function that raises these errors in turn, and then returns."""
    left = list(codes)

    def attempt() -> str:
        if left:
            raise EngineError(left.pop(0), "It fails.")
        return "done"

    return attempt


@pytest.fixture(autouse=True)
def _briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_WAITS_S", (0.01, 0.01))


def patiently(attempt: Callable[[], str], *, patience_s: float = 60.0) -> str:
    with scripted() as server:
        engine = RemoteEngine(ApiServer(server.url, MODEL), 60.0)
        engine.load()
        return engine._patiently(attempt, time.monotonic() + patience_s)


def test_what_may_pass_is_tried_again_and_not_for_ever() -> None:
    assert patiently(failing("server-gone", "server-busy")) == "done"
    with pytest.raises(EngineError, match="server-failed"):
        patiently(failing(*["server-failed"] * 3))


def test_what_stays_wrong_and_what_comes_too_late_is_not() -> None:
    with pytest.raises(EngineError, match="server-refuses"):
        patiently(failing("server-refuses"))
    with pytest.raises(EngineError, match="server-busy"):
        patiently(failing("server-busy"), patience_s=0.001)


def test_a_wait_ends_where_nobody_wants_the_result() -> None:
    engine = RemoteEngine(ApiServer("http://127.0.0.1:1", MODEL), 60.0)
    engine.is_cancelled = lambda: True
    with pytest.raises(EngineCancelledError):
        engine._wait(60.0)


def test_after_a_failure_it_is_asked_again_what_it_serves() -> None:
    with scripted(models=answers(404, b"")) as server:
        engine = RemoteEngine(ApiServer(server.url, MODEL), 60.0)
        engine.load()
        with pytest.raises(EngineError):
            engine._ask(failing("server-refuses"))
        assert engine.degraded_reason == "It fails."
        until_s = time.monotonic() + 60.0
        assert engine._ask(lambda: engine._patiently(failing(), until_s)) == "done"
        assert engine.degraded_reason == ""
        assert len(server.seen) == 2

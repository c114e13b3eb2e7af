"""A server of models: where it is, what it lists, and what goes there unencrypted."""

from __future__ import annotations

import time

import pytest

from pipeline.core.errors import EngineError
from pipeline.engines.remote.api_server import ApiServer, words_of
from tests.support.model_servers import MODEL, Answer, answers, scripted, serves


def go_on() -> None:
    """Go on."""


def soon() -> float:
    return time.monotonic() + 60.0


def listed(models: Answer) -> list[str]:
    with scripted(models=models) as server:
        return ApiServer(server.url, MODEL).models(until_s=soon(), check=go_on)


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
            made.check_model(until_s=soon(), check=go_on)
    assert "stt.server_model" in raised.value.fix


def test_errors_are_said_in_the_servers_own_words() -> None:
    assert words_of({"message": "Not\n here."}) == "Not here"
    assert words_of("busy") == "busy"
    assert words_of([1]) == words_of(None) == ""
    assert len(words_of("word " * 100)) <= 200

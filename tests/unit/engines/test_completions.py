"""The completions endpoint: where it is, what it lists, what it streams."""

from __future__ import annotations

import time

import pytest

from pipeline.core.errors import EngineError
from pipeline.engines.answer import Piece
from pipeline.engines.completions import Completions
from tests.support.model_servers import MODEL, Answer, Handler, answers, says, scripted, serves


def go_on() -> None:
    """Go on."""


def soon() -> float:
    return time.monotonic() + 60.0


def listed(models: Answer) -> list[str]:
    with scripted(models=models) as server:
        return Completions(server.url, MODEL).models(until_s=soon(), check=go_on)


def pieces(answer: Answer) -> list[Piece]:
    with scripted(answer) as server:
        asked = Completions(server.url, MODEL).complete({}, until_s=soon(), check=go_on)
        return list(asked)


def test_a_servers_models_by_name() -> None:
    assert listed(serves("a", "b/c")) == ["a", "b/c"]
    assert listed(serves()) == []
    assert listed(answers(404, b"no", "text/plain")) == [], "it need not tell"


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"data": 3}', b"no json"])
def test_a_list_that_is_none(body: bytes) -> None:
    with pytest.raises(EngineError, match="server-nonsense"):
        listed(answers(200, body))


def test_a_stream_in_pieces_with_its_end_and_its_counts() -> None:
    assert pieces(says("a", "b", finish="length")) == [
        Piece("a"),
        Piece("b"),
        Piece("", "length"),
        Piece("", "", 11, 2),
    ]


def test_a_stream_may_end_without_a_word_of_it() -> None:
    """vLLM says [DONE]; others just end behind the last piece."""

    def ends(handler: Handler) -> None:
        handler.begin_stream()
        handler.piece("a", "stop")
        handler.wfile.write(b"0\r\n\r\n")

    assert pieces(ends) == [Piece("a", "stop")]


def test_a_stream_that_ends_before_its_text_is_one_that_broke_off() -> None:
    def ends(handler: Handler) -> None:
        handler.begin_stream()
        handler.piece("a")
        handler.wfile.write(b"0\r\n\r\n")

    with pytest.raises(EngineError, match="server-gone"):
        pieces(ends)


@pytest.mark.parametrize(
    ("url", "key_file", "shows"),
    [
        ("http://gpu.example.org:8080/v1", "key", True),
        ("http://gpu.example.org:8080/v1", "", False),
        ("https://gpu.example.org/v1", "key", False),
        ("http://127.0.0.1:8080/v1", "key", False),
    ],
)
def test_whether_others_can_see_the_key(url: str, key_file: str, shows: bool) -> None:
    made = Completions(url, MODEL, key_file=key_file)
    assert made.shows_key is shows
    assert made.place == url.split("/")[2]

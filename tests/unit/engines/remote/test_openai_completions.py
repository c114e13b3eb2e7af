"""The completions endpoint: what it streams."""

from __future__ import annotations

import time

import pytest

from pipeline.core.errors import EngineError
from pipeline.engines.output import Piece
from pipeline.engines.remote.openai import Completions, events
from tests.support.model_servers import MODEL, Answer, Handler, go_on, says, scripted


def pieces(answer: Answer) -> list[Piece]:
    with scripted(answer) as server:
        asked = Completions(server.url, MODEL).complete(
            {}, until_s=time.monotonic() + 60.0, check=go_on
        )
        return list(asked)


def test_a_stream_in_pieces_with_its_end_and_its_counts() -> None:
    assert pieces(says("a", "b", finish="length")) == [
        Piece("a"),
        Piece("b"),
        Piece("", "length"),
        Piece("", "", 11, 2),
    ]


def test_counts_that_are_no_numbers_are_left_out() -> None:
    odd = {"prompt_tokens": "some", "completion_tokens": [2]}
    assert pieces(says(finish="stop", usage=odd))[0] == Piece("", "stop")


def ends_after(finish: str) -> Answer:
    """Return an answer that just ends after a piece; vLLM sends [DONE]."""

    def answer(handler: Handler) -> None:
        handler.begin_stream()
        handler.piece("a", finish)
        handler.wfile.write(b"0\r\n\r\n")

    return answer


def test_a_stream_that_ends_before_its_text_is_one_that_broke_off() -> None:
    assert pieces(ends_after("stop")) == [Piece("a", "stop")]
    with pytest.raises(EngineError, match="server-gone"):
        pieces(ends_after(""))


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        (('data: {"a": 1}', "", "data: two", ""), ['{"a": 1}', "two"]),
        (("data: not over",), []),
        (("data: one", "data:  two", "data:three", ""), ["one\n two\nthree"]),
        ((": ping", "", "event: message", "id: 3", "retry", "data: x", ""), ["x"]),
        (("", "", ":"), []),
    ],
    ids=["two", "no blank line yet", "several lines", "comments and other fields", "nothing"],
)
def test_an_event_is_its_data_when_its_blank_line_has_come(
    lines: tuple[str, ...], read: list[str]
) -> None:
    assert list(events(lines)) == read

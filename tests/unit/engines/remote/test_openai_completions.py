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


def test_a_stream_may_end_without_a_word_of_it() -> None:
    """vLLM sends [DONE]; others just end after the last piece."""

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


def read(*lines: str) -> list[str]:
    return list(events(lines))


def test_an_event_is_its_data_when_its_blank_line_has_come() -> None:
    assert read('data: {"a": 1}', "", "data: two", "") == ['{"a": 1}', "two"]
    assert read("data: not over") == []


def test_lines_of_data_are_one_event_and_one_space_is_no_part_of_it() -> None:
    assert read("data: one", "data:  two", "data:three", "") == ["one\n two\nthree"]


def test_comments_pings_and_other_fields_are_left_out() -> None:
    assert read(": ping", "", "event: message", "id: 3", "retry", "data: x", "") == ["x"]
    assert read("", "", ":") == []

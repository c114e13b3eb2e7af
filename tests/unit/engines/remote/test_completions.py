"""The completions endpoint: what it streams."""

from __future__ import annotations

import time

import pytest

from pipeline.core.errors import EngineError
from pipeline.engines.answer import Piece
from pipeline.engines.remote.completions import Completions
from tests.support.model_servers import MODEL, Answer, Handler, says, scripted


def go_on() -> None:
    """Go on."""


def soon() -> float:
    return time.monotonic() + 60.0


def pieces(answer: Answer) -> list[Piece]:
    with scripted(answer) as server:
        asked = Completions(server.url, MODEL).complete({}, until_s=soon(), check=go_on)
        return list(asked)


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

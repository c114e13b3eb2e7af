from __future__ import annotations

import orjson
import pytest

from pipeline.captions.board import CaptionBoard
from pipeline.core.errors import ProtocolError
from pipeline.protocol.caption import CaptionMessage
from pipeline.publish.stream import (
    ServiceStatus,
    StreamCaption,
    caption_out,
    is_of,
    parse_stream,
    status_out,
)
from scripts.support.records import caption

STATUS = ServiceStatus(
    session="2026-11-22T09-30-00+1",
    mode="live",
    source="en",
    targets=("es", "fr"),
    state="speech",
    notice={"en": "At 10:40."},
)


def board() -> CaptionBoard:
    return CaptionBoard(STATUS.session, "en", "es", 200)


def shown(on: CaptionBoard, text: str = "amén", *, final: bool = False) -> CaptionMessage:
    message = on.show(caption(7, "amen", text, final=final))
    assert message
    return message


def test_a_caption_and_the_status_come_out_of_the_stream_as_they_went_in() -> None:
    message = shown(board())
    out = caption_out("st-paul", STATUS.session, "es", message)
    assert out.subject == "captions.st-paul.2026-11-22T09-30-00+1.es.7"
    assert parse_stream("st-paul", out.subject, out.data) == StreamCaption(
        STATUS.session, "es", message
    )
    status = status_out("c", STATUS)
    assert status.subject == "captions.c.status"
    assert parse_stream("c", status.subject, status.data) == STATUS


def test_what_an_operator_takes_back_is_marked_and_what_grows_is_not() -> None:
    on = board()
    assert not caption_out("c", "s", "es", shown(on, "a")).takes_back
    assert not caption_out("c", "s", "es", shown(on, "a b", final=True)).takes_back
    edited, hidden = on.edit(7, "c"), on.hide(7)
    assert edited
    assert hidden
    assert caption_out("c", "s", "es", edited).takes_back
    assert caption_out("c", "s", "es", hidden).takes_back


def test_names_that_nats_would_take_apart_are_made_whole() -> None:
    out = caption_out("c", "a.b *>c", "es", shown(board()))
    assert out.subject == "captions.c.a-b-c.es.7"
    parsed = parse_stream("c", out.subject, out.data)
    assert isinstance(parsed, StreamCaption)
    assert is_of(parsed, "a.b *>c")
    assert not is_of(parsed, "other")


def test_subjects_that_are_none_of_ours_are_left_alone() -> None:
    assert parse_stream("c", "captions.c.x", b"{}") is None
    assert parse_stream("c", "captions.other.status", b"{}") is None


@pytest.mark.parametrize("data", [b"<html>", b"{}", b"[1]", b'{"type":"caption","seq":"1"}'])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    for subject in ("captions.c.status", "captions.c.s.es.7"):
        with pytest.raises(ProtocolError):
            parse_stream("c", subject, data)


def test_fields_of_a_later_version_are_ignored() -> None:
    data = orjson.dumps({**orjson.loads(orjson.dumps(STATUS)), "weather": "fair"})
    assert parse_stream("c", "captions.c.status", data) == STATUS

from __future__ import annotations

import pytest

from pipeline.core.errors import ProtocolError
from pipeline.protocol import fields

THINGS = {"object": {"a": 1}, "count": 3, "half": 0.5, "yes": True, "word": "amen", "none": ""}


def test_fields_of_the_right_type_are_returned() -> None:
    assert fields.inner(THINGS, "object") == {"a": 1}
    assert fields.integer(THINGS, "count", 3) == 3
    assert fields.number(THINGS, "count") == 3.0
    assert fields.number(THINGS, "half") == 0.5
    assert fields.boolean(THINGS, "yes") is True
    assert fields.string(THINGS, "word") == "amen"
    assert fields.string(THINGS, "none", empty=True) == ""
    assert fields.line({"text": "\t a\x00\r\nb "}, "text", 3) == "a b"


@pytest.mark.parametrize(
    "read",
    [
        lambda: fields.inner(THINGS, "count"),
        lambda: fields.integer(THINGS, "count", 4),
        lambda: fields.integer(THINGS, "yes", 0),
        lambda: fields.integer({"big": 2**53}, "big", 0),
        lambda: fields.number(THINGS, "yes"),
        lambda: fields.number(THINGS, "missing"),
        lambda: fields.boolean(THINGS, "count"),
        lambda: fields.string(THINGS, "count"),
        lambda: fields.string(THINGS, "none"),
        lambda: fields.line(THINGS, "word", 3),
        lambda: fields.line({"blank": " \x07"}, "blank", 3),
    ],
)
def test_others_are_refused(read: object) -> None:
    assert callable(read)
    with pytest.raises(ProtocolError) as caught:
        read()
    assert caught.value.code == "bad-field"


@pytest.mark.parametrize("data", ["", "{", b"\xff", "[1]", "7"])
def test_only_an_object_is_an_object(data: str | bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        fields.read_object(data)
    assert caught.value.code == "bad-json"

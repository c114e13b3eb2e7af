"""The caption type enforces what the journal may contain; test_codec.py tests the encoding."""

from __future__ import annotations

import orjson
import pytest

from pipeline.core.errors import ProtocolError
from pipeline.protocol import codec
from pipeline.protocol.caption import MAX_INT
from scripts.support.journal import message

CAPTION = message(18, "I shall not want.", "Nada me faltará.")


def broken(**changes: object) -> str:
    value = orjson.loads(codec.encode(CAPTION))
    for key, change in changes.items():
        outer, _, name = key.rpartition("__")
        (value[outer] if outer else value)[name] = change
    return orjson.dumps(value).decode()


def test_a_caption_survives_the_journal() -> None:
    assert codec.parse_caption(codec.encode(CAPTION)) == CAPTION
    # The largest number that a page still counts exactly.
    assert codec.parse_caption(broken(seq=MAX_INT)).seq == MAX_INT


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("", "bad-json"),
        (codec.encode(CAPTION)[:-9], "bad-json"),
        (broken(type="status"), "unknown-type"),
        (broken(seq=0), "bad-field"),
        (broken(seq=MAX_INT + 1), "bad-field"),
        (broken(id=-1), "bad-field"),
        (broken(final=1), "bad-field"),
        (broken(start_s="0"), "bad-field"),
        (broken(end_s=1e300), "bad-field"),
        (broken().replace('"start_s":', '"start_s":NaN,"x":'), "bad-field"),
        (broken(source="text"), "bad-field"),
        (broken(source__lang=""), "bad-field"),
        (broken(target__text=None), "bad-field"),
        (broken(stable=-1), "bad-field"),
    ],
)
def test_a_broken_line_is_refused(line: str | bytes, code: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        codec.parse_caption(line)
    assert caught.value.code == code

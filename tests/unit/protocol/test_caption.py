"""A caption's type holds what the journal may say; what is encoded is in test_codec.py."""

from __future__ import annotations

import orjson
import pytest
from pydantic import TypeAdapter, ValidationError

from pipeline.protocol.caption import MAX_INT, CaptionMessage
from scripts.support.journal import message

ADAPTER = TypeAdapter(CaptionMessage)
WHOLE = orjson.loads(orjson.dumps(message(1, "Grace", "Gracia")))


@pytest.mark.parametrize("seq", [1, MAX_INT])
def test_numbers_that_a_page_counts_exactly_are_taken(seq: int) -> None:
    assert ADAPTER.validate_json(orjson.dumps(WHOLE | {"seq": seq}), strict=True).seq == seq


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 0},
        {"seq": MAX_INT + 1},
        {"id": -1},
        {"stable": -1},
        {"start_s": 1e300},
        {"source": {"lang": "", "text": "x"}},
    ],
)
def test_what_no_caption_has_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_json(orjson.dumps(WHOLE | change), strict=True)


def test_a_time_that_is_no_number_is_refused() -> None:
    line = orjson.dumps(WHOLE).replace(b'"start_s":10.0', b'"start_s":NaN')
    with pytest.raises(ValidationError):
        ADAPTER.validate_json(line, strict=True)

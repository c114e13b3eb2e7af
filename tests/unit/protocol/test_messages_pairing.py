"""A code is sent as the digits that a person types, zeros in front included."""

from __future__ import annotations

import orjson

from pipeline.protocol.codec import encode, parse
from pipeline.protocol.commands import PairMessage
from pipeline.protocol.messages import InvitationMessage


def test_the_code_of_an_invitation_is_text() -> None:
    told = orjson.loads(encode(InvitationMessage(code="000042", for_s=600.0)))
    assert told == {"type": "invitation", "code": "000042", "for_s": 600.0}
    given = parse(orjson.dumps({"type": "pair", "code": told["code"], "name": " Ana\n"}).decode())
    assert given == PairMessage(code="000042", name="Ana")

"""A real hub sends and accepts what schema/messages describes."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import orjson
import pytest

from pipeline.protocol.messages import Outgoing
from tests.support.hub import in_loop, operator, receive, send, serving
from tests.support.paths import ROOT
from tests.support.patience import reached
from tests.support.schemas import SCHEMA, problems
from tests.support.sessions import eventful

PROTOCOL = ROOT / "docs" / "PROTOCOL.md"
RECORDS = {"compare", "utterance"}
TO_DISPLAYS = {get_args(get_type_hints(each)["type"])[0] for each in get_args(Outgoing)}
FROM_DISPLAYS = {"ack", "auth", "command", "invite", "pair", "revoke"}


def schema_of(message: dict[str, Any]) -> str:
    kind = message["type"]
    return f"records/{kind}" if kind in RECORDS else f"messages/{kind}"


def test_every_message_has_its_schema() -> None:
    made = {path.stem for path in (SCHEMA / "messages").iterdir()}
    assert made == (TO_DISPLAYS - RECORDS) | FROM_DISPLAYS


@pytest.mark.slow
def test_an_operator_gets_what_the_schemas_say(tmp_path: Path) -> None:
    session = eventful(tmp_path / "a")
    # No rehearsal, short hello or second device; `alive` comes only if it takes ten seconds.
    elsewhere = {"alive", "check", "compare", "doubtful", "earlier"}
    elsewhere |= {"invitation", "notes", "paired", "suggestion", "volunteers"}
    assert {m["type"] for m in session.sent} - {"alive"} == TO_DISPLAYS - elsewhere
    for message in session.sent:
        assert problems(schema_of(message), message) == [], message
    assert any(m["type"] == "caption" and not m["source"]["text"] for m in session.sent)  # hidden


@in_loop
async def test_a_hello_fits_whatever_was_asked_for() -> None:
    async with serving() as service:
        service.say(1)
        service.say(2, final=False)
        for query in ("", "lang=en&since=1", "since=99&session=other", "kind=projector&since=2"):
            async with service.connect(query) as display:
                hello = await receive(display)
                assert problems("messages/hello", hello) == []
        async with service.connect("history=1") as display:
            for kind in ("hello", "earlier"):
                message = await receive(display)
                assert problems(f"messages/{kind}", message) == []
                assert len(message["captions"]) == 1
        async with service.connect("lang=xx") as display:
            assert problems("messages/error", await receive(display)) == []


@in_loop
async def test_what_the_schemas_allow_the_hub_takes() -> None:
    async with serving() as service:
        message = service.say(1)
        async with await operator(service) as display:
            for wanted in (
                {"type": "ack", "seq": message.seq},
                {"type": "command", "name": "edit", "id": 1, "text": "Amén.", "note": "mine"},
                {"type": "command", "name": "pause"},
            ):
                assert problems(schema_of(wanted), wanted) == []
                await send(display, **wanted)
            await reached(lambda: len(service.commands) == 2)
            edited = await receive(display)
            assert problems("messages/caption", edited) == []
            await asyncio.sleep(0)


def test_the_examples_of_the_protocol_fit() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PROTOCOL.read_text(encoding="utf-8"), re.DOTALL)
    joined = [re.sub(r"\n +", " ", block).strip() for block in blocks]
    messages = [orjson.loads(line) for block in joined for line in block.split("\n")]
    typed = [message for message in messages if "type" in message]
    assert {message["type"] for message in typed} == TO_DISPLAYS | FROM_DISPLAYS
    for message in typed:
        if message["type"] not in RECORDS:  # the document shortens records
            assert problems(schema_of(message), message) == [], message

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any, get_args, get_type_hints

import orjson
import pytest
from pydantic import TypeAdapter

from pipeline.core.errors import ProtocolError
from pipeline.core.types import COMMANDS, KINDS, State
from pipeline.protocol import codec
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from pipeline.protocol.commands import (
    MAX_TEXT,
    AckMessage,
    AddRuleCommand,
    CommandMessage,
    EditCommand,
    PairMessage,
)
from pipeline.protocol.messages import LevelMessage, Outgoing
from tests.support.paths import ROOT

PROTOCOL_MD = (ROOT / "docs" / "PROTOCOL.md").read_text()
DOCUMENTED_CODES = set(re.findall(r"^\| `([a-z-]+)` \|", PROTOCOL_MD, re.MULTILINE))
SHORTENED = {"compare", "console", "health", "utterance"}
"""Nobody wants to read the whole of these in the document."""
SENT = {get_args(get_type_hints(each)["type"])[0]: each for each in get_args(Outgoing)}
CAPTION = CaptionMessage(
    seq=43,
    id=18,
    revision=3,
    final=True,
    start_s=65.6,
    end_s=68.4,
    source=SourceText("en", "I shall not want."),
    target=TargetText("es", "Nada me faltará.", "gemma"),
    stable=16,
)


def examples(kind: str) -> list[dict[str, Any]]:
    """Every example of one message type in docs/PROTOCOL.md."""
    found = []
    for block in re.findall(r"```json\n(.*?)```", PROTOCOL_MD, re.DOTALL):
        try:
            messages = [json.loads(block)]
        except json.JSONDecodeError:
            messages = [json.loads(line) for line in block.splitlines()]
        found += [message for message in messages if message.get("type") == kind]
    assert found, f"docs/PROTOCOL.md has no example of {kind}"
    return found


def refused(raw: str | bytes) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        codec.parse(raw)
    assert caught.value.code in DOCUMENTED_CODES
    return caught.value


def command(name: str, **fields: object) -> str:
    return json.dumps({"type": "command", "name": name, **fields})


def rule(heard: str, write: str) -> str:
    return command("add-rule", heard=heard, write=write)


# The document and the code agree


def test_documented_captions_are_read_and_written_back_unchanged() -> None:
    for example in examples("caption") + examples("hello")[0]["captions"]:
        assert orjson.loads(codec.encode(codec.parse_caption(json.dumps(example)))) == example
    assert codec.encode(CAPTION) == orjson.dumps(examples("caption")[0])


@pytest.mark.parametrize("kind", sorted(SENT.keys() - SHORTENED))
def test_documented_messages_are_what_we_send(kind: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(SENT[kind])
    for example in examples(kind):
        message = adapter.validate_json(json.dumps(example), strict=True)
        assert codec.encode(message) == orjson.dumps(example)


def test_a_documented_refusal_is_what_we_send() -> None:
    with pytest.raises(ProtocolError) as caught:
        codec.parse('{"type":"command","name":"stop"}')
    assert orjson.loads(codec.error(caught.value)) in examples("error")


def test_documented_client_messages_are_accepted_and_each_kind_of_command_is_documented() -> None:
    kinds = set()
    for kind in ("ack", "auth", "pair", "invite", "revoke", "command"):
        for example in examples(kind):
            message = codec.parse(json.dumps(example))
            assert asdict(message) | example == asdict(message)
            kinds.add(type(message))
    assert kinds >= set(get_args(CommandMessage))


def test_every_word_is_documented() -> None:
    assert [w for w in (*get_args(State), *COMMANDS, *KINDS) if w not in PROTOCOL_MD] == []


def test_what_json_cannot_say_is_null() -> None:
    silence = codec.encode(LevelMessage(dbfs=float("-inf"), clipped=False))
    assert orjson.loads(silence) == {"type": "level", "dbfs": None, "clipped": False}


# What clients send


KNOWN = "is not a type. Known: ack, auth, command, invite, pair, revoke."


@pytest.mark.parametrize(
    ("raw", "code", "says"),
    [
        (b'{"type":"ack","seq":1}', "binary-not-accepted", ""),
        ("", "bad-json", ""),
        ('{"type":"ack"', "bad-json", ""),
        ("[]", "bad-json", "A message is a JSON object."),
        ("[" * 5000, "bad-json", ""),
        ('"\ud800"', "bad-json", ""),
        ("{}", "unknown-type", f"None {KNOWN}"),
        ('{"type":"hello"}', "unknown-type", f"'hello' {KNOWN}"),
        ('{"type":["ack"]}', "unknown-type", ""),
        ('{"type":"ack"}', "bad-field", "seq is a whole number from 0."),
        ('{"type":"ack","seq":true}', "bad-field", "seq is a whole number from 0."),
        ('{"type":"ack","seq":9007199254740992}', "bad-field", ""),
        ('{"type":"auth","token":""}', "bad-field", "token is a string, not empty."),
        ('{"type":"pair","code":"","name":"Maria"}', "bad-field", "code is a string, not empty."),
        ('{"type":"revoke","name":" "}', "bad-field", "name has 1 to 40 characters."),
        ('{"type":"command"}', "unknown-command", ""),
        ('{"type":"command","name":"shutdown"}', "unknown-command", ""),
        (command("hide", id=-1), "bad-field", "id is a whole number from 0."),
        (command("edit", id=1), "bad-field", "text is a string, not empty."),
        (command("edit", id=1, text=""), "bad-field", "text is a string, not empty."),
        (command("edit", id=1, text=" \n\7 "), "bad-field", "text has 1 to 2000 characters."),
        (command("edit", id=1, text="x" * 2001), "bad-field", "text has 1 to 2000 characters."),
        (command("say", text="amen"), "bad-field", "lang is a string, not empty."),
        (command("notice", text="amen", lang=""), "bad-field", "lang is a string, not empty."),
        (command("spoken", lang="spanish"), "bad-field", "lang has at most 3 characters."),
        (rule("", "b"), "bad-field", "heard is a string, not empty."),
        (rule("a", "b" * 81), "bad-field", "write has 1 to 80 characters."),
        (rule("...", "b"), "bad-field", "heard has a letter or a digit in it."),
        (rule("a", "!"), "bad-field", "write has a letter or a digit in it."),
        (rule("a", " a "), "bad-field", "heard and write are not the same."),
        (json.dumps({"type": "auth", "token": "x" * codec.MAX_BYTES}), "too-large", ""),
        ('"' + "ñ" * (codec.MAX_BYTES // 2) + '"', "too-large", ""),
    ],
)
def test_a_message_that_is_not_ours_is_refused(raw: str | bytes, code: str, says: str) -> None:
    error = refused(raw)
    assert error.code == code
    assert not says or error.message == says


def test_fields_that_we_do_not_know_are_ignored() -> None:
    assert codec.parse('{"type":"ack","seq":5,"painted_ms":12}') == AckMessage(seq=5)


def test_a_text_is_one_line_of_what_can_be_printed() -> None:
    raw = command("edit", id=2, text="\t Señor\r\n\x00mío  ")
    assert codec.parse(raw) == EditCommand(id=2, text="Señor mío")
    assert codec.parse(rule(" file\n lemon ", "Philemon")) == AddRuleCommand(
        heard="file lemon", write="Philemon"
    )
    paired = codec.parse('{"type":"pair","code":"000042","name":" Ana\\n"}')
    assert paired == PairMessage(code="000042", name="Ana")


def test_the_longest_texts_are_accepted() -> None:
    assert codec.parse(rule("x" * 80, "ñ" * 80)) == AddRuleCommand(heard="x" * 80, write="ñ" * 80)
    raw = json.dumps(json.loads(command("edit", id=2, text="ñ" * MAX_TEXT)), ensure_ascii=False)
    assert codec.parse(raw) == EditCommand(id=2, text="ñ" * MAX_TEXT)


def test_what_was_sent_comes_back_short() -> None:
    assert len(refused(json.dumps({"type": "x" * 9000})).message) < 120

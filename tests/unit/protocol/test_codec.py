from __future__ import annotations

import json
import re
from typing import Any, get_args, get_type_hints

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pipeline.core.errors import ProtocolError
from pipeline.core.types import COMMANDS, KINDS, State
from pipeline.protocol import codec
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from pipeline.protocol.commands import (
    MAX_TEXT,
    AckMessage,
    AddNotesCommand,
    AddRuleCommand,
    ApproveCommand,
    AuthMessage,
    CorrectCommand,
    DropNoteCommand,
    EditCommand,
    HideCommand,
    HoldTermCommand,
    InviteMessage,
    PairMessage,
    PlainCommand,
    RevokeMessage,
    SettleCommand,
    SpokenCommand,
    TypeCommand,
    VerseCommand,
)
from pipeline.protocol.messages import (
    AliveMessage,
    AuthorizedMessage,
    CheckMessage,
    DoneMessage,
    DoubtfulMessage,
    EarlierMessage,
    ErrorMessage,
    FaultMessage,
    HelloMessage,
    InvitationMessage,
    LevelMessage,
    NotesMessage,
    NoticeMessage,
    Outgoing,
    PairedMessage,
    PreviewMessage,
    PurgedMessage,
    ReloadedMessage,
    RuleMessage,
    StatusMessage,
    SuggestionMessage,
    VolunteersMessage,
)
from tests.support.paths import ROOT

PROTOCOL_MD = (ROOT / "docs" / "PROTOCOL.md").read_text()
TYPES = "Known: ack, auth, command, invite, pair, revoke."
DOCUMENTED_CODES = set(re.findall(r"^\| `([a-z-]+)` \|", PROTOCOL_MD, re.MULTILINE))
SENT = {
    "alive": AliveMessage,
    "authorized": AuthorizedMessage,
    "caption": CaptionMessage,
    "check": CheckMessage,
    "done": DoneMessage,
    "doubtful": DoubtfulMessage,
    "earlier": EarlierMessage,
    "error": ErrorMessage,
    "fault": FaultMessage,
    "hello": HelloMessage,
    "invitation": InvitationMessage,
    "level": LevelMessage,
    "notes": NotesMessage,
    "notice": NoticeMessage,
    "paired": PairedMessage,
    "purged": PurgedMessage,
    "reloaded": ReloadedMessage,
    "suggestion": SuggestionMessage,
    "volunteers": VolunteersMessage,
    "preview": PreviewMessage,
    "rule": RuleMessage,
    "status": StatusMessage,
}
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


def rule(heard: str, write: str) -> str:
    return json.dumps({"type": "command", "name": "add-rule", "heard": heard, "write": write})


# The document and the code say the same


def test_documented_captions_are_read_and_written_back_unchanged() -> None:
    for example in examples("caption") + examples("hello")[0]["captions"]:
        assert orjson.loads(codec.encode(codec.parse_caption(json.dumps(example)))) == example
    assert codec.encode(CAPTION) == orjson.dumps(examples("caption")[0])


@pytest.mark.parametrize("kind", SENT)
def test_documented_messages_are_what_we_send(kind: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(SENT[kind])
    for example in examples(kind):
        message = adapter.validate_json(json.dumps(example), strict=True)
        assert codec.encode(message) == orjson.dumps(example)


def test_every_message_that_we_send_is_documented() -> None:
    elsewhere = {"compare", "console", "health", "utterance"}  # shortened there
    kinds = {get_args(get_type_hints(each)["type"])[0] for each in get_args(Outgoing)}
    assert set(SENT) | elsewhere == kinds


def test_a_documented_refusal_is_what_we_send() -> None:
    with pytest.raises(ProtocolError) as caught:
        codec.parse('{"type":"command","name":"stop"}')
    assert orjson.loads(codec.error(caught.value)) in examples("error")


def test_documented_client_messages_are_accepted() -> None:
    parsed = [
        codec.parse(json.dumps(example))
        for kind in ("ack", "auth", "pair", "invite", "revoke", "command")
        for example in examples(kind)
    ]
    assert parsed == [
        AckMessage(seq=43),
        AuthMessage(token="Wf3kq1c2v8"),
        PairMessage(code="042917", name="Maria"),
        InviteMessage(),
        RevokeMessage(name="Maria"),
        PlainCommand(name="pause"),
        PlainCommand(name="resume"),
        PlainCommand(name="blank"),
        PlainCommand(name="unblank"),
        EditCommand(id=18, lang="es", revision=3, text="Nada me faltará jamás."),
        CorrectCommand(id=18, lang="es", revision=3, text="I shall not want."),
        SettleCommand(id=18),
        TypeCommand(name="say", text="The children may go to their classes now.", lang="en"),
        TypeCommand(name="notice", text="The sermon starts at 10:40.", lang="en"),
        PlainCommand(name="clear-notice"),
        HideCommand(id=18, revision=3),
        HideCommand(name="show", id=18, revision=4),
        ApproveCommand(id=18),
        VerseCommand(name="take-verse", id=18),
        VerseCommand(name="dismiss-verse", id=18),
        AddRuleCommand(heard="file lemon", write="Philemon"),
        AddRuleCommand(name="preview-rule", heard="zor", write="Zohar"),
        AddRuleCommand(name="hold-rule", heard="zor", write="Zohar"),
        HoldTermCommand(name="preview-term", say="covenant", write="pacto", instead="acuerdo"),
        HoldTermCommand(say="covenant", write="pacto", instead="acuerdo"),
        AddNotesCommand(
            file="sermon.txt", size=29, at=0, data="V2hhdCBCb25ob2VmZmVyIHNhaWQgaW4gMTk0NS4="
        ),
        DropNoteCommand(entry="Bonhoeffer"),
        PlainCommand(name="song-hold"),
        PlainCommand(name="song-caption"),
        PlainCommand(name="song-auto"),
        SpokenCommand(name="spoken", lang="es"),
        PlainCommand(name="undo"),
        PlainCommand(name="off-record"),
        PlainCommand(name="on-record"),
        PlainCommand(name="reload"),
        PlainCommand(name="new-session"),
        PlainCommand(name="check"),
    ]


def test_every_word_is_documented() -> None:
    assert [w for w in (*get_args(State), *COMMANDS, *KINDS) if w not in PROTOCOL_MD] == []


def test_what_json_cannot_say_is_null() -> None:
    silence = codec.encode(LevelMessage(dbfs=float("-inf"), clipped=False))
    assert orjson.loads(silence) == {"type": "level", "dbfs": None, "clipped": False}


# What clients send


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b'{"type":"ack","seq":1}', "binary-not-accepted"),
        ("", "bad-json"),
        ("ack", "bad-json"),
        ('{"type":"ack"', "bad-json"),
        ("[]", "bad-json"),
        ("null", "bad-json"),
        ("[" * 5000, "bad-json"),
        ('"\ud800"', "bad-json"),
        ("{}", "unknown-type"),
        ('{"type":"hello"}', "unknown-type"),
        ('{"type":["ack"]}', "unknown-type"),
        ('{"type":"ack"}', "bad-field"),
        ('{"type":"ack","seq":-1}', "bad-field"),
        ('{"type":"ack","seq":1.0}', "bad-field"),
        ('{"type":"ack","seq":true}', "bad-field"),
        ('{"type":"ack","seq":"1"}', "bad-field"),
        ('{"type":"ack","seq":9007199254740992}', "bad-field"),
        ('{"type":"auth"}', "bad-field"),
        ('{"type":"auth","token":""}', "bad-field"),
        ('{"type":"auth","token":7}', "bad-field"),
        ('{"type":"command"}', "unknown-command"),
        ('{"type":"command","name":"shutdown"}', "unknown-command"),
        ('{"type":"command","name":{"a":1}}', "unknown-command"),
        ('{"type":"command","name":"hide"}', "bad-field"),
        ('{"type":"command","name":"hide","id":-1}', "bad-field"),
        ('{"type":"command","name":"edit","id":1}', "bad-field"),
        ('{"type":"pair","code":"123456"}', "bad-field"),
        ('{"type":"pair","code":"","name":"Maria"}', "bad-field"),
        ('{"type":"pair","code":123456,"name":"Maria"}', "bad-field"),
        ('{"type":"revoke","name":" "}', "bad-field"),
        ('{"type":"command","name":"correct","text":"amen"}', "bad-field"),
        ('{"type":"command","name":"say","text":"amen"}', "bad-field"),
        ('{"type":"command","name":"notice","text":"amen","lang":""}', "bad-field"),
        ('{"type":"command","name":"edit","id":1,"text":""}', "bad-field"),
        ('{"type":"command","name":"edit","id":1,"text":" \\n\\u0007 "}', "bad-field"),
        ('{"type":"command","name":"edit","id":1,"text":null}', "bad-field"),
        (json.dumps({"type": "command", "name": "edit", "id": 1, "text": "x" * 2001}), "bad-field"),
        ('{"type":"command","name":"add-rule","heard":"a"}', "bad-field"),
        ('{"type":"command","name":"add-rule","heard":"a","write":"a"}', "bad-field"),
        ('{"type":"command","name":"add-rule","heard":" a ","write":"a"}', "bad-field"),
        ('{"type":"command","name":"add-rule","heard":"...","write":"a"}', "bad-field"),
        ('{"type":"command","name":"add-rule","heard":"a","write":"!"}', "bad-field"),
        ('{"type":"command","name":"add-rule","heard":"a","write":["b"]}', "bad-field"),
        (rule("a", "b" * 81), "bad-field"),
        (rule("a" * 81, "b"), "bad-field"),
        (json.dumps({"type": "auth", "token": "x" * codec.MAX_BYTES}), "too-large"),
        ('"' + "ñ" * (codec.MAX_BYTES // 2) + '"', "too-large"),
        ("x" * 1_000_000, "too-large"),
    ],
)
def test_a_message_that_is_not_ours_is_refused(raw: str | bytes, code: str) -> None:
    assert refused(raw).code == code


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("[]", "A message is a JSON object."),
        ("{}", "None is not a type. Known: ack, auth, command, invite, pair, revoke."),
        (
            '{"type":"hello"}',
            "'hello' is not a type. Known: ack, auth, command, invite, pair, revoke.",
        ),
        ('{"type":"ack"}', "seq is a whole number from 0."),
        ('{"type":"ack","seq":true}', "seq is a whole number from 0."),
        ('{"type":"auth","token":""}', "token is a string, not empty."),
        ('{"type":"command","name":"hide","id":-1}', "id is a whole number from 0."),
        ('{"type":"command","name":"edit","id":1}', "text is a string, not empty."),
        ('{"type":"command","name":"edit","id":1,"text":" "}', "text has 1 to 2000 characters."),
        (rule("", "b"), "heard is a string, not empty."),
        (rule("a", "b" * 81), "write has 1 to 80 characters."),
        (rule("...", "b"), "heard has a letter or a digit in it."),
        (rule("a", " a "), "heard and write are not the same."),
    ],
)
def test_a_refusal_says_what_the_field_has_to_be(raw: str, says: str) -> None:
    assert refused(raw).message == says


def test_fields_that_we_do_not_know_are_ignored() -> None:
    assert codec.parse('{"type":"ack","seq":5,"painted_ms":12}') == AckMessage(seq=5)


def test_an_edit_is_one_line_of_printable_text() -> None:
    raw = json.dumps({"type": "command", "name": "edit", "id": 2, "text": "\t Señor\r\n\x00mío  "})
    assert codec.parse(raw) == EditCommand(id=2, text="Señor mío")


def test_a_rule_is_one_line_of_text_on_either_side() -> None:
    assert codec.parse(rule(" file\n lemon ", "Philemon")) == AddRuleCommand(
        heard="file lemon", write="Philemon"
    )
    assert codec.parse(rule("x" * 80, "ñ" * 80)) == AddRuleCommand(heard="x" * 80, write="ñ" * 80)


def test_the_longest_edit_is_accepted() -> None:
    raw = json.dumps(
        {"type": "command", "name": "edit", "id": 2, "text": "ñ" * MAX_TEXT},
        ensure_ascii=False,
    )
    assert codec.parse(raw) == EditCommand(id=2, text="ñ" * MAX_TEXT)


def test_what_was_sent_comes_back_short() -> None:
    assert len(refused(json.dumps({"type": "x" * 9000})).message) < 120


@settings(deadline=None)
@given(st.text() | st.binary())
def test_any_text_is_parsed_or_refused(raw: str | bytes) -> None:
    refused(raw)


# The journal's lines


def broken(**changes: object) -> str:
    value = orjson.loads(codec.encode(CAPTION))
    for key, change in changes.items():
        outer, _, name = key.rpartition("__")
        (value[outer] if outer else value)[name] = change
    return orjson.dumps(value).decode()


def test_a_caption_survives_the_journal() -> None:
    assert codec.parse_caption(codec.encode(CAPTION)) == CAPTION


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("", "bad-json"),
        (codec.encode(CAPTION)[:-9], "bad-json"),
        (broken(type="status"), "unknown-type"),
        (broken(seq=0), "bad-field"),
        (broken(id="18"), "bad-field"),
        (broken(revision=None), "bad-field"),
        (broken(final=1), "bad-field"),
        (broken(start_s="0"), "bad-field"),
        (broken(end_s=True), "bad-field"),
        (broken(source="text"), "bad-field"),
        (broken(source__lang=""), "bad-field"),
        (broken(source__text=None), "bad-field"),
        (broken(target__text=5), "bad-field"),
        (broken(target__engine=None), "bad-field"),
        (broken(stable=-1), "bad-field"),
    ],
)
def test_a_broken_line_is_refused(line: str | bytes, code: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        codec.parse_caption(line)
    assert caught.value.code == code

"""One scripted service, and the exact messages that it sends.

tests/contract/golden/service.json is the contract with the pages: the browser tests replay its
messages. Each step has an action of the pipeline or the operator (`do`) and the message that
follows, null for none. After an intended change, run this file as a program to rewrite the
messages, and read the diff.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from pipeline.captions.board import CaptionBoard
from pipeline.core.types import State
from pipeline.protocol.caption import CaptionMessage, TargetText
from pipeline.protocol.codec import encode
from pipeline.protocol.messages import AliveMessage, HelloMessage, NoticeMessage, StatusMessage
from scripts.support.records import caption

FILE = Path(__file__).parent / "golden" / "service.json"
STEPS: list[dict[str, Any]] = orjson.loads(FILE.read_bytes())


class Service:
    """Executes the steps on a real board."""

    def __init__(self) -> None:
        self.board = CaptionBoard("2026-11-22T09-30-00", "en", "es", 200)
        self.state: State = "starting"
        self.reason = ""
        self.notice = NoticeMessage()
        self.before: list[CaptionMessage] = []
        """Captions as they were before the operator changed them."""

    def do(self, step: Mapping[str, Any]) -> bytes | None:
        """Execute one step; return its message."""
        fields = {key: step[key] for key in step if key not in ("do", "message")}
        match step["do"]:
            case "hello":
                return self._hello(fields.get("since"))
            case "status":
                self.state, self.reason = fields["state"], fields["reason"]
                return encode(
                    StatusMessage(
                        mode="live", seq=self.board.seq, state=self.state, reason=self.reason
                    )
                )
            case "show":
                message = self.board.show(caption(**fields))
            case "edit" | "hide" as name:
                self.before.append(self.board.message(fields["id"]))
                message = getattr(self.board, name)(*fields.values())
            case "correct":
                message = self.board.correct(fields["id"], fields["text"])
            case "retranslate":
                target = TargetText(self.board.target, fields["text"], fields["engine"])
                message = self.board.retranslate(fields["id"], target)
            case "type":
                message = self.board.add_typed(*fields.values())
            case "notice":
                self.notice = NoticeMessage(texts=fields["texts"])
                return encode(self.notice)
            case "undo":
                message = self.board.put_back(self.before.pop())
            case "reopen":
                message = self.board.reopen(*fields.values())
            case "retract":
                message = self.board.retract(*fields.values())
            case "alive":
                return encode(AliveMessage(seq=self.board.seq))
        return encode(message) if message else None

    def _hello(self, since: int | None) -> bytes:
        snapshot = self.board.since(since)
        return encode(
            HelloMessage(
                session=self.board.session,
                mode="live",
                seq=self.board.seq,
                source=self.board.source,
                targets=(self.board.target,),
                lang="es",
                state=self.state,
                reason=self.reason,
                resumed=snapshot.resumed,
                captions=snapshot.messages,
                notice=self.notice,
            )
        )


def test_every_step_makes_exactly_its_message() -> None:
    service = Service()
    for number, step in enumerate(STEPS):
        expected = orjson.dumps(step["message"]) if step["message"] else None
        assert service.do(step) == expected, f"step {number}: {step['do']}"


def test_the_service_covers_every_step() -> None:
    done = {step["do"] for step in STEPS if step["message"]}
    assert done >= {"hello", "status", "show", "edit", "hide", "undo", "retract", "reopen"}
    assert done >= {"alive", "correct", "retranslate", "type", "notice"}


def test_a_display_that_keeps_the_newest_of_each_id_ends_with_the_board() -> None:
    service, shown = Service(), dict[int, dict[str, Any]]()
    for step in STEPS:
        service.do(step)
        message = step["message"]
        if message and message["type"] == "caption":
            shown[message["id"]] = message
    ended = [shown[key] for key in sorted(shown) if shown[key]["target"]["text"]]
    assert [orjson.dumps(message) for message in ended] == [
        encode(message) for message in service.board.snapshot().messages
    ]


if __name__ == "__main__":
    service = Service()
    for step in STEPS:
        made = service.do(step)
        step["message"] = orjson.loads(made) if made else None
    lines = ",\n".join(orjson.dumps(step).decode() for step in STEPS)
    FILE.write_text(f"[\n{lines}\n]\n")
    sys.stdout.write(f"{FILE}: {len(STEPS)} steps\n")

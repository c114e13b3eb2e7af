"""The operator whom the demo plays: real commands, over the socket that the desk's page uses.

What he does and what there is to see is told in the log, so that nobody takes it for the program's
own doing.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import structlog
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from pipeline.core.threads import Thread

log = structlog.get_logger()


class DemoOperator:
    """Adds the preacher's notes, shows suggested verses, corrects what the recording tells to.

    `script` is the recording's reference (demo/service.json).
    """

    def __init__(
        self, page: str, token: str, script: Mapping[str, Any], notes: Path, *, seen_s: float = 2.5
    ) -> None:
        """Take the address of the desk's page and the operator's token.

        A mistake stands for `seen_s` before it is corrected: people are to see it.
        """
        self._uri = f"{page.replace('http', 'ws', 1).removesuffix('operator')}ws?kind=operator"
        self._token, self._notes, self._seen_s = token, notes, seen_s
        self._sections: list[Mapping[str, Any]] = list(script["sections"])
        self._sentences: Sequence[Mapping[str, Any]] = script["sentences"]
        self._wrong = [each for each in self._sentences if each.get("correct")]

    def start(self) -> None:
        """Sit down at the desk; get up when the service ends."""
        # A demo without its operator is still one.
        gone = "The demo's operator has left"
        Thread(
            lambda: asyncio.run(self.work()),
            "demo operator",
            failed=lambda error: log.warning("demo", says=f"{gone}: {error}."),
        ).start()

    async def work(self) -> None:
        """Work until the service ends."""
        try:
            # The backlog of a desk may be large; a proxy has no business in between.
            async with connect(self._uri, max_size=None, proxy=None) as desk:
                await _send(desk, type="auth", token=self._token)
                async for raw in desk:
                    await self._see(desk, orjson.loads(raw))
        except (ConnectionClosed, InvalidHandshake, OSError) as error:
            log.debug("demo operator", reason=str(error))

    async def _see(self, desk: ClientConnection, message: Mapping[str, Any]) -> None:
        match message:
            case {"type": "authorized"}:
                self._say("the preacher's notes are added, as the desk does with a file")
                await self._add_notes(desk)
            case {"type": "health", "audio_s": float(at_s)}:
                while self._sections and self._sections[0]["start_s"] <= at_s + 1:
                    log.info("demo", says=self._sections.pop(0)["says"])
            case {"type": "suggestion", "ref": ref, "id": caption} if ref:
                self._say(f"{ref} is suggested at the desk, and shown (key V)")
                await _send(desk, type="command", name="take-verse", id=caption)
            case {"type": "caption", "final": True, "id": caption, "source": {"text": heard}}:
                span = message["start_s"], message["end_s"]
                if heard and (said := self._said(*span)) and said != heard:
                    self._wrong = []
                    await asyncio.sleep(self._seen_s)
                    self._say(f"what was heard is corrected: “{said}”")
                    await _send(desk, type="command", name="correct", id=caption, text=said)

    def _said(self, start_s: float, end_s: float) -> str:
        """Return what was said in a stretch if the sentence to correct is in it, else ""."""

        def is_in(sentence: Mapping[str, Any]) -> bool:
            middle_s: float = (sentence["start_s"] + sentence["end_s"]) / 2
            return start_s < middle_s < end_s

        if not any(map(is_in, self._wrong)):
            return ""
        return " ".join(each["en"] for each in self._sentences if is_in(each))

    async def _add_notes(self, desk: ClientConnection) -> None:
        content = self._notes.read_bytes()
        await _send(
            desk,
            type="command",
            name="add-notes",
            file=self._notes.name,
            size=len(content),
            at=0,
            data=base64.b64encode(content).decode(),
        )

    def _say(self, does: str) -> None:
        log.info("demo", says=f"The demo plays the operator: {does}.")


async def _send(desk: ClientConnection, **message: object) -> None:
    await desk.send(orjson.dumps(message).decode())

"""Actions of the operator's page over plain HTTP, for Stream Deck, Companion and scripts.

They are `GET /do/ACTION`; docs/PROTOCOL.md lists them. Each can be undone: "off the record", which
removes a minute for good, is not available.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TypeAlias
from urllib.parse import parse_qs

import orjson
from websockets.http11 import Request, Response

from pipeline.core.errors import ProtocolError
from pipeline.protocol.codec import parse
from pipeline.protocol.commands import AckMessage
from pipeline.protocol.messages import ConsoleMessage
from pipeline.server.inbound import OnCommand
from pipeline.server.pages import refuse, respond
from pipeline.server.past_routes import Admit, bearer, challenge

PREFIX = "/do"
Sound: TypeAlias = Callable[[int, str], bytes]
"""Returns the WAV of a caption by id and target language, b"" if there is none."""
ACTIONS = (
    *("pause", "resume", "blank", "unblank", "song-hold", "song-caption", "song-auto"),
    *("clear-notice", "undo"),
)
"""Actions without a parameter; `notice` needs a text, `spoken` a language."""
TOGGLES: Mapping[str, tuple[Callable[[ConsoleMessage], bool], str, str]] = {
    "pause-or-resume": (lambda now: now.paused, "resume", "pause"),
    "blank-or-unblank": (lambda now: now.blank, "unblank", "blank"),
    "song-or-captions": (lambda now: now.song == "hold", "song-auto", "song-hold"),
}
"""Toggles for one button: whether the state is on, the action if it is, and the action if not."""
NEXT_LANGUAGE = "next-language"
"""Forces the next of several spoken languages; after the last one, detection is automatic again."""
_STATUS = {
    "too-many-attempts": HTTPStatus.TOO_MANY_REQUESTS,
    "foreign-page": HTTPStatus.FORBIDDEN,
    "not-authorized": HTTPStatus.FORBIDDEN,
}


class Buttons:
    """Does the actions of buttons. Belongs to the event loop's thread."""

    obey: OnCommand
    console: Callable[[], ConsoleMessage]
    sound: Sound

    def __init__(self, admit: Admit) -> None:
        """The attributes are to be set before the first request."""
        self._admit = admit

    @staticmethod
    def answers(request: Request) -> bool:
        """Return whether a request belongs to these routes."""
        path = request.path.partition("?")[0]
        is_ours = path == PREFIX or path.startswith(f"{PREFIX}/")
        # Not HEAD: checking an address must not pause the captions.
        return is_ours and request.method == "GET"

    async def answer(self, request: Request, address: str) -> Response:
        """Do what a GET request asks for; answer with the new state."""
        path, _, query = request.path.partition("?")
        given = {key: values[0] for key, values in parse_qs(query, errors="replace").items()}
        # The header first: an address with the token is kept in logs and histories.
        token = bearer(request) or given.get("token", "")
        if not token:
            return challenge("Send a token: `stark-translate desk --buttons NAME` makes one.")
        try:
            await self._admit(address, request.headers, token)
            action = path.removeprefix(PREFIX).strip("/")
            if action == "hear":
                return self._hear(given)
            if action:
                self._do(action, given)
        except ProtocolError as problem:
            status = _STATUS.get(problem.code, HTTPStatus.CONFLICT)
            return refuse(status, f"{problem.message} [{problem.code}]")
        now = self.console()
        state: dict[str, str | bool] = {
            "paused": now.paused,
            "blank": now.blank,
            "song": now.song,
            "undo": now.undo,
        }
        if now.spoken:
            state["spoken"] = now.forced
        return respond(HTTPStatus.OK, orjson.dumps(state), "application/json")

    def _hear(self, given: Mapping[str, str]) -> Response:
        """Return the speech of a doubtful caption, by `id` and `lang`."""
        number = given.get("id", "")
        # 16 digits hold every id; `int` raises ValueError for thousands of digits.
        is_id = number.isdecimal() and len(number) <= 16
        heard = self.sound(int(number), given.get("lang", "")) if is_id else b""
        if not heard:
            return refuse(HTTPStatus.NOT_FOUND, "The sound of this caption is not there any more.")
        return respond(HTTPStatus.OK, heard, "audio/wav")

    def _do(self, action: str, given: Mapping[str, str]) -> None:
        if toggle := TOGGLES.get(action):
            is_so, then, otherwise = toggle
            action = then if is_so(self.console()) else otherwise
        if action == NEXT_LANGUAGE:
            now = self.console()
            choices = ("", *now.spoken)
            following = choices[(choices.index(now.forced) + 1) % len(choices)]
            action, given = "spoken", {"lang": following}
        if action not in ("notice", "spoken", *ACTIONS):
            known = ", ".join((*ACTIONS, *TOGGLES, "notice", "spoken", NEXT_LANGUAGE))
            raise ProtocolError("unknown-command", f"There is no such action. Known: {known}.")
        # A command ignores what it has no field for.
        fields = {key: given.get(key, "") for key in ("text", "lang")}
        command = parse(orjson.dumps({"type": "command", "name": action, **fields}).decode())
        if not isinstance(command, AckMessage):
            # Nothing to await: the commands that take long are not among the actions.
            self.obey(command)  # type: ignore[arg-type]

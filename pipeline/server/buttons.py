"""Actions of the desk as plain HTTP, for Stream Deck, Companion and scripts: `GET /do/ACTION`.

docs/PROTOCOL.md says what there is. Nothing of it cannot be taken back: "off the record", which
removes a minute for good, is not among it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Literal, TypeAlias, get_args
from urllib.parse import parse_qs, unquote

import orjson
from websockets.http11 import Request, Response

from pipeline.core.errors import ProtocolError
from pipeline.protocol.codec import parse
from pipeline.protocol.commands import AckMessage, CommandMessage
from pipeline.protocol.messages import ConsoleMessage
from pipeline.server.pages import refuse, respond
from pipeline.server.past_routes import Admit

PREFIX = "/do"
Sound: TypeAlias = Callable[[int, str], bytes]
"""Gives the WAV of a caption's id in a target language, b"" where there is none."""
Action: TypeAlias = Literal[
    "pause",
    "resume",
    "blank",
    "unblank",
    "song-hold",
    "song-caption",
    "song-auto",
    "clear-notice",
    "undo",
]
ACTIONS: tuple[Action, ...] = get_args(Action)
"""Those that say only what they do; `notice` needs a text, `spoken` a language."""
TOGGLES: Mapping[str, tuple[Callable[[ConsoleMessage], bool], Action, Action]] = {
    "pause-or-resume": (lambda now: now.paused, "resume", "pause"),
    "blank-or-unblank": (lambda now: now.blank, "unblank", "blank"),
    "song-or-captions": (lambda now: now.song == "hold", "song-auto", "song-hold"),
}
"""For one button: whether it is so already, and what is done then and otherwise."""
NEXT_LANGUAGE = "next-language"
"""Forces the next of several spoken languages; behind the last one the program finds out again."""
_STATUS = {
    "too-many-attempts": HTTPStatus.TOO_MANY_REQUESTS,
    "foreign-page": HTTPStatus.FORBIDDEN,
    "not-authorized": HTTPStatus.FORBIDDEN,
}


def no_sound(caption_id: int, lang: str) -> bytes:
    """Have no sound of any caption."""
    del caption_id, lang
    return b""


class Buttons:
    """Does what a button asks for. Belongs to the event loop's thread."""

    def __init__(
        self,
        admit: Admit,
        obey: Callable[[CommandMessage], Awaitable[None] | None],
        console: Callable[[], ConsoleMessage],
    ) -> None:
        """`admit` lets a token in, `obey` does a command or raises ProtocolError."""
        self._admit = admit
        self._obey = obey
        self._console = console
        self.sound: Sound = no_sound

    @staticmethod
    def answers(request: Request) -> bool:
        """Return whether a request is for what is done here."""
        path = request.path.partition("?")[0]
        is_ours = path == PREFIX or path.startswith(f"{PREFIX}/")
        # Not HEAD: whoever only looks at an address must not pause the captions.
        return is_ours and request.method == "GET"

    async def answer(self, request: Request, address: str) -> Response:
        """Do what a GET request asks for; answer with how it is then."""
        path, _, query = request.path.partition("?")
        given = {key: values[0] for key, values in parse_qs(query, errors="replace").items()}
        held = ",".join(request.headers.get_all("Authorization")).removeprefix("Bearer ")
        # The header first: an address is kept in logs and histories, with the token in it.
        token = unquote(held, errors="surrogateescape") or given.get("token", "")
        if not token:
            challenge = {"WWW-Authenticate": "Bearer"}
            fix = "Send a token: `stark-translate desk --buttons NAME` makes one."
            return refuse(HTTPStatus.UNAUTHORIZED, fix, challenge)
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
        now = self._console()
        told: dict[str, str | bool] = {
            "paused": now.paused,
            "blank": now.blank,
            "song": now.song,
            "undo": now.undo,
        }
        if now.spoken:
            told["spoken"] = now.forced
        return respond(HTTPStatus.OK, orjson.dumps(told), "application/json")

    def _hear(self, given: Mapping[str, str]) -> Response:
        """Return what was said of a doubtful caption: `id`, `lang`."""
        number = given.get("id", "")
        # 16 digits hold every id; of thousands `int` makes a ValueError.
        is_id = number.isdecimal() and len(number) <= 16
        heard = self.sound(int(number), given.get("lang", "")) if is_id else b""
        if not heard:
            return refuse(HTTPStatus.NOT_FOUND, "The sound of this caption is not there any more.")
        return respond(HTTPStatus.OK, heard, "audio/wav")

    def _do(self, action: str, given: Mapping[str, str]) -> None:
        if toggle := TOGGLES.get(action):
            is_so, then, otherwise = toggle
            action = then if is_so(self._console()) else otherwise
        if action == NEXT_LANGUAGE:
            now = self._console()
            choices = ("", *now.spoken)
            following = choices[(choices.index(now.forced) + 1) % len(choices)]
            action, given = "spoken", {"lang": following}
        if action not in ("notice", "spoken", *ACTIONS):
            known = ", ".join((*ACTIONS, *TOGGLES, "notice", "spoken", NEXT_LANGUAGE))
            raise ProtocolError("unknown-command", f"There is no such action. Known: {known}.")
        message: dict[str, str] = {"type": "command", "name": action}
        if action == "notice":
            message |= {"text": given.get("text", ""), "lang": given.get("lang", "")}
        if action == "spoken":
            message["lang"] = given.get("lang", "")
        command = parse(orjson.dumps(message).decode())
        if not isinstance(command, AckMessage):
            # Nothing is awaited: the only commands that take their time are not among the actions.
            self._obey(command)  # type: ignore[arg-type]

"""The completions endpoint of any OpenAI-compatible server: llama-server, vLLM, llama_cpp.server.

Completions and not chats: a chat's prompt is made by the template that the server has, and nobody
here could see which one that is.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any

import orjson

from pipeline.core.errors import EngineError
from pipeline.engines.answer import Piece
from pipeline.engines.remote.api_server import JSON, MOST_SAID, STREAM, ApiServer, Check, words_of
from pipeline.engines.remote.http_call import HttpCall


class EventReader:
    """Collects lines, and gives the data of each event when its blank line has come."""

    def __init__(self) -> None:
        self._data: list[str] = []

    def add(self, line: str) -> str | None:
        """Take the next line, without its end; return the data of the event that it ends."""
        if not line:
            if not self._data:
                return None
            data, self._data = "\n".join(self._data), []
            return data
        name, _, value = line.partition(":")
        if name == "data":  # a comment begins with a colon, so its name is empty
            # One space belongs to the format; any more are the text's.
            self._data.append(value.removeprefix(" "))
        return None


class Completions(ApiServer):
    """A server's completions."""

    def complete(
        self, request: Mapping[str, Any], *, until_s: float, check: Check
    ) -> Generator[Piece, None, None]:
        """Yield what the server writes behind a prompt, the last piece with its `finish`.

        Raises EngineError: `server-gone`, also where it breaks off; `server-late` at `until_s`;
        `server-busy`, `server-refuses`, `server-other-model`, `server-failed`, `server-nonsense`.
        """
        body = orjson.dumps({"model": self._model, "stream": True, **request})
        headers = {**self._headers, "Content-Type": JSON}
        call = HttpCall(
            self._base, "completions", headers=headers, until_s=until_s, body=body, tls=self._tls
        )
        with closing(call):
            head = call.head(check)
            if head.status != 200 or head.content_type != STREAM:
                self._expect(head, self._rest(call, check), STREAM)
            yield from self._pieces(call, check)

    def _pieces(self, call: HttpCall, check: Check) -> Generator[Piece, None, None]:
        events, is_finished = EventReader(), False
        while (line := call.line(check)) is not None:
            data = events.add(line.decode(errors="replace").rstrip("\r\n"))
            if data is None:
                continue
            if data.strip() == "[DONE]":
                return
            piece = self._piece(self._object(data.encode()))
            # Not every server sends [DONE]; then a piece that says why it is the last will do.
            is_finished |= bool(piece.finish)
            yield piece
        if not is_finished:
            raise EngineError("server-gone", f"{self.place} broke off.")

    def _piece(self, event: Mapping[str, Any]) -> Piece:
        # What was said may stand in an event, and must not get into a log: it is not quoted.
        if error := event.get("error"):
            raise EngineError("server-failed", f"{self.place} failed: {words_of(error)}.")
        model, choices, usage = event.get("model"), event.get("choices"), event.get("usage") or {}
        if not isinstance(choices, list) or not isinstance(usage, dict):
            raise self._nonsense("an event without choices")
        if isinstance(model, str) and model and model != self._model:
            raise self._other_model(model[:MOST_SAID])
        first = choices[0] if choices else {"text": ""}  # the last event may only count
        text = first.get("text") if isinstance(first, dict) else None
        if not isinstance(text, str):
            raise self._nonsense("an event without text")
        counts = (usage.get(name) or 0 for name in ("prompt_tokens", "completion_tokens"))
        return Piece(text, first.get("finish_reason") or "", *map(int, counts))

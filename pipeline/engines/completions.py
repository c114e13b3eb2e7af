"""The completions endpoint of any OpenAI-compatible server: llama-server, vLLM, llama_cpp.server.

Completions and not chats: a chat's prompt is made by the template that the server has, and nobody
here could see which one that is.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from pipeline.core.errors import EngineError, ModelError
from pipeline.engines.answer import Piece
from pipeline.engines.http_call import Head, HttpCall
from pipeline.engines.specification import setting
from pipeline.engines.sse import EventReader

Check = Callable[[], None]

_STREAM: Final = "text/event-stream"
_JSON: Final = "application/json"
_MOST_SAID = 200
_KEY_FIX = "Write the server's key into a file that the program can read, on one line."


class Completions:
    """A server's models and completions. For one thread; at most one request is open at a time.

    `url` is as other programs take it: "https://gpu.example.org:8000/v1"; without a path it gets
    that one. `key_file` holds the server's key, `ca_file` who signed its certificate.
    """

    def __init__(
        self, url: str, model: str, *, key_file: str = "", ca_file: str = "", section: str = ""
    ) -> None:
        parts = urlsplit(url)
        self._base = parts if parts.path.strip("/") else parts._replace(path="/v1")
        self._model = model
        self._key_file = key_file
        self._ca_file = ca_file
        self._section = section
        self._headers: dict[str, str] = {}
        self._tls: ssl.SSLContext | None = None

    @property
    def place(self) -> str:
        """Host and port, for people."""
        # Without a name and a password, which may stand before it.
        return self._base.netloc.rpartition("@")[2]

    @property
    def shows_key(self) -> bool:
        """Whether the key, and what is said, go over the network unencrypted."""
        local = self._base.hostname in {"localhost", "127.0.0.1", "::1"}
        return self._base.scheme == "http" and bool(self._key_file) and not local

    def open(self) -> None:
        """Read the key and the certificate. Raises ModelError."""
        self._headers = {"User-Agent": "stark-translate", "Accept": f"{_STREAM}, {_JSON}"}
        if self._key_file:
            self._headers["Authorization"] = f"Bearer {self._key()}"
        if self._base.scheme == "https":
            self._tls = self._trust()

    def models(self, *, until_s: float, check: Check) -> list[str]:
        """Return the names of what the server serves; [] where it does not tell.

        `until_s` is monotonic, `check` is called while waiting. Raises EngineError.
        """
        call = HttpCall(self._base, "models", headers=self._headers, until_s=until_s, tls=self._tls)
        with closing(call):
            head, body = self._whole(call, check)
            # Not every server lists its models; it may well have the one that is wanted.
            if head.status in {404, 405, 501}:
                return []
            self._expect(head, body, _JSON)
            listed = self._object(body).get("data")
            if not isinstance(listed, list):
                raise self._nonsense("a list of models that is none")
            return [str(each.get("id", "")) for each in listed if isinstance(each, dict)]

    def complete(
        self, request: Mapping[str, Any], *, until_s: float, check: Check
    ) -> Generator[Piece, None, None]:
        """Yield what the server writes behind a prompt, the last piece with its `finish`.

        Raises EngineError: `server-gone`, also where it breaks off; `server-late` at `until_s`;
        `server-busy`, `server-refuses`, `server-other-model`, `server-failed`, `server-nonsense`.
        """
        body = orjson.dumps({"model": self._model, "stream": True, **request})
        headers = {**self._headers, "Content-Type": _JSON}
        call = HttpCall(
            self._base, "completions", headers=headers, until_s=until_s, body=body, tls=self._tls
        )
        with closing(call):
            head = call.head(check)
            if head.status != 200 or head.content_type != _STREAM:
                self._expect(head, self._rest(call, check), _STREAM)
            yield from self._pieces(call, check)

    def check_model(self, *, until_s: float, check: Check) -> None:
        """See that the server is there and has the model. Raises EngineError.

        llama_cpp.server and others answer for a model that they do not have with the one they have.
        """
        served = self.models(until_s=until_s, check=check)
        if served and self._model not in served:
            raise self._other_model(", ".join(served)[:_MOST_SAID])

    def _pieces(self, call: HttpCall, check: Check) -> Generator[Piece, None, None]:
        events, is_finished = EventReader(), False
        while (line := call.line(check)) is not None:
            data = events.add(line.decode(errors="replace").rstrip("\r\n"))
            if data is None:
                continue
            if data.strip() == "[DONE]":
                return
            piece = self._piece(self._object(data.encode()))
            is_finished |= bool(piece.finish)
            yield piece
        if not is_finished:
            raise EngineError("server-gone", f"{self.place} broke off.")

    def _piece(self, event: Mapping[str, Any]) -> Piece:
        # What was said may stand in an event, and must not get into a log: it is not quoted.
        if error := event.get("error"):
            raise EngineError("server-failed", f"{self.place} failed: {_said(error)}.")
        model, choices, usage = event.get("model"), event.get("choices"), event.get("usage") or {}
        if not isinstance(choices, list) or not isinstance(usage, dict):
            raise self._nonsense("an event without choices")
        if isinstance(model, str) and model and model != self._model:
            raise self._other_model(model[:_MOST_SAID])
        first = choices[0] if choices else {"text": ""}  # the last event may only count
        text = first.get("text") if isinstance(first, dict) else None
        if not isinstance(text, str):
            raise self._nonsense("an event without text")
        counts = (usage.get(name) or 0 for name in ("prompt_tokens", "completion_tokens"))
        return Piece(text, first.get("finish_reason") or "", *map(int, counts))

    def _object(self, data: bytes) -> dict[str, Any]:
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            value = None
        if not isinstance(value, dict):
            raise self._nonsense("what is no JSON object")
        return value

    def _whole(self, call: HttpCall, check: Check) -> tuple[Head, bytes]:
        return call.head(check), self._rest(call, check)

    def _rest(self, call: HttpCall, check: Check) -> bytes:
        return b"".join(iter(lambda: call.line(check) or b"", b""))

    def _expect(self, head: Head, body: bytes, kind: str) -> None:
        """Raise EngineError unless an answer is a good one of this kind."""
        said = _said_in(body) if head.content_type == _JSON else ""
        because = f": {said}" if said else ""
        match head.status:
            case 200:
                if head.content_type != kind:
                    # JSON may have words in it that were said: only what is none is quoted.
                    shown = b"" if head.content_type == _JSON else body
                    raise self._nonsense(f"{head.content_type} in place of {kind}", shown)
            case 401 | 403:
                raise EngineError(
                    "server-refuses",
                    f"{self.place} refuses the key{because}.",
                    f"{setting(self._section, 'key_file')} names the file with it.",
                )
            # Without words about it any web server may have answered.
            case 404 if said:
                raise self._other_model(said)
            case 429 | 503:
                raise EngineError("server-busy", f"{self.place} is busy{because}.")
            case 500 | 502 | 504:
                raise EngineError(
                    "server-failed", f"{self.place} failed (status {head.status}){because}."
                )
            case status:
                shown = b"" if head.content_type == _JSON else body
                raise self._nonsense(f"status {status}{because}", shown)

    def _nonsense(self, what: str, body: bytes = b"") -> EngineError:
        begins = " ".join(body[:300].decode(errors="replace").split())[:60]
        shown = f", beginning {begins!r}" if begins else ""
        return EngineError(
            "server-nonsense",
            f"{self.place} answered with {what}{shown}.",
            f"Is {setting(self._section, 'url')} that of an OpenAI-compatible server, such as "
            '"http://gpu.example.org:8080/v1"?',
        )

    def _other_model(self, has: str) -> EngineError:
        return EngineError(
            "server-other-model",
            f"{self.place} does not serve {self._model!r}: {has}.",
            f"Put the name that the server has for it into {setting(self._section, 'model')}.",
        )

    def _key(self) -> str:
        where = setting(self._section, "key_file")
        try:
            key = Path(self._key_file).read_text("ascii").strip()
        except OSError as error:
            raise ModelError(
                "key-unreadable", f"{where}: {self._key_file}: {error.strerror}.", _KEY_FIX
            ) from error
        except UnicodeDecodeError:
            key = ""
        if not key or not key.isprintable() or " " in key:
            raise ModelError("key-unreadable", f"{where}: {self._key_file} has no key.", _KEY_FIX)
        return key

    def _trust(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self._ca_file or None)
        except (OSError, ssl.SSLError) as error:
            raise ModelError(
                "certificate-unreadable",
                f"{setting(self._section, 'ca_file')}: {self._ca_file}: {error.strerror or error}.",
                "Give a file with certificates in PEM.",
            ) from error


def _said_in(body: bytes) -> str:
    """Return a server's own words of an error in JSON, "" if there are none."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return _said(value.get("error") or value.get("detail")) if isinstance(value, dict) else ""


def _said(error: object) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    return " ".join(said.split())[:_MOST_SAID].rstrip(".") if isinstance(said, str) else ""

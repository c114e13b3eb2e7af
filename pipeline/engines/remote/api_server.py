"""A server that speaks OpenAI's interface: where it is, its key, its models, its mistakes."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from pipeline.core.errors import EngineError, ModelError
from pipeline.engines.remote.http_call import Head, HttpCall
from pipeline.engines.specification import setting

Check = Callable[[], None]

STREAM: Final = "text/event-stream"
JSON: Final = "application/json"
MOST_SAID = 200
_KEY_FIX = "Write the server's key into a file that the program can read, on one line."


class ApiServer:
    """A server and the models on it. For one thread; at most one request is open at a time.

    `url` is as other programs take it: "https://gpu.example.org:8000/v1"; without a path it gets
    that one. `key_file` holds the server's key, `ca_file` who signed its certificate.
    `model_key` is the setting of `section` that names the model.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_file: str = "",
        ca_file: str = "",
        section: str = "",
        model_key: str = "model",
    ) -> None:
        parts = urlsplit(url)
        self._base = parts if parts.path.strip("/") else parts._replace(path="/v1")
        self._model = model
        self._key_file = key_file
        self._ca_file = ca_file
        self._section = section
        self._model_key = model_key
        self._headers: dict[str, str] = {}
        self._tls: ssl.SSLContext | None = None

    @property
    def place(self) -> str:
        """Host and port, for people."""
        # Without a name and a password, which may stand before it.
        return self._base.netloc.rpartition("@")[2]

    @property
    def is_open(self) -> bool:
        """Whether what is said goes over a network unencrypted."""
        is_here = self._base.hostname in {"localhost", "127.0.0.1", "::1"}
        return self._base.scheme == "http" and not is_here

    @property
    def shows_key(self) -> bool:
        """Whether the key goes over a network unencrypted."""
        return self.is_open and bool(self._key_file)

    def open(self) -> None:
        """Read the key and the certificate. Raises ModelError."""
        self._headers = {"User-Agent": "stark-translate", "Accept": f"{STREAM}, {JSON}"}
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
            self._expect(head, body, JSON)
            listed = self._object(body).get("data")
            if not isinstance(listed, list):
                raise self._nonsense("a list of models that is none")
            return [str(each.get("id", "")) for each in listed if isinstance(each, dict)]

    def check_model(self, *, until_s: float, check: Check) -> None:
        """See that the server is there and has the model. Raises EngineError.

        llama_cpp.server and others answer for a model that they do not have with the one they have.
        """
        served = self.models(until_s=until_s, check=check)
        if served and self._model not in served:
            raise self._other_model(", ".join(served)[:MOST_SAID])

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
        said = _said_in(body) if head.content_type == JSON else ""
        because = f": {said}" if said else ""
        match head.status:
            case 200:
                if head.content_type != kind:
                    # JSON may have words in it that were said: only what is none is quoted.
                    shown = b"" if head.content_type == JSON else body
                    raise self._nonsense(f"{head.content_type} in place of {kind}", shown)
            case 401 | 403:
                raise EngineError(
                    "server-refuses",
                    f"{self.place} refuses the key{because}.",
                    f"key_file of {setting(self._section, 'server')} names the file with it.",
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
                shown = b"" if head.content_type == JSON else body
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
        key = setting(self._section, self._model_key)
        return EngineError(
            "server-other-model",
            f"{self.place} does not serve {self._model!r}: {has}.",
            f"Put the name that the server has for it into {key}.",
        )

    def _key(self) -> str:
        where = f"key_file of {setting(self._section, 'server')}"
        try:
            # It goes into a header, which holds ASCII.
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
                f"ca_file of {setting(self._section, 'server')}: {self._ca_file}: "
                f"{error.strerror or error}.",
                "Give a file with certificates in PEM.",
            ) from error


def _said_in(body: bytes) -> str:
    """Return a server's own words of an error in JSON, "" if there are none."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return words_of(value.get("error") or value.get("detail")) if isinstance(value, dict) else ""


def words_of(error: object) -> str:
    """Return what a server says of an error, its first words; "" if it says nothing."""
    said = error.get("message") if isinstance(error, dict) else error
    return " ".join(said.split())[:MOST_SAID].rstrip(".") if isinstance(said, str) else ""

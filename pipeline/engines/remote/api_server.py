"""A server with OpenAI's interface: its address, key, models and errors."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import orjson
import structlog

from pipeline.core.errors import EngineCancelledError, EngineError, ModelError
from pipeline.engines.protocols import never
from pipeline.engines.remote.http_call import LOOK_S, Check, Head, HttpCall
from pipeline.engines.specification import setting

log = structlog.get_logger()

T = TypeVar("T")

STREAM: Final = "text/event-stream"
JSON: Final = "application/json"
MOST_SAID = 200
_WAITS_S = (0.1, 0.3, 1.0)
"""Waits before the retries of a transient error."""
# A late answer is not among them: there is no time left for a retry.
_MAY_PASS = {"server-gone", "server-busy", "server-failed"}
_FIRST_LOOK_S = 3.0
"""The longest wait for the server's answer at the start."""
_KEY_FIX = "Write the server's key into a file that the program can read, on one line."


class ApiServer:
    """A server and the models on it. For one thread; at most one request is open at a time.

    `url` has the usual form, "https://gpu.example.org:8000/v1"; without a path, /v1 is added.
    `key_file` holds the server's key, `ca_file` the certificates of the authorities to trust.
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
        """Host and port, for display."""
        # Without a user name and a password, which may come before the host.
        return self._base.netloc.rpartition("@")[2]

    @property
    def is_open(self) -> bool:
        """Whether requests go over a network unencrypted."""
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
        """Return the names of the server's models; [] if it does not list them.

        `until_s` is monotonic; `check` is called while waiting. Raises EngineError.
        """
        with closing(self._call("models", until_s)) as call:
            head, body = self._whole(call, check)
            # A server that does not list its models may still have the wanted one.
            if head.status in {404, 405, 501}:
                return []
            self._expect(head, body, JSON)
            listed = self._object(body).get("data")
            if not isinstance(listed, list):
                raise self._nonsense("a list of models that is none")
            return [str(each.get("id", "")) for each in listed if isinstance(each, dict)]

    def check_model(self, *, until_s: float, check: Check) -> None:
        """Check that the server answers and has the model. Raises EngineError.

        Asked for a model that they lack, llama_cpp.server and others answer with the one they have.
        """
        served = self.models(until_s=until_s, check=check)
        if served and self._model not in served:
            raise self._other_model(", ".join(served)[:MOST_SAID])

    def _call(
        self,
        path: str,
        until_s: float,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpCall:
        """Return a request that has begun; `headers` are added to those of every request."""
        every = {**self._headers, **(headers or {})}
        return HttpCall(self._base, path, headers=every, until_s=until_s, body=body, tls=self._tls)

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
        # Each line keeps its line end, so only the end of the body reads as empty.
        return b"".join(iter(lambda: call.line(check) or b"", b""))

    def _expect(self, head: Head, body: bytes, kind: str) -> None:
        """Raise EngineError unless the answer has status 200 and this content type."""
        said = _said_in(body) if head.content_type == JSON else ""
        because = f": {said}" if said else ""
        match head.status:
            case 200:
                if head.content_type != kind:
                    # JSON may contain words of the service: quote only other content types.
                    shown = b"" if head.content_type == JSON else body
                    raise self._nonsense(f"{head.content_type} in place of {kind}", shown)
            case 401 | 403:
                raise EngineError(
                    "server-refuses",
                    f"{self.place} refuses the key{because}.",
                    f"key_file of {setting(self._section, 'server')} names the file with it.",
                )
            # Without an error text, any web server may have answered.
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
            # The key goes into a header, which holds ASCII.
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
            # With a file, trust only its certificates; without one, those of the system.
            return ssl.create_default_context(cafile=self._ca_file or None)
        except (OSError, ssl.SSLError) as error:
            raise ModelError(
                "certificate-unreadable",
                f"ca_file of {setting(self._section, 'server')}: {self._ca_file}: "
                f"{error.strerror or error}.",
                "Give a file with certificates in PEM.",
            ) from error


def _said_in(body: bytes) -> str:
    """Return the server's own error text from JSON, "" if there is none."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return words_of(value.get("error") or value.get("detail")) if isinstance(value, dict) else ""


def words_of(error: object) -> str:
    """Return the beginning of a server's error text, "" if there is none."""
    said = error.get("message") if isinstance(error, dict) else error
    return " ".join(said.split())[:MOST_SAID].rstrip(".") if isinstance(said, str) else ""


class RemoteEngine:
    """An engine on `server`, with its checks, retries and reasons. One request at a time."""

    kernels = ""
    gpu_layers = 0

    def __init__(self, server: ApiServer, deadline_s: float) -> None:
        self.server = server
        self.deadline_s = deadline_s
        self.is_cancelled: Callable[[], bool] = never
        self.degraded_reason = ""
        self._is_known = False

    def open(self) -> None:
        """Read what requests to the server need. Raises ModelError, ConfigError."""
        self.server.open()

    def load(self) -> None:
        """Open, and check whether the server answers; a missing server may come later.

        Raises ModelError, ConfigError.
        """
        self.open()
        try:
            self.server.check_model(until_s=time.monotonic() + _FIRST_LOOK_S, check=lambda: None)
        except EngineError as error:
            self._note(error)
        else:
            self._is_known = True

    def _ask(self, attempt: Callable[[], T]) -> T:
        """Return the result of an attempt. Note an EngineError for the operator and raise it."""
        try:
            made = attempt()
        except EngineCancelledError:  # it says nothing about the server
            raise
        except EngineError as error:
            self._is_known = False  # the server may return with another model
            self._note(error)
            raise
        if self.degraded_reason:
            log.info("server is back", server=self.server.place)
            self.degraded_reason = ""
        return made

    def _patiently(self, attempt: Callable[[], T], until_s: float) -> T:
        """Return the result of an attempt; retry transient errors while there is time."""
        for wait_s in _WAITS_S:
            try:
                # Inside the try: a failed check of the server may be transient too.
                self._know(until_s)
                return attempt()
            except EngineError as error:
                # A wait beyond the deadline would only make the same error late.
                if error.code not in _MAY_PASS or time.monotonic() + wait_s >= until_s:
                    raise
                log.debug("server is asked again", error=str(error), wait_s=wait_s)
                self._wait(wait_s)
        self._know(until_s)
        return attempt()

    def _know(self, until_s: float) -> None:
        """Check that the server has the model, unless that is known."""
        if not self._is_known:
            self.server.check_model(until_s=until_s, check=self._check)
            self._is_known = True

    def _check(self) -> None:
        if self.is_cancelled():
            raise EngineCancelledError("engine-cancelled", "The result is not wanted.")

    def _wait(self, wait_s: float) -> None:
        until_s = time.monotonic() + wait_s
        while time.monotonic() < until_s:
            self._check()
            # In short pieces: a cancellation must not wait for the retry.
            time.sleep(LOOK_S)

    def _note(self, error: EngineError) -> None:
        """Store why the server is not used; log a new reason."""
        if error.message != self.degraded_reason:
            log.warning("server is not used", reason=error.message, code=error.code, fix=error.fix)
        self.degraded_reason = error.message

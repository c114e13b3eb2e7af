"""One HTTP request in a thread of its own, so that its caller never waits longer than it wants.

Neither the look-up of a name nor a read that waits can be ended from outside; a thread can be left
behind. The standard library's client is used: it is always there. (httpx comes with
huggingface_hub, which has changed to httpx2 between two of its versions.)
"""

from __future__ import annotations

import http.client
import queue
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult

from pipeline.core.errors import EngineError
from pipeline.core.threads import Thread, described

LOOK_S = 0.02
"""How often the caller is asked whether it still wants the answer."""

_CONNECT_S = 3.0
"""A server that has not taken the connection by then is not there."""
_PIECE = 65_536
_LONGEST_LINE = 262_144
_MOST_BYTES = 4_000_000
"""An answer to one sentence is a thousandth of it; more is no answer."""

Check = Callable[[], None]
"""Called while waiting; raises where the answer is not wanted any more."""


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer."""

    status: int
    content_type: str


_Said = Head | bytes | None | OSError | http.client.HTTPException
"""None: the answer is whole."""


class HttpCall:
    """A request under way. Close it, whole or not; what is not read by then is dropped."""

    def __init__(
        self,
        base: SplitResult,
        path: str,
        *,
        headers: Mapping[str, str],
        until_s: float,
        body: bytes | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Start it. `until_s` is monotonic; `body` makes it a POST; `tls` is for https."""
        self._base = base
        self._path = path
        # A kept connection that the server has closed meanwhile would cost the retry.
        self._headers = {**headers, "Connection": "close"}
        self._body = body
        self._until_s = until_s
        self._tls = tls
        # Without a limit: a thread could wait for ever for a reader that has gone. An answer is
        # limited itself (`_MOST_BYTES`).
        self._said: queue.SimpleQueue[_Said] = queue.SimpleQueue()
        self._is_closed = False
        self._socket: socket.socket | None = None
        # Without a name and a password: it is part of messages.
        self._where = base.netloc.rpartition("@")[2]
        # Last: the thread reads all that is set above.
        Thread(self._run, "http call", failed=self._broke).start()

    def head(self, check: Check) -> Head:
        """Wait for the beginning of the answer. Raises EngineError, and what `check` raises."""
        said = self._next(check)
        if not isinstance(said, Head):
            raise EngineError("server-gone", f"{self._where} ended before it answered.")
        return said

    def line(self, check: Check) -> bytes | None:
        """Wait for a line, with its end; None after the last. Raises as `head` does."""
        said = self._next(check)
        return said if isinstance(said, bytes) else None

    def close(self) -> None:
        """End it, whatever it is at: a server that still writes notices, and stops."""
        # In this order: the other thread sets the socket first and looks for this flag second.
        self._is_closed = True
        # A read in the other thread returns at once; closing the file under it would not do that.
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _next(self, check: Check) -> Head | bytes | None:
        while True:
            # First: who does not want the answer must not get another line.
            check()
            left_s = self._until_s - time.monotonic()
            if left_s <= 0:
                raise EngineError("server-late", f"{self._where} did not answer in time.")
            try:
                said = self._said.get(timeout=min(left_s, LOOK_S))
            except queue.Empty:
                continue
            if isinstance(said, OSError | http.client.HTTPException):
                raise _refusal(self._where, said) from said
            return said

    def _broke(self, error: BaseException) -> None:
        """Hand an error that nobody expected to whoever waits for the answer."""
        self._said.put(http.client.HTTPException(described(error)))

    def _run(self) -> None:
        try:
            connection = self._connect()
            # Kept here: the connection drops it with the head of an answer that is the last one.
            self._socket = connection.sock
            try:
                # Who gave up while it connected does not want a model to begin.
                if not self._is_closed:
                    self._exchange(connection)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            self._said.put(error)
        except ValueError as error:  # a header or a path that HTTP cannot carry
            self._said.put(http.client.HTTPException(str(error)))

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._base.hostname or "", self._base.port
        patience_s = max(LOOK_S, min(_CONNECT_S, self._until_s - time.monotonic()))
        if self._tls is None:
            connection = http.client.HTTPConnection(host, port, timeout=patience_s)
        else:
            connection = http.client.HTTPSConnection(
                host, port, timeout=patience_s, context=self._tls
            )
        # Here and not by the request, which knows no time limit for connecting alone.
        connection.connect()
        return connection

    def _exchange(self, connection: http.client.HTTPConnection) -> None:
        # The caller has given up by then: this only ends the thread.
        connection.sock.settimeout(max(1.0, self._until_s - time.monotonic() + 1.0))
        method = "GET" if self._body is None else "POST"
        path = f"{self._base.path.rstrip('/')}/{self._path}"
        connection.request(method, path, body=self._body, headers=self._headers)
        # Closed here: the connection has given the socket to an answer that is the last one.
        with connection.getresponse() as response:
            # In small letters, and without what may follow it, such as the charset.
            kind = response.headers.get_content_type()
            self._said.put(Head(response.status, kind))
            for line in self._lines(response):
                self._said.put(line)
            self._said.put(None)

    def _lines(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Yield an answer's lines with their ends; the last may have none."""
        # Not `readline`: of a chunked answer that breaks off it makes one that is whole.
        rest, read = b"", 0
        # read1: `read` would hold words back until the whole piece is there.
        while not self._is_closed and (piece := response.read1(_PIECE)):
            read += len(piece)
            *lines, rest = (rest + piece).split(b"\n")
            if read > _MOST_BYTES or len(rest) > _LONGEST_LINE:
                msg = "it answers without end"
                raise http.client.HTTPException(msg)
            yield from (line + b"\n" for line in lines)
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        if rest:
            yield rest


def _refusal(where: str, error: OSError | http.client.HTTPException) -> EngineError:
    """Return what went wrong, as people say it."""
    code, fix = "server-gone", ""
    # The order matters: each is a kind of one that stands below it.
    match error:
        case http.client.IncompleteRead() | http.client.RemoteDisconnected() | ssl.SSLEOFError():
            said = f"{where} broke off."
        case ssl.SSLCertVerificationError():
            code = "server-untrusted"
            said = f"{where} has a certificate that is not trusted: {error.verify_message}."
            fix = "Name the certificate of who signed it in ca_file."
        case ssl.SSLError():
            code = "server-untrusted"
            said = f"{where} cannot be spoken to over TLS: {error.reason or error}."
            fix = "Is it http and not https?"
        case socket.gaierror():
            said = f"{where}: there is no machine of that name."
        case ConnectionRefusedError():
            said = f"{where}: nothing listens there."
        case TimeoutError():
            said = f"{where} does not answer."
        case OSError():
            said = f"{where}: {error.strerror or error}."
        case _:
            code = "server-nonsense"
            what = str(error)[:100] or type(error).__name__
            said = f"{where} does not speak HTTP as it should: {what}."
    return EngineError(code, said, fix)

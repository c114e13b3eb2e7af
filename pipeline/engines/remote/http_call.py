"""One HTTP request in its own thread, so that its caller never waits longer than it wants.

A DNS look-up or a blocked read cannot be interrupted from outside, but a thread can be abandoned.
This uses the standard library's client, which is always installed. (httpx comes with
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
"""Seconds between two checks whether the caller still wants the answer."""

_CONNECT_S = 3.0
"""A server that has not accepted the connection by then counts as missing."""
_PIECE = 65_536
_LONGEST_LINE = 262_144
_MOST_BYTES = 4_000_000
"""An answer to one sentence is a thousandth of this; more is no valid answer."""

Check = Callable[[], None]
"""Called while waiting; raises if the answer is no longer wanted."""


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer."""

    status: int
    content_type: str


_Said = Head | bytes | None | OSError | http.client.HTTPException
"""None: the answer is complete."""


class HttpCall:
    """A running request. Close it, complete or not; unread lines are dropped."""

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
        """Start the request. `until_s` is monotonic; `body` makes it a POST; `tls` is for https."""
        self._base = base
        self._path = path
        # No keep-alive: a connection that the server has closed meanwhile would cost the retry.
        self._headers = {**headers, "Connection": "close"}
        self._body = body
        self._until_s = until_s
        self._tls = tls
        # Unbounded, so that the thread never waits for a reader that is gone. The answer itself is
        # limited (`_MOST_BYTES`).
        self._said: queue.SimpleQueue[_Said] = queue.SimpleQueue()
        self._is_closed = False
        self._socket: socket.socket | None = None
        # Without a user name and a password, since it appears in messages.
        self._where = base.netloc.rpartition("@")[2]
        # Last: the thread reads the attributes above.
        Thread(self._run, "http call", failed=self._broke).start()

    def head(self, check: Check) -> Head:
        """Wait for the beginning of the answer. Raises EngineError, and what `check` raises."""
        said = self._next(check)
        if not isinstance(said, Head):
            raise EngineError("server-gone", f"{self._where} ended before it answered.")
        return said

    def line(self, check: Check) -> bytes | None:
        """Wait for a line, with its line end; None after the last. Raises as `head` does."""
        said = self._next(check)
        return said if isinstance(said, bytes) else None

    def close(self) -> None:
        """End the request in any state: a server that is still writing notices this and stops."""
        # In this order: the other thread sets the socket first and then checks this flag.
        self._is_closed = True
        # After `shutdown` a read in the other thread returns at once; after `close` it would not.
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _next(self, check: Check) -> Head | bytes | None:
        while True:
            # First: a caller that no longer wants the answer must not get another line.
            check()
            left_s = self._until_s - time.monotonic()
            if left_s <= 0:
                raise EngineError("server-late", f"{self._where} did not answer in time.")
            try:
                message = self._said.get(timeout=min(left_s, LOOK_S))
            except queue.Empty:
                continue
            if isinstance(message, OSError | http.client.HTTPException):
                raise _refusal(self._where, message) from message
            return message

    def _broke(self, error: BaseException) -> None:
        """Pass an unexpected error to the waiting caller."""
        self._said.put(http.client.HTTPException(described(error)))

    def _run(self) -> None:
        try:
            connection = self._connect()
            # Keep the socket: the connection drops it after the head of its last answer.
            self._socket = connection.sock
            try:
                # If the caller gave up during the connect, no model must start.
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
        # Connect here: `request` has no separate timeout for connecting.
        connection.connect()
        return connection

    def _exchange(self, connection: http.client.HTTPConnection) -> None:
        # The caller gives up before this timeout: it only ends the thread.
        connection.sock.settimeout(max(1.0, self._until_s - time.monotonic() + 1.0))
        method = "GET" if self._body is None else "POST"
        path = f"{self._base.path.rstrip('/')}/{self._path}"
        connection.request(method, path, body=self._body, headers=self._headers)
        # Close the response here: the connection has handed it the socket for its last answer.
        with connection.getresponse() as response:
            # In lower case and without parameters such as the charset.
            kind = response.headers.get_content_type()
            self._said.put(Head(response.status, kind))
            for line in self._lines(response):
                self._said.put(line)
            self._said.put(None)

    def _lines(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        """Yield an answer's lines with their line ends; the last may have none."""
        # Not `readline`: it makes a chunked answer that breaks off look complete.
        rest, read = b"", 0
        # read1: `read` would hold back words until the whole piece has arrived.
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
    """Return an EngineError that describes the failure for people."""
    code, fix = "server-gone", ""
    # The order matters: an exception class comes before its base classes.
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

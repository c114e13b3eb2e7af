"""A web server that keeps what it is sent, and answers as it is told."""

from __future__ import annotations

import http.server
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that came."""

    method: str
    path: str
    body: bytes


class WebRecorder:
    """A context manager; `status` is what it answers with from now on."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.status = 200
        self._may_answer = threading.Event()
        self._may_answer.set()
        self.hanging = 0
        """Requests that have come since `hold`; 0 while all are answered."""
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                recorder.sent.append(Sent(self.command, self.path, body))
                recorder.hanging += not recorder._may_answer.is_set()
                recorder._may_answer.wait()
                self.send_response(recorder.status)
                self.end_headers()

            do_GET = do_POST = _answer  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def hold(self) -> None:
        """Answer nothing any more: what comes hangs, until `go_on`."""
        self._may_answer.clear()

    def go_on(self) -> None:
        """Answer what hangs, and what comes."""
        self.hanging = 0
        self._may_answer.set()

    @property
    def titles(self) -> list[str]:
        """The texts that a vMix title was given."""
        queries = (
            parse_qs(urlsplit(each.path).query, keep_blank_values=True) for each in self.sent
        )
        return [query["Value"][0] for query in queries]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.go_on()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

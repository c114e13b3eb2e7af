"""A web server that records the requests it gets, with answers that the test sets."""

from __future__ import annotations

import http.server
import threading
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Sent:
    """A received request."""

    method: str
    path: str
    body: bytes


class WebRecorder:
    """A context manager; `status` is the status of its answers from now on."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.status = 200
        self.fails_once = False
        """Whether it performs the next request and still answers with a failure."""
        self._may_answer = threading.Event()
        self._may_answer.set()
        self.hanging = 0
        """The number of requests since `hold`; 0 while all are answered."""
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                sent = Sent(self.command, self.path, body)
                recorder.sent.append(sent)
                recorder.hanging += not recorder._may_answer.is_set()
                recorder._may_answer.wait()
                answer = recorder.reply(sent)
                self.send_response(500 if recorder.fails_once else recorder.status)
                recorder.fails_once = False
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = _answer  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def reply(self, request: Sent) -> bytes:  # noqa: ARG002 - for subclasses
        """Return the answer to a request."""
        return b""

    def hold(self) -> None:
        """Answer nothing: requests hang until `go_on`."""
        self._may_answer.clear()

    def go_on(self) -> None:
        """Answer the hanging requests and all further ones."""
        self.hanging = 0
        self._may_answer.set()

    @property
    def titles(self) -> list[str]:
        """The texts that a vMix title received."""
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

    def __exit__(self, *_: object) -> None:
        self.go_on()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

"""A web server that keeps what it is sent, and answers as it is told."""

from __future__ import annotations

import http.server
import threading
from dataclasses import dataclass
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
        self.fails_once = False
        """It does what it is asked to, once, and answers that it could not."""
        self._may_answer = threading.Event()
        self._may_answer.set()
        self.hanging = 0
        """Requests that have come since `hold`; 0 while all are answered."""
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

    def reply(self, request: Sent) -> bytes:  # noqa: ARG002 - for programs that answer something
        """Return what is answered to a request."""
        return b""

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

    def __exit__(self, *_: object) -> None:
        self.go_on()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

"""A local model hub: the part of the API that a pull uses, over real sockets, with faults.

It redirects large files to a second server, as the real hub does with its storage. A token must
not be sent there.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import orjson

from tests.support.programs import answering

COMMIT = "89abcdef0123456789abcdef0123456789abcdef"
_LARGE = (".bin", ".gguf", ".spm")
_PIECE = 64 * 1024
_HELD_S = 300.0


@dataclass(frozen=True)
class Request:
    """A request that came. `server` is "hub" or "storage"."""

    server: str
    path: str
    range: str
    token: str


@dataclass
class Fault:
    """A fault for file names that end in `file`."""

    file: str = ""
    status: int = 0
    code: str = ""
    """The hub's X-Error-Code."""
    message: str = ""
    api: bool = True
    """Whether the request for the list of the repository's files fails as well."""
    cut_after: int = -1
    """Bytes of an answer after which the connection is closed, `cuts` times."""
    cuts: int = 0
    flip: bool = False
    """One byte arrives changed."""
    no_ranges: bool = False
    page: bool = False
    """A login page instead of any answer."""
    short: bool = False
    """The answer ends early, but its headers say that it is complete."""
    pause_s: float = 0.0
    """Between pieces of an answer."""
    held: threading.Event | None = None
    """The pieces after the first one wait for it."""


@dataclass
class Hub:
    """The hub's content, the requests it got, and its faults."""

    repositories: dict[str, dict[str, bytes]]
    commits: tuple[str, ...] = (COMMIT, "main")
    fault: Fault = field(default_factory=Fault)
    requests: list[Request] = field(default_factory=list)
    endpoint: str = ""
    storage: str = ""

    def asked(self, ending: str) -> list[Request]:
        """Return the requests that came for a file's content."""
        return [r for r in self.requests if r.path.endswith(ending) and "/api/" not in r.path]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub
    server_name = ""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(
            Request(
                self.server_name,
                path,
                self.headers.get("Range", ""),
                self.headers.get("Authorization", ""),
            )
        )
        if self.hub.fault.page:
            self._send(200, b"<html>Please log in to our guest network</html>", {})
        elif path.startswith("/api/models/"):
            self._describe(path.removeprefix("/api/models/"))
        elif self.server_name == "storage":
            self._stored(path)
        elif "/resolve/" in path:
            self._resolve(path.strip("/"))
        else:  # huggingface_hub requests other paths too, such as /api/agent-harnesses
            self._refuse(404, "", "no such page")

    def _describe(self, rest: str) -> None:
        repository, _, revision = rest.partition("/revision/")
        fault = self.hub.fault
        if fault.status and fault.api:
            self._refuse(fault.status, fault.code, fault.message)
            return
        files = self.hub.repositories.get(repository)
        if files is None:
            self._refuse(404, "RepoNotFound", "Repository not found")
            return
        if revision and revision not in self.hub.commits:
            self._refuse(404, "RevisionNotFound", "Invalid rev id")
            return
        about = {
            "id": repository,
            "sha": COMMIT,
            "cardData": {"license": "apache-2.0"},
            "siblings": [self._sibling(path, data) for path, data in files.items()],
        }
        self._send(200, orjson.dumps(about), {"Content-Type": "application/json"})

    def _sibling(self, path: str, data: bytes) -> dict[str, object]:
        blob = hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()
        lfs = {"sha256": sha256(data), "size": len(data), "pointerSize": 134}
        about: dict[str, object] = {"rfilename": path, "size": len(data), "blobId": blob}
        return about | ({"lfs": lfs} if path.endswith(_LARGE) else {})

    def _resolve(self, path: str) -> None:
        owner, name, _, revision, *rest = path.split("/")
        file, fault = "/".join(rest), self.hub.fault
        if fault.status and file.endswith(fault.file):
            self._refuse(fault.status, fault.code, fault.message)
            return
        data = self.hub.repositories.get(f"{owner}/{name}", {}).get(file)
        if data is None or revision not in self.hub.commits:
            self._refuse(404, "EntryNotFound", "Entry not found")
        elif file.endswith(_LARGE):
            where = f"{self.hub.storage}/{sha256(data)}/{file}"
            self._send(302, b"", {"Location": where, "X-Repo-Commit": COMMIT})
        else:
            self._content(file, data)

    def _stored(self, path: str) -> None:
        for files in self.hub.repositories.values():
            for file, data in files.items():
                if path == f"/{sha256(data)}/{file}":
                    self._content(file, data)
                    return
        self._refuse(404, "", "no such object")

    def _content(self, file: str, data: bytes) -> None:
        fault = self.hub.fault if file.endswith(self.hub.fault.file) else Fault()
        start, status, headers = 0, 200, {"ETag": f'"{sha256(data)}"'}
        if (asked := self.headers.get("Range")) and not fault.no_ranges:
            start, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        if fault.flip:
            data = data[:-1] + bytes([data[-1] ^ 0xFF])
        part = data[start:]
        if fault.short:
            part = part[: len(part) // 2]
        self._send(status, part, headers, fault)

    def _refuse(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
        self._send(status, orjson.dumps({"error": message}), headers)

    def _send(
        self, status: int, body: bytes, headers: dict[str, str], fault: Fault | None = None
    ) -> None:
        self.send_response(status)
        # Close each time, so that no thread waits for a client that keeps its connection open.
        always = {"Content-Length": str(len(body)), "Connection": "close"}
        for name, value in (headers | always).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        sent = 0
        while sent < len(body):
            if fault and fault.cuts and sent >= fault.cut_after >= 0:
                fault.cuts -= 1
                self.close_connection = True
                return
            self.wfile.write(body[sent : sent + _PIECE])
            sent += _PIECE
            if fault and fault.held:
                fault.held.wait(_HELD_S)
            if fault and fault.pause_s:
                time.sleep(fault.pause_s)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # otherwise the client has left
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextlib.contextmanager
def hub_here(repositories: dict[str, dict[str, bytes]]) -> Iterator[Hub]:
    """Run a hub with these repositories of files."""
    hub = Hub(repositories)
    with contextlib.ExitStack() as stack:
        names = ("storage", "hub")
        handlers = (type("Handler", (_Handler,), {"hub": hub, "server_name": n}) for n in names)
        hub.storage, hub.endpoint = (
            stack.enter_context(answering(_Server(("127.0.0.1", 0), each))) for each in handlers
        )
        yield hub

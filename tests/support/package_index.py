"""A local package index for the real pip: wheels over the simple protocol, with faults."""

from __future__ import annotations

import contextlib
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.programs import answering

PAGE = b"<html><body>Please log in to our guest network</body></html>"
_PIECE = 64 * 1024


@dataclass
class IndexFault:
    """A fault. `page`: a login page in place of the requested file."""

    page: bool = False
    page_for_wheels: bool = False
    status: int = 0
    cut_after: int = -1
    """Bytes of a wheel after which the connection is closed, `cuts` times."""
    cuts: int = 0
    pause_s: float = 0.0
    """Between pieces of a wheel."""


@dataclass
class Index:
    """The index's content by file name, the requests it got, and its faults."""

    wheels: dict[str, bytes] = field(default_factory=dict)
    fault: IndexFault = field(default_factory=IndexFault)
    requests: list[str] = field(default_factory=list)
    url: str = ""
    closing: threading.Event = field(default_factory=threading.Event)

    def add(self, name: str, content: Mapping[str, bytes], version: str = "1.0.0") -> bytes:
        """Offer a wheel with these files; return its bytes."""
        module = name.replace("-", "_")
        self.wheels[f"{module}-{version}-py3-none-any.whl"] = made = wheel(module, content, version)
        return made

    def asked(self, name: str) -> int:
        """Return how often the wheel itself was requested."""
        return sum(path.endswith(".whl") and name in path for path in self.requests)


def wheel(module: str, content: Mapping[str, bytes], version: str = "1.0.0") -> bytes:
    """Return a wheel of data files that `pip` accepts."""
    about = f"{module}-{version}.dist-info"
    about_text = f"Metadata-Version: 2.1\nName: {module}\nVersion: {version}\n"
    files = {
        **content,
        f"{about}/METADATA": about_text.encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
    with io.BytesIO() as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, data in {**files, f"{about}/RECORD": record.encode()}.items():
                archive.writestr(path, data)
        return out.getvalue()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    index: Index

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        index, name = self.index, self.path.strip("/").rpartition("/")[2]
        index.requests.append(self.path)
        if index.fault.status:
            self._send(index.fault.status, b"trouble", "text/plain")
        elif index.fault.page or (index.fault.page_for_wheels and name in index.wheels):
            self._send(200, PAGE, "text/html")
        elif name in index.wheels:
            self._send(200, index.wheels[name], "application/octet-stream")
        elif files := [f for f in index.wheels if f.startswith(f"{name.replace('-', '_')}-")]:
            links = "".join(f'<a href="/files/{f}">{f}</a>' for f in files)
            self._send(
                200, f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html"
            )
        else:
            self._send(404, b"not here", "text/plain")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        fault = self.index.fault if kind == "application/octet-stream" else IndexFault()
        with contextlib.suppress(ConnectionError):  # pip was killed
            for start in range(0, len(body), _PIECE):
                if fault.cuts and start >= fault.cut_after >= 0:
                    fault.cuts -= 1
                    self.close_connection = True
                    return
                self.wfile.write(body[start : start + _PIECE])
                self.index.closing.wait(fault.pause_s)


@contextlib.contextmanager
def index_here() -> Iterator[Index]:
    """Run an index."""
    index = Index()
    handler = type("Handler", (_Handler,), {"index": index})
    with answering(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as address:
        index.url = f"{address}/simple/"
        try:
            yield index
        finally:
            index.closing.set()


def pip_asks_only(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Make pip use this index only, whatever the machine's settings are."""
    for name in ("EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX", "CERT", "PROXY", "DEFAULT_TIMEOUT"):
        monkeypatch.delenv(f"PIP_{name}", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", url)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def entry(
    name: str, content: Mapping[str, bytes], wheels: Mapping[str, Mapping[str, str]], more: str = ""
) -> str:
    """Return the registry's entry for a model whose files come from these wheels."""
    files = "".join(
        f'  {{ path = "{path}", size_bytes = {len(data)}, sha256 = "{sha256(data)}" }},\n'
        for path, data in content.items()
    )
    lines = f'[[models]]\nname = "{name}"\nrole = "stt"\n{more}files = [\n{files}]\n'
    for wheel_name, parts in wheels.items():
        held = "".join(f'"{part}" = "{path}"\n' for part, path in parts.items())
        lines += (
            f'[[models.wheels]]\nname = "{wheel_name}"\nversion = "1.0.0"\nsize_bytes = 600_000\n'
        )
        lines += f"[models.wheels.parts]\n{held}"
    return lines


def registry(folder: Path, text: str) -> None:
    """Write a registry.toml for the test."""
    (folder / "registry.toml").write_text(text)

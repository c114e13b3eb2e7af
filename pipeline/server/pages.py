"""Serve the display pages from memory.

The folder is read once, at the start. A request's path is looked up in that list unchanged: it
is never decoded, joined to a folder or opened, so no path can leave the folder.

A page's ES modules are sent as one file. A browser fetches six files at a time, and the server
closes the connection after each, so on a slow phone a page of twelve modules would show its first
caption almost half a second later. Each module becomes a function that returns what it exports.
Only the syntax of our modules is supported: `import { a, b as c } from "./x.js";` at the start of a
line, `import("./x.js")` for what is fetched later, and `export` before a function, class or const.
A module's name is its path below `displays/js` without `.js`, such as `shared/captions`.
"""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import cache
from http import HTTPStatus
from pathlib import Path

import orjson
import structlog
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from pipeline.config.schema import Church
from pipeline.core.errors import ServerError
from pipeline.core.languages import for_pages
from pipeline.core.resources import bundled
from pipeline.server.branding import LOGO, STYLE, Branding, branding_at_start

log = structlog.get_logger()

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".mp4": "video/mp4",
}
_CHURCH = b"<!--church-->"
"""Where a page shows the church's name and logo."""
_OTHER_NAMES = {
    "/audience": "/",
    "/captions": "/",
    "/index": "/",
    "/phone": "/",
    "/wall": "/projector",
    "/overlay": "/obs",
    "/console": "/operator",
    "/desk": "/operator",
    "/poster": "/join",
    "/help": "/missing",
}
"""Paths that people type, in small letters, and the page that they mean."""
_LANGUAGES = Path("js", "shared", "languages.js")
# The other types are compressed already.
_COMPRESSED = frozenset({".html", ".js", ".css", ".svg", ".webmanifest"})
SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "font-src 'self'; media-src 'self' blob:; manifest-src 'self'; "
        # For older iPhones a socket of the same host is not 'self'.
        "connect-src 'self' ws: wss:; "
        # The demo's page shows three of our pages in frames; pages of other sites cannot.
        "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}
"""Headers of every response: nothing inline, nothing from or to other sites, no foreign frame."""
INLINE = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
    )
}
"""Header for content with inline style and no script: a logo, and the certificate page."""


@dataclass(frozen=True, slots=True)
class Page:
    """One file, ready to send. `packed` is its gzip form, None if that is no smaller."""

    content_type: str
    body: bytes
    packed: bytes | None
    etag: str
    has_style: bool = False
    """Whether its style is inline, which the policy of other pages forbids."""


def respond(
    status: HTTPStatus, body: bytes, content_type: str, extra: dict[str, str] | None = None
) -> Response:
    """Build a response with the security headers. The connection closes after it."""
    headers = {
        "Date": formatdate(usegmt=True),
        # The library closes after each response; this tells the browser not to reuse the line.
        "Connection": "close",
        "Content-Type": content_type,
        "Content-Length": str(len(body)),
        # Unless `extra` replaces it: a cached health or list would be wrong.
        "Cache-Control": "no-store",
        **SECURITY,
        **(extra or {}),
    }
    return Response(status.value, status.phrase, Headers(headers), body)


def revalidated(
    request: Request, etag: str, body: bytes, content_type: str, extra: dict[str, str]
) -> Response:
    """Build a response that caches keep and revalidate each time; 304 if they have it."""
    extra = {"ETag": f'"{etag}"', "Cache-Control": "no-cache", **extra}
    if extra["ETag"] not in items_of(request, "If-None-Match"):
        return respond(HTTPStatus.OK, body, content_type, extra)
    extra.pop("Content-Encoding", None)
    response = respond(HTTPStatus.NOT_MODIFIED, b"", content_type, extra)
    del response.headers["Content-Length"]  # it would have to be the body's length
    return response


def refuse(status: HTTPStatus, message: str, extra: dict[str, str] | None = None) -> Response:
    """Build a response of one plain sentence."""
    return respond(status, f"{message}\n".encode(), "text/plain; charset=utf-8", extra)


class Pages:
    """The files of `displays/`: `audience.html` as `/`, `x.html` as `/x`, others by their path."""

    def __init__(self, folder: Path, church: Branding | None = None) -> None:
        """Read the folder; the pages show the name, logo and colour that `church` has.

        Raises ServerError (`pages-missing`).
        """
        try:
            files = {
                file.relative_to(folder): file.read_bytes()
                for file in sorted(folder.rglob("*"))
                # Known types only: any other file in the folder is never sent.
                if file.suffix in _TYPES and file.is_file()
            }
        except OSError as problem:
            raise ServerError("pages-missing", f"A page cannot be read: {problem}.") from None
        files[_LANGUAGES] = languages_script()
        # They replace the modules: pages request the same address, joined or not.
        files |= _joined(files)
        if church:
            files |= _branded(files, church)
        self._pages = {_route(path): _page(path.suffix, body) for path, body in files.items()}
        if church and church.logo:
            # An SVG has inline styles, which the policy of our pages would forbid.
            etag = hashlib.sha256(church.logo).hexdigest()[:16]
            self._pages[LOGO] = Page(church.logo_type, church.logo, None, etag, has_style=True)
        if "/" not in self._pages:
            message = f"{folder}/audience.html is missing."
            raise ServerError("pages-missing", message, "Install the program again.")

    def answer(self, request: Request) -> Response:
        """Answer a GET or HEAD request for a page."""
        page = self._pages.get(request.path.partition("?")[0])
        if page is None:
            return self._missing(request)
        return self._send(page, request)

    def _missing(self, request: Request) -> Response:
        """Redirect to the page that was meant, else answer 404 (to browsers, all pages)."""
        path, _, query = request.path.partition("?")
        meant = re.sub("/+", "/", path.lower()).rstrip("/").removesuffix(".html")
        meant = _OTHER_NAMES.get(meant, meant or "/")
        # Only to known pages: a request cannot make the redirect lead to another site.
        if meant in self._pages and path.startswith("/"):
            place = f"{meant}?{query}" if query else meant
            return refuse(HTTPStatus.FOUND, f"It is at {place}", {"Location": place})
        listed = self._pages.get("/missing")
        if listed is None or "text/html" not in ",".join(request.headers.get_all("Accept")):
            return refuse(HTTPStatus.NOT_FOUND, "There is no such page.")
        return respond(HTTPStatus.NOT_FOUND, listed.body, listed.content_type)

    def _send(self, page: Page, request: Request) -> Response:
        extra = {"Vary": "Accept-Encoding"} | (INLINE if page.has_style else {})
        if page.packed and _takes_gzip(request):
            # Two forms need two tags: a cache must not confuse them.
            extra["Content-Encoding"] = "gzip"
            tag = f"{page.etag}-gzip"
            return revalidated(request, tag, page.packed, page.content_type, extra)
        response = revalidated(request, page.etag, page.body, page.content_type, extra)
        # A range counts the bytes of the file itself, not of its packed form.
        wanted = _range(request, len(page.body))
        if wanted and response.status_code == HTTPStatus.OK:
            first, last = wanted
            extra |= {"Content-Range": f"bytes {first}-{last}/{len(page.body)}"}
            extra |= {"ETag": response.headers["ETag"], "Cache-Control": "no-cache"}
            part = page.body[first : last + 1]
            return respond(HTTPStatus.PARTIAL_CONTENT, part, page.content_type, extra)
        return response


@cache
def shipped_pages(church: Church | None = None) -> Pages:
    """Return the pages that ship with the program, read once. Raises ServerError."""
    return Pages(bundled("displays"), branding_at_start(church) if church else None)


def _route(path: Path) -> str:
    if path.as_posix() == "audience.html":
        return "/"
    return f"/{path.with_suffix('') if path.suffix == '.html' else path}"


def languages_script() -> bytes:
    """Return languages.toml as a module that pages import, so that no page waits for it."""
    table = orjson.dumps(for_pages()).decode()
    return f"// Made of languages.toml by the server.\nexport const LANGUAGES = {table};\n".encode()


def _joined(files: Mapping[Path, bytes]) -> dict[Path, bytes]:
    """Return each page's main script joined with the modules that it imports."""
    texts = {
        path: body.decode("utf-8", "replace")
        for path, body in files.items()
        if path.suffix in (".html", ".js")
    }
    sources = {
        path.relative_to("js").with_suffix("").as_posix(): text
        for path, text in texts.items()
        if path.parts[0] == "js" and path.suffix == ".js"
    }
    joined: dict[Path, bytes] = {}
    for path, text in texts.items():
        for name in entries(text) if path.suffix == ".html" else ():
            try:
                joined[Path("js", f"{name}.js")] = join(name, sources).encode()
            except JoinError as problem:
                # Probably a custom page. The browser fetches its modules one by one.
                log.warning("page script not joined", page=path.name, reason=str(problem))
    return joined


def _branded(files: Mapping[Path, bytes], church: Branding) -> dict[Path, bytes]:
    """Return the pages that show the church, and its style sheet."""
    link = f'<link rel="stylesheet" href="{STYLE}">\n</head>'.encode()
    shown = {
        path: body.replace(_CHURCH, church.markup.encode()).replace(b"</head>", link, 1)
        for path, body in files.items()
        if path.suffix == ".html" and _CHURCH in body
    }
    return {**shown, Path(STYLE[1:]): church.style.encode()}


def _page(suffix: str, body: bytes) -> Page:
    # mtime 0: the same file gives the same bytes.
    packed = gzip.compress(body, mtime=0) if suffix in _COMPRESSED else body
    return Page(
        content_type=_TYPES[suffix],
        body=body,
        packed=packed if len(packed) < len(body) else None,
        etag=hashlib.sha256(body).hexdigest()[:16],
        has_style=suffix == ".html" and b"<style>" in body,
    )


def items_of(request: Request, name: str) -> list[str]:
    """Return the items of a list header, weak ETags as strong ones."""
    values = ",".join(request.headers.get_all(name)).split(",")
    return [value.strip().removeprefix("W/") for value in values]


def _range(request: Request, size: int) -> tuple[int, int] | None:
    """Return the first and last byte requested: iPhones play no video without ranges.

    For anything but one valid `a-` or `a-b`, return None: then the whole file is sent, as RFC 9110
    allows.
    """
    asked = ",".join(request.headers.get_all("Range"))
    # Nine digits: no file of ours is a gigabyte, so longer numbers need no conversion.
    match = re.fullmatch(r"bytes=([0-9]{1,9})-([0-9]{0,9})", asked)
    if match is None:
        return None
    first, last = int(match[1]), min(int(match[2] or size), size - 1)
    return (first, last) if first <= last else None


def _takes_gzip(request: Request) -> bool:
    for item in items_of(request, "Accept-Encoding"):
        name, _, weight = item.replace(" ", "").partition(";q=")
        if name == "gzip":
            return not weight or weight.strip("0.") != ""  # "0.000" is a refusal
    return False


_PATH = r'"(\.\.?/[\w./]+)\.js"'
# Only at the start of a line: the word in a string or comment is not a statement.
_IMPORT = re.compile(rf"^import \{{([^}}]+)\}} from {_PATH};$", re.MULTILINE)
_LATER = re.compile(rf"\bimport\({_PATH}\)")
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import\b(?!\()|export\b).*", re.MULTILINE)


class JoinError(ValueError):
    """A module that cannot be joined; the message says which and why."""


def entries(html: str) -> list[str]:
    """Return the names of the modules that a page starts with."""
    return re.findall(r'<script type="module" src="/js/([\w/]+)\.js"', html)


def join(name: str, sources: Mapping[str, str]) -> str:
    """Return module `name`, preceded by everything that it imports. `sources` maps name to text.

    Raises JoinError.
    """
    functions: dict[str, str] = {}
    body, _ = _translate(name, sources, functions, ())
    return "".join(functions.values()) + body


def _translate(
    name: str, sources: Mapping[str, str], functions: dict[str, str], importers: tuple[str, ...]
) -> tuple[str, list[str]]:
    """Return a module's body and what it exports; put those that it imports into `functions`."""
    if name in importers:
        raise JoinError(f"{' imports '.join([*importers, name])}: a circle.")
    if name not in sources:
        raise JoinError(
            f"{importers[-1] if importers else 'A page'} imports {name}.js: no such file."
        )
    entry = importers[0] if importers else name

    def take(match: re.Match[str]) -> str:
        wanted, other = match[1], _resolve(name, match[2])
        variable = f"${other.replace('/', '$')}"
        # Only once, even if several modules import it: they share its state, as in a browser.
        if other not in functions:
            inner, exports = _translate(other, sources, functions, (*importers, name))
            functions[other] = (
                f"const {variable} = (() => {{\n{inner}\n"
                f"return {{ {', '.join(exports)} }};\n}})();\n"
            )
        return f"const {{{wanted.replace(' as ', ': ')}}} = {variable};"

    # `take` runs in the order of the imports, so that a module comes before its users.
    body = _IMPORT.sub(take, sources[name])
    # The browser resolves this path relative to the joined file.
    body = _LATER.sub(lambda match: f'import("{_path(entry, _resolve(name, match[1]))}.js")', body)
    exports: list[str] = _EXPORT.findall(body)
    body = _EXPORT.sub("", body)
    # Better an error here than a page that breaks on somebody's phone.
    if other := _OTHER.search(body):
        raise JoinError(f"{name}.js: '{other.group()}' cannot be joined.")
    return body, exports


def _resolve(importer: str, path: str) -> str:
    """Return the name of the module that `importer` imports as `path`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), path))


def _path(importer: str, name: str) -> str:
    """Return the path by which `importer` imports the module `name`: reverses `_resolve`."""
    path = posixpath.relpath(name, posixpath.dirname(importer) or ".")
    return path if path.startswith("../") else f"./{path}"

from __future__ import annotations

import gzip
from http import HTTPStatus
from pathlib import Path

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request

from pipeline.core.errors import ServerError
from pipeline.core.resources import bundled
from pipeline.server.branding import Branding
from pipeline.server.pages import SECURITY, Pages
from tests.support.paths import ROOT

AUDIENCE = b"<!doctype html><title>Captions</title>" + b"<p>amen</p>" * 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A displays folder next to a file that must never be served."""
    (tmp_path / "secret.html").write_text("secret")
    displays = tmp_path / "displays"
    files = {
        "audience.html": AUDIENCE,
        "projector.html": b"<p>projector</p>",
        "notes.txt": b"not a page",
        "js/connection.js": b"export const protocol = 1\n" * 20,
        "css/audience.css": b"body{margin:0}",
        "icons/icon.png": b"\x89PNG" + b"\0" * 500,
        "icon.svg": b"<svg/>",
    }
    for name, body in files.items():
        (displays / name).parent.mkdir(parents=True, exist_ok=True)
        (displays / name).write_bytes(body)
    return displays


def get(pages: Pages, path: str, **headers: str) -> tuple[int, Headers, bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = pages.answer(Request(path, Headers(named)))
    return response.status_code, response.headers, bytes(response.body)


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/?lang=es&size=3", "text/html; charset=utf-8"),
        ("/js/connection.js", "text/javascript; charset=utf-8"),
        ("/css/audience.css", "text/css; charset=utf-8"),
        ("/icons/icon.png", "image/png"),
        ("/icon.svg", "image/svg+xml"),
    ],
)
def test_pages_have_their_type(folder: Path, path: str, content_type: str) -> None:
    status, headers, body = get(Pages(folder), path)
    assert status == HTTPStatus.OK
    assert headers["Content-Type"] == content_type
    assert headers["Content-Length"] == str(len(body)) != "0"
    assert headers["Cache-Control"] == "no-cache"
    assert headers["Connection"] == "close"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/operator",
        "/notes.txt",
        "/../secret.html",
        "/%2e%2e/secret.html",
        "http://host/projector",
    ],
)
def test_anything_else_is_not_found(folder: Path, path: str) -> None:
    status, headers, body = get(Pages(folder), path)
    assert status == HTTPStatus.NOT_FOUND
    assert b"secret" not in body
    assert "ETag" not in headers


def test_files_are_read_at_start_only(folder: Path) -> None:
    pages = Pages(folder)
    (folder / "audience.html").write_text("changed")
    (folder / "late.html").write_text("late")
    assert get(pages, "/")[2] == AUDIENCE
    assert get(pages, "/late")[0] == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize("accepted", ["gzip", "br, gzip;q=0.5", "deflate,gzip ; q=1"])
def test_text_is_compressed_for_who_takes_it(folder: Path, accepted: str) -> None:
    _, headers, body = get(Pages(folder), "/", Accept_Encoding=accepted)
    assert headers["Content-Encoding"] == "gzip"
    assert headers["Vary"] == "Accept-Encoding"
    assert headers["Content-Length"] == str(len(body))
    assert len(body) < len(AUDIENCE)
    assert gzip.decompress(body) == AUDIENCE


@pytest.mark.parametrize("accepted", ["br", "gzip;q=0", "gzip; q=0.000", "xgzip", ""])
def test_and_for_nobody_else(folder: Path, accepted: str) -> None:
    _, headers, body = get(Pages(folder), "/", Accept_Encoding=accepted)
    assert "Content-Encoding" not in headers
    assert body == AUDIENCE


@pytest.mark.parametrize("path", ["/icons/icon.png", "/icon.svg"])
def test_what_compression_does_not_shrink_is_sent_as_it_is(folder: Path, path: str) -> None:
    _, headers, _ = get(Pages(folder), path, Accept_Encoding="gzip")
    assert "Content-Encoding" not in headers


def test_a_page_that_has_not_changed_is_not_sent_again(folder: Path) -> None:
    pages = Pages(folder)
    etag = get(pages, "/")[1]["ETag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}'):
        status, headers, body = get(pages, "/", If_None_Match=known)
        assert (status, body) == (HTTPStatus.NOT_MODIFIED, b"")
        assert headers["ETag"] == etag
        assert "Content-Length" not in headers
    assert get(pages, "/", If_None_Match='"other"')[0] == HTTPStatus.OK
    assert get(pages, "/", If_None_Match=etag, Accept_Encoding="gzip")[0] == HTTPStatus.OK


@pytest.mark.parametrize(
    ("asked", "content_range", "status"),
    [
        ("bytes=0-1", "bytes 0-1/504", 206),
        ("bytes=500-9999", "bytes 500-503/504", 206),
        ("bytes=504-", "", 200),
        ("bytes=9-3", "", 200),
        ("bytes=0-1,4-5", "", 200),
        ("lines=0-1", "", 200),
    ],
)
def test_a_part_is_sent_to_who_asks_for_one(
    folder: Path, asked: str, content_range: str, status: int
) -> None:
    """What cannot be sent in part is sent whole."""
    whole = (folder / "icons" / "icon.png").read_bytes()
    got, headers, body = get(Pages(folder), "/icons/icon.png", Range=asked)
    assert got == status
    assert headers.get("Content-Range", "") == content_range
    assert headers["Content-Length"] == str(len(body))
    first = int(content_range.removeprefix("bytes ").partition("-")[0] or 0)
    assert body == whole[first : first + len(body)]
    assert len(body) == len(whole) or content_range


def test_compressed_text_is_not_sent_in_parts(folder: Path) -> None:
    status, headers, _ = get(Pages(folder), "/", Range="bytes=0-1", Accept_Encoding="gzip")
    assert (status, headers["Content-Encoding"]) == (200, "gzip")


def test_an_etag_changes_with_the_file_only(folder: Path) -> None:
    before = get(Pages(folder), "/")[1]["ETag"]
    assert get(Pages(folder), "/")[1]["ETag"] == before
    (folder / "audience.html").write_bytes(AUDIENCE + b"!")
    assert get(Pages(folder), "/")[1]["ETag"] != before


def test_the_policy_allows_nothing_inline_and_no_other_host() -> None:
    """That every answer has it: test_transport.py."""
    policy = SECURITY["Content-Security-Policy"]
    allowed = dict(each.split(" ", 1) for each in policy.split("; "))
    assert allowed.pop("connect-src") == "'self' ws: wss:"
    assert allowed.pop("default-src") == "'none'"
    # For the sound of a voice, which the page feeds to the player itself.
    assert allowed.pop("media-src") == "'self' blob:"
    assert set(allowed.values()) == {"'self'", "'none'"}


def test_the_documented_policy_is_the_one_sent(folder: Path) -> None:
    document = (ROOT / "docs" / "PROTOCOL.md").read_text()
    _, headers, _ = get(Pages(folder), "/")
    for name in SECURITY:
        assert f"{name}: {headers[name]}\n" in document


def test_without_an_audience_page_there_is_no_server(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="audience") as caught:
        Pages(tmp_path / "displays")
    assert caught.value.code == "pages-missing"


def test_a_page_that_cannot_be_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", unreadable)  # root can read everything
    with pytest.raises(ServerError, match="Permission denied") as caught:
        Pages(folder)
    assert caught.value.code == "pages-missing"


def test_a_pages_script_is_sent_with_what_it_imports(folder: Path) -> None:
    """Other scripts, and one that cannot be joined, are sent as they are."""
    modules = {
        "a": 'import { b } from "./b.js";\nconsole.log(b);\n',
        "b": "export const b = 3;\n",
        "deep/er": 'import { b } from "../b.js";\nconsole.log(b);\n',
        "odd": 'import * as b from "./b.js";\n',
    }
    (folder / "js" / "deep").mkdir()
    for name, text in modules.items():
        (folder / "js" / f"{name}.js").write_text(text)
    (folder / "three.html").write_text('<script type="module" src="/js/deep/er.js"></script>')
    (folder / "one.html").write_text('<script type="module" src="/js/a.js"></script>')
    (folder / "two.html").write_text('<script type="module" src="/js/odd.js"></script>')
    pages = Pages(folder)
    assert b"const { b } = $b;" in get(pages, "/js/a.js")[2]
    assert b"const { b } = $b;" in get(pages, "/js/deep/er.js")[2]
    assert get(pages, "/js/b.js")[2].decode() == modules["b"]
    assert get(pages, "/js/odd.js")[2].decode() == modules["odd"]


def test_the_shipped_pages_are_served_and_stay_small() -> None:
    pages = Pages(bundled("displays"))
    sent = 0
    for path in ("/", "/projector"):
        status, _, body = get(pages, path)
        assert status == HTTPStatus.OK
        assert b"<script>" not in body
        sent += len(body)
    assert sent < 100_000


def test_pages_show_the_church_where_they_have_a_place_for_it(folder: Path) -> None:
    (folder / "audience.html").write_text("<head></head><!--church--><p>amen</p>")
    pages = Pages(folder, Branding("Grace", "#7a1f3d", b"<svg/>", "image/svg+xml"))
    _, _, body = get(pages, "/")
    assert b'<link rel="stylesheet" href="/css/church.css">\n</head>' in body
    assert b'<img class="mark" src="/church-logo" alt=""><span translate="no"' in body
    assert b"--church: #7a1f3d" in get(pages, "/css/church.css")[2]
    status, headers, body = get(pages, "/church-logo")
    assert (status, headers["Content-Type"], body) == (200, "image/svg+xml", b"<svg/>")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style")
    # Other pages have no branding. If nothing is set, no page has any.
    assert get(pages, "/projector")[2] == b"<p>projector</p>"
    assert get(Pages(folder, Branding()), "/css/church.css")[0] == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/Projector", "/projector"),
        ("/projector/?mode=blocks", "/projector?mode=blocks"),
        ("/PROJECTOR.html", "/projector"),
        ("/audience.html?lang=fr", "/?lang=fr"),
        ("//", "/"),
        ("/Wall/", "/projector"),
    ],
)
def test_an_address_that_is_nearly_right_leads_to_the_page(
    folder: Path, path: str, place: str
) -> None:
    status, headers, _ = get(Pages(folder), path)
    assert (status, headers["Location"]) == (HTTPStatus.FOUND, place)


def test_another_address_is_answered_with_those_there_are(folder: Path) -> None:
    (folder / "missing.html").write_text("<a href='/projector'>The wall</a>")
    for path in ("/bible", "//evil.example/projector", "/../secret"):
        status, headers, body = get(Pages(folder), path, Accept="text/html,*/*")
        assert status == HTTPStatus.NOT_FOUND
        assert b"The wall" in body
        assert "Location" not in headers
        # For a script or a picture the answer is one sentence.
        assert get(Pages(folder), path, Accept="*/*")[2] == b"There is no such page.\n"

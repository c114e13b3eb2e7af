from __future__ import annotations

import pytest

from pipeline.server.addresses import answer_plain

CHURCH = "https://captions.example.org:8765/"


def asked(path: str = "/", host: str = "192.168.1.20:8765", method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n".encode()


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (CHURCH, "https://captions.example.org:8765/projector?mode=blocks"),
        ("", "https://192.168.1.20:8765/projector?mode=blocks"),
        # A proxy's plain-http address is not a redirect target.
        ("http://captions.example.org/", "https://192.168.1.20:8765/projector?mode=blocks"),
    ],
)
def test_http_is_led_to_the_secure_address(address: str, place: str) -> None:
    answer = answer_plain(asked("/projector?mode=blocks"), address, is_public=True)
    assert answer.startswith(b"HTTP/1.1 302 ")
    assert f"\r\nLocation: {place}\r\n".encode() in answer


def test_before_a_warning_the_phone_is_told_what_to_touch() -> None:
    answer = answer_plain(asked(), CHURCH, is_public=False)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert f"Content-Length: {len(body)}".encode() in head
    assert f'href="{CHURCH}"'.encode() in body
    assert b"Show Details" in body
    assert b"Proceed to" in body
    # The page must be self-contained: anything that it loads is behind the same warning.
    assert not any(each in body for each in (b"<script", b" src=", b"<link", b"url("))
    assert answer_plain(asked(method="HEAD"), CHURCH, is_public=False) == head + b"\r\n\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        asked(host='x"><script>'),
        asked(path="//\u00e9"),
        b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /",
    ],
)
def test_what_makes_no_sense_is_refused(request_: bytes) -> None:
    assert answer_plain(request_, "", is_public=False).startswith(b"HTTP/1.1 400 ")

"""Answers to plain requests. Pages, health and metrics: test_hub.py."""

from __future__ import annotations

import orjson
import pytest

from pipeline.server.addresses import qr_svg
from tests.support.hub import in_loop, serving


@pytest.mark.parametrize("named", ["", "https://captions.example.org/"])
@in_loop
async def test_the_address_is_told_in_words_and_as_a_code(named: str) -> None:
    async with serving(address=named) as service:
        address = named or f"http://127.0.0.1:{service.hub.port}/"
        reply = await service.get("/address")
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
        assert orjson.loads(reply.body) == {
            "address": address,
            "langs": ["es", "en"],
            "past": False,
        }
        code = await service.get("/qr.svg")
        assert (code.status, code.headers["content-type"]) == (200, "image/svg+xml")
        assert code.body == qr_svg(address)
        desk = await service.get("/qr.svg?code=012345")
        assert desk.body == qr_svg(f"{address}operator#code=012345")
        for query in ("?code=12345", "?code=0123456", "?code=%D9%A1%D9%A1%D9%A1%D9%A1%D9%A1%D9%A1"):
            assert (await service.get(f"/qr.svg{query}")).body == code.body
        assert "default-src 'none'" in code.headers["content-security-policy"]
        # Programs find the port by this address, whatever address phones get.
        assert service.hub.address == f"http://127.0.0.1:{service.hub.port}/"


@in_loop
async def test_a_head_has_no_body_and_nothing_is_written() -> None:
    async with serving() as service:
        for path in ("/address", "/qr.svg", "/healthz", "/metrics", "/nothing"):
            head = await service.get(path, "HEAD")
            assert head.body == b""
            assert head.headers["content-length"] != "0"
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                refused = await service.get(path, method)
                assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")


@in_loop
async def test_the_poster_gets_a_code_of_the_wifi() -> None:
    async with serving() as service:
        code = await service.get("/wifi.svg?name=Guests%3B&password=a%3Ab+c")
        assert code.body == qr_svg(r"WIFI:T:WPA;S:Guests\;;P:a\:b c;;")
        assert code.headers["cache-control"] == "no-store"
        assert (await service.get("/wifi.svg?name=Open")).body == qr_svg("WIFI:T:nopass;S:Open;;")
        for query in ("", "?password=x", f"?name={'n' * 33}", f"?name=n&password={'p' * 64}"):
            assert (await service.get(f"/wifi.svg{query}")).status == 400

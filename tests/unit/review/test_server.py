"""The review server: who may enter, what it accepts, and what every page receives."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from pipeline.config.schema import Server
from pipeline.core.errors import ServerError
from pipeline.review.server import ReviewServer
from pipeline.review.store import Review
from pipeline.server.access import LIMIT
from pipeline.session.recordings import recording_path
from scripts.support.journal import TOKEN, reviewable
from tests.support.hub import Reply, closed, fetch, in_loop, receive, send
from tests.support.reviews import outcomes, pairs

HEADER = "Bearer Wf3kq1c2v8%C3%B1"


class Desk:
    """A running review server, and a client with or without the token."""

    def __init__(self, folder: Path) -> None:
        self.review = Review(folder)
        self.server = ReviewServer(self.review, Server(port=0), token=TOKEN)

    @property
    def port(self) -> int:
        return int(self.server.address.rsplit(":", 1)[1].split("/")[0])

    async def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await asyncio.to_thread(fetch, self.port, path, method, named)

    async def cookie(self) -> str:
        reply = await self.get("/review/enter", Authorization=HEADER)
        assert orjson.loads(reply.body) == {"known": True}
        return reply.headers["set-cookie"].partition(";")[0]

    def connect(self, cookie: str = "", **options: Any) -> connect:
        uri = f"ws://127.0.0.1:{self.port}/review/socket"
        return connect(uri, additional_headers={"Cookie": cookie} if cookie else None, **options)


@contextlib.asynccontextmanager
async def serving(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(reviewable(tmp_path))
    await desk.server.start()
    try:
        yield desk
    finally:
        await desk.server.close()
        desk.review.close()


async def decide(page: ClientConnection, key: int, **fields: Any) -> Any:
    decision = {"id": key, "source": "Said.", "target": "Dicho.", "reviewer": "Ana", **fields}
    await send(page, **{"type": "decide", "outcome": "approved", **decision})
    return await receive(page)


@in_loop
async def test_the_token_in_a_header_opens_everything(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        assert orjson.loads((await desk.get("/review/enter")).body) == {"known": False}
        reply = await desk.get("/review/enter", Authorization=HEADER)
        assert reply.status == 200
        cookie = reply.headers["set-cookie"]
        assert cookie.endswith("; Path=/review; HttpOnly; SameSite=Strict")
        assert TOKEN not in cookie
        cookie = cookie.partition(";")[0]
        known = await desk.get("/review/enter", Cookie=cookie)
        assert orjson.loads(known.body) == {"known": True}
        page = await desk.get("/review/report", Cookie=cookie)
        assert page.status == 200
        assert b"Sentence 1." in page.body
        assert "script" not in page.headers["content-security-policy"]
        async with desk.connect(cookie) as socket:
            data = await receive(socket)
            assert [item["id"] for item in data["items"]] == [2, 3, 4]
            assert (data["session"], data["left"], data["pairs"]) == ("2026-11-22T09-30-00", 3, 1)


@in_loop
async def test_without_it_nothing_but_the_empty_page_is_had(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        page = await desk.get("/review")
        assert page.status == 200
        assert b"Sentence" not in page.body
        assert "script-src 'self';" in page.headers["content-security-policy"]
        for cookie in ("", "stark-review=wrong", "stark-review=\xff", 'stark-review="', "a=b; c"):
            reply = await desk.get("/review/report", Cookie=cookie)
            assert reply.status == 401
            with pytest.raises(InvalidStatus) as refused:
                await desk.connect(cookie)
            assert refused.value.response.status_code == 401


@in_loop
async def test_sound_is_heard_by_those_who_have_the_token(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        sound = recording_path(desk.review.folder, 2)
        sound.parent.mkdir()
        sound.write_bytes(b"fLaC and so on")
        page = "/review/sound/2.flac"
        assert (await desk.get(page)).status == 401
        reply = await desk.get("/review/enter", Authorization=HEADER)
        cookie = reply.headers["set-cookie"].partition(";")[0]
        heard = await desk.get(page, Cookie=cookie)
        assert (heard.status, heard.body) == (200, b"fLaC and so on")
        assert heard.headers["content-type"] == "audio/flac"
        for other in ("3.flac", "..%2f..%2fcaptions.jsonl", "../captions.jsonl", "2" * 40, "", "²"):
            reply = await desk.get(f"/review/sound/{quote(other, safe='%/.')}", Cookie=cookie)
            assert reply.status == 404, other
        assert [item.has_sound for item in desk.review.items()] == [True, False, False]


@in_loop
async def test_guessing_is_slow_and_soon_stops(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("pipeline.review.server._WRONG_TOKEN_S", 0.05)
    async with serving(tmp_path) as desk:
        began_s = asyncio.get_running_loop().time()
        for _ in range(LIMIT):
            assert (await desk.get("/review/enter", Authorization="Bearer guess")).status == 403
        assert asyncio.get_running_loop().time() - began_s >= LIMIT * 0.05
        reply = await desk.get("/review/enter", Authorization="Bearer guess")
        assert (reply.status, reply.headers["retry-after"]) == (429, "60")
        # A correct token that is too long to guess still works: this machine is trusted.
        assert (await desk.get("/review/enter", Authorization=HEADER)).status == 200


@in_loop
async def test_other_sites_are_kept_out(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        own = f"127.0.0.1:{desk.port}"
        cookie = await desk.cookie()
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            reply = await desk.get("/review/enter", Authorization=HEADER, **headers)
            assert reply.status == 403
            assert "set-cookie" not in reply.headers
        with pytest.raises(InvalidStatus):
            await desk.connect(cookie, origin="http://127.0.0.1:9")
        async with desk.connect(cookie, origin=f"http://{own}"):
            pass


@in_loop
async def test_a_decision_is_kept_and_every_page_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        cookie = await desk.cookie()
        async with desk.connect(cookie) as one, desk.connect(cookie) as other:
            await receive(one)
            await receive(other)
            message = await decide(one, 3, source=" Sentence \n 3.", target="Frase 3.")
            assert message == await receive(other)
            assert (message["type"], message["left"], message["pairs"]) == ("item", 2, 2)
            page = await desk.get("/review/report", Cookie=cookie)
            assert b"a person looked at 1: 1 approved." in page.body
            assert (message["item"]["outcome"], message["item"]["reviewer"]) == ("approved", "Ana")
            message = await decide(other, 2, outcome="rejected", source="", target="")
            assert message["item"]["outcome"] == "rejected"
            assert [key for key, *_ in pairs(desk.review.folder)] == [1, 3]


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"id": 99}, "unknown-item"),
    ({"outcome": "maybe"}, "bad-field"),
    ({"reviewer": "x" * 81}, "bad-field"),
    ({"target": "   "}, "bad-field"),
    ({"source": "x" * 2001}, "bad-field"),
    ({"type": "ack"}, "unknown-type"),
)
RUBBISH = ("", "{", "[]", "null", '{"type":"decide"}', "[" * 5000, "\x00", b"\xff\x00", "ñ")


@in_loop
async def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk, desk.connect(await desk.cookie()) as page:
        await receive(page)
        for fields, code in REFUSED:
            message = await decide(page, fields.get("id", 2), **{"id": 2} | fields)
            assert (message["type"], message["code"]) == ("error", code), fields
        for raw in RUBBISH:
            await page.send(raw)
            assert (await receive(page))["type"] == "error", raw
        assert set(outcomes(desk.review).values()) == {"open"}
        assert (await decide(page, 2))["type"] == "item"
        await page.send("x" * 20_000)
        assert await closed(page) == 1009


@in_loop
async def test_a_full_disk_is_told_and_the_item_stays(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk, desk.connect(await desk.cookie()) as page:
        await receive(page)
        file, kept = desk.review._file, desk.review._file._fd
        file._fd = os.open("/dev/full", os.O_WRONLY)
        reply = await decide(page, 2)
        assert (reply["type"], reply["id"], reply["code"]) == ("error", 2, "session-unwritable")
        os.close(file._fd)
        file._fd = kept
        assert (await decide(page, 2))["item"]["outcome"] == "corrected"


@in_loop
async def test_the_first_page_leads_to_the_review(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        reply = await desk.get("/")
        assert (reply.status, reply.headers["location"]) == (303, "/review")
        assert (await desk.get("/review", "HEAD")).body == b""
        assert (await desk.get("/js/review/main.js")).status == 200
        assert (await desk.get("/nowhere")).status == 404
        assert (await desk.get("/ws")).status == 404


@in_loop
async def test_a_taken_port_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as desk:
        other = ReviewServer(desk.review, Server(port=desk.port), token=TOKEN)
        with pytest.raises(ServerError, match=r"\[port-in-use\]"):
            await other.start()

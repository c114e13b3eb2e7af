"""Past services over a real port: who may read them, and what the answers are."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest

from pipeline.server import past_routes, transport
from pipeline.server.access import LIMIT
from pipeline.session.past_services import DASHBOARD
from scripts.support.journal import message, session, utc
from scripts.support.records import health_record
from tests.support.hub import TOKEN, in_loop, serving

DAY, REHEARSAL = "2026-11-15T09-30-00-0600", "2026-11-21T19-00-00-0600"
BEARER = f"Bearer {quote(TOKEN)}"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    said = [message(1, "Let us pray.", "Oremos.", start_s=1.0, end_s=3.0)]
    session(tmp_path, said, DAY, records=[health_record(utc=utc(0))])
    rehearsed = [health_record(utc=utc(0), mode="dry-run")]
    session(tmp_path, said, REHEARSAL, records=rehearsed)
    return tmp_path


@pytest.fixture(autouse=True)
def without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.server.inbound._WRONG_TOKEN_S", 0.01)


@pytest.mark.parametrize("path", ["/past", f"/past/{DAY}/both.srt", "/past/none"])
@in_loop
async def test_by_default_a_token_is_needed(kept: Path, path: str) -> None:
    async with serving(sessions=kept) as service:
        reply = await service.get(path)
        assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
        assert b"Oremos" not in reply.body
        wrong = await service.get(path, Authorization="Bearer guess")
        assert (wrong.status, wrong.body) == (403, b"The token is wrong.\n")


@in_loop
async def test_an_operator_has_the_list_a_service_and_its_files(kept: Path) -> None:
    async with serving(sessions=kept) as service:
        listed = await service.get("/past", Authorization=BEARER)
        assert (listed.status, listed.headers["content-type"]) == (200, "application/json")
        body = orjson.loads(listed.body)
        assert [each["name"] for each in body["services"]] == [REHEARSAL, DAY]
        assert {"srt", "vtt", "md", "html", "docx"} <= set(body["formats"])
        read = orjson.loads((await service.get(f"/past/{DAY}", Authorization=BEARER)).body)
        assert read["service"]["began"] == "2026-11-15T09:30:00-06:00"
        assert [each["target"] for each in read["paragraphs"]] == ["Oremos."]
        for form in body["formats"]:
            file = await service.get(f"/past/{DAY}/target.{form}", Authorization=BEARER)
            named = f'attachment; filename="{DAY}.es.{form}"'
            assert (file.status, file.headers["content-disposition"]) == (200, named)
            assert "default-src 'none'" in file.headers["content-security-policy"]
            assert file.headers["cache-control"] == "no-store"
            assert form == "docx" or b"Oremos." in file.body


@in_loop
async def test_the_page_of_all_services_is_for_operators_whoever_reads_the_services(
    kept: Path,
) -> None:
    async with serving(sessions=kept, past_services="everyone") as service:
        missing = await service.get("/past/dashboard.html", Authorization=BEARER)
        assert (missing.status, b"stark-translate dashboard" in missing.body) == (404, True)
        (kept / DASHBOARD).write_bytes(b"<h1>All services</h1>")
        stale = "Bearer that-of-last-year"
        assert (await service.get("/past/dashboard.html", Authorization=stale)).status == 403
        assert (await service.get("/past", Authorization=stale)).status == 200, "for everyone"
        refused = await service.get("/past/dashboard.html")
        assert (refused.status, b"All services" in refused.body) == (401, False)
        shown = await service.get("/past/dashboard.html", Authorization=BEARER)
        assert (shown.status, shown.body) == (200, b"<h1>All services</h1>")
        assert shown.headers["content-type"] == "text/html; charset=utf-8"


@in_loop
async def test_a_head_has_the_length_and_no_body(kept: Path) -> None:
    async with serving(sessions=kept) as service:
        path = f"/past/{DAY}/both.srt"
        whole = await service.get(path, Authorization=BEARER)
        head = await service.get(path, "HEAD", Authorization=BEARER)
        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-length"] == str(len(whole.body))
        assert (await service.get("/past", "POST")).status == 405


@in_loop
async def test_a_refusal_of_head_has_no_body(kept: Path) -> None:
    async with serving(sessions=kept) as service:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.hub.port)
        writer.write(b"HEAD /past HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.endswith(b"\r\n\r\n")


@in_loop
async def test_everyone_may_read_services_but_no_rehearsal(kept: Path) -> None:
    async with serving(sessions=kept, past_services="everyone") as service:
        body = orjson.loads((await service.get("/past")).body)
        assert [each["name"] for each in body["services"]] == [DAY]
        assert b"Oremos." in (await service.get(f"/past/{DAY}/both.vtt")).body
        for path in (f"/past/{REHEARSAL}", f"/past/{REHEARSAL}/both.srt"):
            hidden = await service.get(path)
            assert hidden.status == 404
            assert b"Oremos" not in hidden.body


@in_loop
async def test_switched_off_there_is_nothing_even_for_operators(kept: Path) -> None:
    async with serving(sessions=kept, past_services="off") as service:
        reply = await service.get("/past", Authorization=BEARER)
        assert reply.status == 404
        assert b"server.past_services" in reply.body
        service.hub.configure(service.settings.model_copy(update={"past_services": "everyone"}))
        assert (await service.get("/past")).status == 200  # without a restart
    async with serving(past_services="everyone") as service:  # without a folder
        assert (await service.get("/past")).status == 404


@pytest.mark.parametrize(
    "path",
    [
        "/past/nothing",
        "/past/..",
        "/past/%2e%2e%2f%2e%2e",
        "/past/%ff%fe",
        f"/past/{DAY}/both.exe",
        f"/past/{DAY}/../both.srt",
    ],
)
@in_loop
async def test_what_there_is_not_is_said_and_nothing_else_is_opened(kept: Path, path: str) -> None:
    async with serving(sessions=kept) as service:
        reply = await service.get(path, Authorization=BEARER)
        assert (reply.status, reply.headers["content-type"][:10]) == (404, "text/plain")
        assert str(kept).encode() not in reply.body


@in_loop
async def test_guessing_tokens_is_stopped_and_counts_with_those_of_the_desk(kept: Path) -> None:
    async with serving(sessions=kept) as service:
        for _ in range(LIMIT):
            assert (await service.get("/past", Authorization="Bearer guess")).status == 403
        assert (await service.get("/past", Authorization="Bearer guess")).status == 429
        assert (await service.get("/past", Authorization=BEARER)).status == 200


@in_loop
async def test_a_foreign_page_is_refused_before_its_token_is_looked_at(kept: Path) -> None:
    async with serving(sessions=kept) as service:
        headers = {"Authorization": BEARER, "Origin": "https://evil.example"}
        reply = await service.get("/past", **headers)
        assert reply.status == 421
        assert b"server.address" in reply.body


@in_loop
async def test_a_service_of_which_nothing_can_be_read_says_which_line(kept: Path) -> None:
    journal = kept / DAY / "captions.jsonl"
    journal.write_bytes(b"{\n{\n")
    async with serving(sessions=kept) as service:
        reply = await service.get(f"/past/{DAY}", Authorization=BEARER)
        assert reply.status == 500
        assert b"line 1" in reply.body


@in_loop
async def test_captions_go_on_while_many_read(kept: Path) -> None:
    readable = serving(sessions=kept, past_services="everyone")
    async with readable as service, service.connect() as display:
        await display.recv()
        readers = [asyncio.create_task(service.get(f"/past/{DAY}/both.docx")) for _ in range(8)]
        service.say(1, "amén")
        assert orjson.loads(await display.recv())["target"]["text"] == "amén"
        assert {(await reader).status for reader in readers} == {200}


@in_loop
async def test_too_many_that_wait_are_told_to_come_back(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_routes, "_WAITING", 0)
    async with serving(sessions=kept, past_services="everyone") as service:
        reply = await service.get("/past")
        assert (reply.status, reply.headers["retry-after"]) == (503, "5")


@in_loop
async def test_who_waits_too_long_is_told_to_come_back_before_the_line_is_cut(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that takes long to read delays the requests behind it."""
    assert past_routes._ANSWER_S < transport._OPEN_S - 2
    monkeypatch.setattr(past_routes, "_ANSWER_S", 0.1)
    read = threading.Event()
    async with serving(sessions=kept, past_services="everyone") as service:
        service.hub._past._thread.submit(read.wait)
        paths = ("/past", f"/past/{DAY}", f"/past/{DAY}/both.txt")
        for reply in await asyncio.gather(*map(service.get, paths)):
            assert (reply.status, reply.headers["retry-after"]) == (503, "5")
        read.set()
        monkeypatch.setattr(past_routes, "_ANSWER_S", 10.0)
        assert (await service.get(f"/past/{DAY}")).status == 200

"""What leaves the hall may fail in any way: captions in the hall are as without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.support.nats_server import NatsServer
from tests.support.daemon import SCRIPT, Service, all_finals
from tests.support.fakes import FakeTranslator
from tests.support.relays import needs_nats, reaches, relay, texts
from tests.support.web_recorder import WebRecorder

pytestmark = pytest.mark.slow

USERS = 'authorization { users = [ { user: church, password: "right" } ] }\n'


def faults(service: Service) -> list[str]:
    return [e["code"] for e in service.records("event") if e["event"] == "fault"]


def untouched(service: Service) -> bool:
    """Whether the hall had every final."""
    return service.run() == 0 and service.finals() == all_finals("gemma")


def published(tmp_path: Path, url: str, **flags: Any) -> Service:
    return Service(tmp_path / "sessions", flags={"publish.nats": url, **flags})


def test_a_service_is_published_from_its_first_final_to_its_end(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path / "nats") as server:
        service = published(tmp_path, server.url)
        assert untouched(service)

        async def read() -> list[str]:
            async with relay(server.url) as edge:
                await reaches(lambda: edge.feed.status and edge.feed.status.state == "ended")
                return texts(edge.feed.board)

        shown = asyncio.run(read())
    assert shown == [line["target"]["text"] for line in service.journal()]
    assert len(shown) == len(SCRIPT)
    assert faults(service) == []


def test_a_service_is_published_in_all_of_its_languages(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path / "nats") as server:
        french = {"fr": (FakeTranslator("fr-quick"), FakeTranslator("fr-final"))}
        service = Service(tmp_path / "sessions", further=french, flags={"publish.nats": server.url})
        assert untouched(service)

        async def read() -> dict[str, list[str]]:
            async with relay(server.url) as edge:
                await reaches(lambda: edge.feed.status and edge.feed.status.state == "ended")
                return {lang: texts(board) for lang, board in edge.feed.boards.items()}

        shown = asyncio.run(read())
    assert shown == {
        "es": [line["target"]["text"] for line in service.journal()],
        "fr": [line["target"]["text"] for line in service.journal("captions.fr.jsonl")],
    }
    assert len(shown["fr"]) == len(SCRIPT)
    assert faults(service) == []


def test_wrong_credentials(tmp_path: Path) -> None:
    needs_nats()
    secret = tmp_path / "secret"
    secret.write_text("church:wrong")
    with NatsServer(tmp_path / "nats", config=USERS) as server:
        service = published(tmp_path, server.url, **{"publish.credentials": str(secret)})
        assert untouched(service)
    assert faults(service) == ["publish-refused"]
    assert "wrong" not in (service.app.folder / "diagnostics.jsonl").read_text()


def test_a_broker_without_room(tmp_path: Path) -> None:
    """JetStream keeps nothing beyond this, as with a full disk."""
    needs_nats()
    with NatsServer(tmp_path / "nats", most_bytes=100) as server:
        service = published(tmp_path, server.url)
        assert untouched(service)
    assert faults(service)
    assert set(faults(service)) <= {"publish-full", "publish-no-jetstream"}


@pytest.mark.parametrize(
    "make",
    [lambda url: {"publish.nats": url.replace("http", "nats")}, lambda url: {"outputs.vmix": url}],
)
def test_a_web_server_that_refuses_everything(
    tmp_path: Path, make: Callable[[str], dict[str, Any]]
) -> None:
    needs_nats()
    with WebRecorder() as server:
        server.status = 404
        assert untouched(Service(tmp_path, flags=make(server.url)))


def test_final_captions_reach_other_programs(tmp_path: Path) -> None:
    with WebRecorder() as server:
        youtube = f"{server.url}/closedcaption?cid=key"
        service = Service(tmp_path, flags={"outputs.youtube": youtube})
        assert untouched(service)
        sent = [each.body.decode().split("\n")[1] for each in server.sent]
    finals = [line["target"]["text"] for line in service.journal()]
    assert sent == finals

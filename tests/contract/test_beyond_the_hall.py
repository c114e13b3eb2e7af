"""A real service's outputs beyond the hall: relays in each language, other programs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from scripts.support.nats_server import NatsServer
from scripts.support.web_recorder import WebRecorder
from tests.support.daemon import SCRIPT, Service
from tests.support.fakes import FakeTranslator
from tests.support.patience import reached
from tests.support.relays import needs_nats, relay, texts

pytestmark = pytest.mark.slow


def test_a_service_is_published_in_all_of_its_languages_to_its_end(tmp_path: Path) -> None:
    needs_nats()
    with NatsServer(tmp_path / "nats") as server:
        french = {"fr": (FakeTranslator("fr-quick"), FakeTranslator("fr-final"))}
        service = Service(
            tmp_path / "sessions", extra_targets=french, flags={"publish.nats": server.url}
        )
        assert service.run() == 0

        async def read() -> dict[str, list[str]]:
            async with relay(server.url) as edge:
                await reached(lambda: edge.feed.status and edge.feed.status.state == "ended")
                return {lang: texts(board) for lang, board in edge.feed.boards.items()}

        shown = asyncio.run(read())
        stored = server.stored()
    assert shown == {
        "es": [line["target"]["text"] for line in service.journal()],
        "fr": [line["target"]["text"] for line in service.journal("captions.fr.jsonl")],
    }
    assert {len(each) for each in shown.values()} == {len(SCRIPT)}
    assert b'"final":true' in stored
    assert b'"final":false' not in stored  # no partial is left on the server's disk
    assert service.faults("publish-", "output-") == []


def test_final_captions_reach_other_programs(tmp_path: Path) -> None:
    with WebRecorder() as server:
        youtube = f"{server.url}/closedcaption?cid=key"
        service = Service(tmp_path, flags={"outputs.youtube": youtube})
        assert service.run() == 0
        sent = [each.body.decode().split("\n")[1] for each in server.sent]
    finals = [line["target"]["text"] for line in service.journal()]
    assert sent == finals

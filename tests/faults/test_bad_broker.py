"""Outputs beyond the hall fail in any way; captions in the hall stay the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.support.nats_server import NatsServer
from scripts.support.web_recorder import WebRecorder
from tests.support.daemon import Service, all_finals
from tests.support.relays import needs_nats

pytestmark = pytest.mark.slow

USERS = 'authorization { users = [ { user: church, password: "right" } ] }\n'


def untouched(service: Service) -> bool:
    """Whether the hall got every final."""
    return service.run() == 0 and service.finals() == all_finals("gemma")


def published(tmp_path: Path, url: str, **flags: Any) -> Service:
    return Service(tmp_path / "sessions", flags={"publish.nats": url, **flags})


def test_wrong_credentials(tmp_path: Path) -> None:
    needs_nats()
    secret = tmp_path / "secret"
    secret.write_text("church:wrong")
    with NatsServer(tmp_path / "nats", config=USERS) as server:
        service = published(tmp_path, server.url, **{"publish.credentials": str(secret)})
        assert untouched(service)
    assert service.faults("publish-", "output-") == ["publish-refused"]
    assert "wrong" not in (service.app.folder / "diagnostics.jsonl").read_text()


def test_a_broker_without_room(tmp_path: Path) -> None:
    """JetStream stores nothing beyond this limit, as with a full disk."""
    needs_nats()
    with NatsServer(tmp_path / "nats", most_bytes=100) as server:
        service = published(tmp_path, server.url)
        assert untouched(service)
    found = service.faults("publish-", "output-")
    assert found
    assert set(found) <= {"publish-full", "publish-no-jetstream"}


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

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from scripts.support.nats_server import NatsServer
from scripts.support.program import started
from tests.support.cli import Cli
from tests.support.hub import fetch
from tests.support.relays import needs_nats


def test_a_relay_needs_a_server(cli: Cli) -> None:
    assert "[relay-no-server]" in cli("relay", code=2).err


def test_a_password_on_the_command_line_is_refused(cli: Cli) -> None:
    output = cli("relay --nats nats://church:hush@host", code=2).err
    assert "[relay-password]" in output
    assert "hush" not in output


@pytest.mark.slow
def test_a_relay_serves_the_pages_until_it_is_asked_to_stop(tmp_path: Path) -> None:
    needs_nats()
    with (
        NatsServer(tmp_path) as server,
        started("relay", "--nats", server.url, cwd=tmp_path) as relay,
    ):
        port = urlsplit(relay.address).port
        assert port
        page = fetch(port, "/", "GET", {})
        health = fetch(port, "/healthz", "GET", {})
        assert relay.stop() == 0
    assert page.status == 200
    assert b"<html" in page.body
    assert health.status == 200

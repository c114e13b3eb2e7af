"""A nats-server for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.support.nats_server import NatsServer
from tests.support.relays import needs_nats


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    needs_nats()
    with NatsServer(tmp_path) as made:
        yield made


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notice a cut connection and a missing stream sooner than in a service."""
    monkeypatch.setattr("pipeline.publish.broker._ANSWER_S", 2.0)
    monkeypatch.setattr("pipeline.publish.broker._SILENCE_S", 1.0)

"""What /healthz and the health record tell, of a real service."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.daemon import Service


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def test_it_names_the_parts_and_counts_what_was_dropped(service: Service) -> None:
    assert service.run() == 0
    record = service.app.health.record()
    assert (record.recognizer, record.partial, record.final) == ("fake", "marian", "gemma")
    assert record.session == service.app.folder.name
    assert (record.state, record.rung, record.lag_s) == ("ended", "full", 0.0)
    assert asdict(record.dropped).keys() == {"blocks", "records", "partials", "drafts"}
    assert record.dropped.records == 0
    assert record.audio_s > 15


def test_it_answers_also_when_memory_cannot_be_read(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_descriptor_left(_: Any) -> None:
        raise OSError(24, "Too many open files")

    known = service.app.health.record().memory_mb
    assert known > 10
    monkeypatch.setattr(psutil.Process, "memory_info", no_descriptor_left)
    assert service.app.health.record().memory_mb == known
    service.app._context.recorder.start()
    assert service.app._context.recorder.close(5.0)

"""What /healthz and the health record report about a real service."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import pytest
import soundfile

from scripts.support.program import SERMON, started
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


@pytest.mark.slow
def test_each_engine_says_what_it_took_and_what_it_has_done(tmp_path: Path) -> None:
    """The real program on the demo sermon's beginning: record, /healthz and /metrics."""
    sound, rate = soundfile.read(str(SERMON), stop=16_000 * 30)  # the program still runs when asked
    soundfile.write(tmp_path / "a.wav", sound, rate)
    with started("run", "--input", "a.wav", "--pace", "fast", cwd=tmp_path) as program:
        program.until(lambda: any(r.get("event") == "caption" for r in program.log), 90)
        engines = {each["engine"]: each for each in program.health()["engines"]}
        with urlopen(f"{program.address}/metrics") as answer:
            exposition = answer.read().decode()
        assert program.end() == 0
        last = {each["engine"]: each for each in program.records("health")[-1]["engines"]}
    assert last.keys() == engines.keys() == {"stt", "partial", "final"}
    for name, engine in engines.items():
        assert engine["load_ms"] > 10, name
        assert engine["memory_mb"] > 20, name
        assert engine["busy_s"] > 0, name
        assert engine["gpu_memory_mb"] is None
        assert f'stark_engine_memory_bytes{{engine="{name}"}}' in exposition
        assert f'stark_engine_load_seconds{{engine="{name}"}}' in exposition
    assert engines["final"]["generated_tokens"] > 0
    assert engines["final"]["prompt_tokens"] > engines["final"]["generated_tokens"]
    assert last["final"]["tokens_per_s"] == pytest.approx(
        last["final"]["generated_tokens"] / last["final"]["busy_s"], rel=0.05
    )
    written = sum(record["final"]["tokens"] or 0 for record in program.records())
    assert last["final"]["generated_tokens"] >= written > 0
    assert engines["stt"]["tokens_per_s"] is None
    assert 'stark_engine_generated_tokens_total{engine="final"}' in exposition
    assert "stark_engine_gpu_memory_bytes{" not in exposition


@pytest.mark.slow
def test_the_clock_of_the_church_is_on_record(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/Chicago")
    time.tzset()
    try:
        assert service.run() == 0
        assert service.records("health")[-1]["utc_offset_min"] in {-360, -300}
        assert service.records("summary")[-1]["utc_offset_min"] in {-360, -300}
    finally:
        monkeypatch.undo()
        time.tzset()

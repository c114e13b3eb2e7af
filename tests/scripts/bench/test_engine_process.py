"""The benchmark of the engines' processes: the starter models, once through a few sentences."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.bench import engine_process
from scripts.bench.engine_process import TITLE, Engine, engines, row, section


@pytest.mark.slow
def test_every_engine_is_measured_here_and_there_and_the_table_gets_its_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[Engine] = []

    def few(settings: object) -> list[Engine]:
        measured.extend(engines(settings))  # type: ignore[arg-type]
        for engine in measured:
            engine.jobs = engine.jobs[:3]
        return measured

    file = tmp_path / "BENCHMARKS.md"
    file.write_text("# Benchmarks\n\n## Others\n\nstay\n")
    monkeypatch.setattr(engine_process, "engines", few)
    arguments = ["x", "--turns", "1", "--limit", "1e9", "--markdown", str(file)]
    monkeypatch.setattr(sys, "argv", arguments)
    assert engine_process.main() == 0
    assert [len(engine.added_ms) for engine in measured] == [3, 3, 3]
    for engine in measured:
        assert all(ms > 0 for ms in engine.added_ms)
        # No call can take less than the way there and back.
        pairs = zip(engine.added_ms, engine.process_ms, strict=True)
        assert all(added < whole for added, whole in pairs)
    text = file.read_text()
    assert text.startswith("# Benchmarks\n\n## Others\n\nstay\n")
    assert text.count(TITLE) == 1
    assert "| recognizer | " in text


@pytest.mark.slow
def test_the_worst_of_a_hundred_is_told() -> None:
    engine = Engine("e", None, None, [], [1.0] * 99 + [9.0], [2.0] * 100, [0.5] * 98 + [3.0] * 2)  # type: ignore[arg-type]
    assert row(engine) == ("e", "1.00 / 1.00", "2.00 / 2.00", "0.50 / 3.00", "100")
    assert "3.00 ms added" in section([row(engine)], 3.0)

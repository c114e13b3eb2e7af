"""A recorder for tests, and what it has written."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.core.reports import Fault
from pipeline.records.quality import Decision, Quality
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.recorder import SessionRecorder
from tests.support.utterances import draft, final, kept

STARTED = datetime(2026, 11, 22, 9, 30, 0, tzinfo=UTC)


def recorder(
    directory: Path, faults: list[Fault] | None = None, *, start: bool = True, **changes: Any
) -> SessionRecorder:
    """Return a recorder; `changes` are further arguments of it."""
    on_fault = (lambda _: None) if faults is None else faults.append
    usual: dict[str, Any] = {"source": "en", "targets": ("es",), "started_utc": STARTED}
    made = SessionRecorder(directory, **{"on_fault": on_fault} | usual | changes)
    if start:
        made.start()
    return made


def lines(folder: Path, name: str = "diagnostics.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def spoken(id: int, **changes: Any) -> UtteranceRecord:  # noqa: A002
    """Return an utterance's record; its decision is `moderate`."""
    return replace(kept(final(), draft()), id=id, **changes)


def judged_as(decision: Decision, score: float = 0.9) -> Quality:
    quality = kept(final(), draft()).quality
    assert quality is not None
    return replace(quality, decision=decision, score=score)

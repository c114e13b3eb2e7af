"""A coordinator with its hub, board and record, on an event loop of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from pipeline.captions.board import CaptionBoard
from pipeline.cli.screens import LineScreen
from pipeline.config.loader import load
from pipeline.config.schema import Server
from pipeline.core.metrics import Metrics
from pipeline.core.types import (
    Caption,
    Recognition,
    Transcript,
    Utterance,
)
from pipeline.daemon.coordinator import CaptionCoordinator
from pipeline.dictionary.store import Dictionary
from pipeline.server.hub import Hub
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import Degradation
from scripts.support.records import health_record


def utterance(id: int = 1) -> Utterance:  # noqa: A002
    return Utterance(
        id, 1, True, "silence", 0, 16_000, np.zeros(16_000, np.float32), 0.5, closed_s=1.0
    )


def transcript(text: str = "grace", id: int = 1) -> Transcript:  # noqa: A002
    return Transcript(utterance(id), "en", text, text, Recognition(text))


def caption(text: str, *, final: bool, id: int = 1) -> Caption:  # noqa: A002
    return Caption(transcript(id=id), "es", text, "gemma" if final else "marian", final)


class CoordinatorFixture:
    """A desk with a real board, recorder and metrics, and a hub that nobody has connected to."""

    def __init__(self, tmp_path: Path) -> None:
        self.board = CaptionBoard("test", "en", "es", 10)
        self.metrics = Metrics()
        self.ladder = Degradation()
        self.recorder = SessionRecorder(tmp_path, source="en", target="es", on_fault=print)
        self.recorder.start()
        hub = Hub(
            self.board,
            Server(),
            mode="live",
            token="secret",
            on_command=print,
            health=health_record,
            metrics=self.metrics,
        )
        self.coordinator = CaptionCoordinator(
            board=self.board,
            hub=hub,
            dictionary=Dictionary(load(flags={"session.directory": str(tmp_path)}).settings),
            recorder=self.recorder,
            metrics=self.metrics,
            ladder=self.ladder,
            screen=LineScreen(),
            mode="live",
            off_record_s=60.0,
            heard_s=lambda: self.heard_s,
        )
        self.heard_s = 1.0

    def written(self, name: str = "diagnostics.jsonl") -> list[dict[str, Any]]:
        self.recorder.close(5)
        lines = (self.recorder.folder / name).read_bytes().splitlines()
        records = [orjson.loads(line) for line in lines]
        return [record for record in records if record["type"] != "summary"]

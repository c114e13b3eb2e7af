"""Sessions made of a few words: a folder with a journal, as the recorder leaves it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from pipeline.protocol.codec import encode
from pipeline.records.events import Record
from pipeline.records.utterance import FinalRecord, UtteranceRecord
from pipeline.review.report_timeline import ReportedSession
from pipeline.review.store import Reviewed
from scripts.support.records import utterance_record


def message(
    id: int,  # noqa: A002
    source: str,
    target: str,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    seq: int = 0,
    engine: str = "gemma",
    lang: str = "es",
    final: bool = True,
) -> CaptionMessage:
    """Return a caption as it stands in the journal; by default it begins at 10 s times its id."""
    start_s = 10.0 * id if start_s is None else start_s
    return CaptionMessage(
        seq=seq or id,
        id=id,
        revision=1,
        final=final,
        start_s=start_s,
        end_s=start_s + 2.5 if end_s is None else end_s,
        source=SourceText("en", source),
        target=TargetText(lang, target, engine),
        stable=len(target),
    )


BEGAN = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)


def utc(at_s: float) -> str:
    """Return the time of day at a place in the audio of a session in real time."""
    return (BEGAN + timedelta(seconds=at_s)).isoformat(timespec="milliseconds")


def record(id: int, text: str, target: str = "", **fields: Any) -> UtteranceRecord:  # noqa: A002
    """Return an utterance's record; without a target it was filtered."""
    end_s = fields.get("end_s", 10.0 * id + 2.5)
    latency_ms = fields.get("last_syllable_to_final_ms", 900.0 + 10 * id)
    shown: dict[str, Any] = {
        "final": FinalRecord(lang="es", text=target, engine="gemma"),
        "partial_ms": 20.0,
        "final_busy_ms": 30.0,
        "final_ms": 180.0 + 10 * id,
        "overhead_ms": 4.0,
        "start_to_first_text_ms": 1200.0,
        "last_syllable_to_partial_ms": 700.0,
        "last_syllable_to_final_ms": latency_ms,
    }
    hidden: dict[str, Any] = {"final": None, "filtered": "no-speech"}
    heard: dict[str, Any] = {
        "utc": utc(end_s + latency_ms / 1000),
        "start_s": end_s - 2.5,
        "end_s": end_s,
    }
    return utterance_record(id, text, **{**heard, **(shown if target else hidden), **fields})


def told(
    captions: Iterable[CaptionMessage] = (),
    records: Iterable[Record] = (),
    decisions: Iterable[Reviewed] = (),
) -> ReportedSession:
    """Return a session as its report reads it, without files."""
    made = ReportedSession(Path("one"))
    read = {"captions": list(captions), "records": list(records)}
    open_or_not = [each for each in decisions if each.outcome != "open"]
    made.__dict__.update(read, decisions=open_or_not)  # what is read once stays
    return made


def session(
    directory: Path,
    messages: Iterable[CaptionMessage],
    name: str = "2026-11-22T09-30-00",
    *,
    records: Iterable[Record] = (),
) -> Path:
    """Write a session of these captions and records; return its folder."""
    folder = directory / name
    folder.mkdir(parents=True)
    lines = b"".join(encode(message) + b"\n" for message in messages)
    (folder / "captions.jsonl").write_bytes(lines)
    (folder / "diagnostics.jsonl").write_bytes(b"".join(orjson.dumps(r) + b"\n" for r in records))
    return folder

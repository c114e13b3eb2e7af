"""Sessions made of a few words: a folder with a journal, as the recorder leaves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from pipeline.protocol.codec import Message, SourceText, TargetText, encode


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
) -> Message:
    """Return a caption as it stands in the journal; by default it begins at 10 s times its id."""
    start_s = 10.0 * id if start_s is None else start_s
    return Message(
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


def record(id: int, text: str, target: str = "", **fields: Any) -> dict[str, Any]:  # noqa: A002
    """Return an utterance's record; without a target it was filtered."""
    end_s = fields.get("end_s", 10.0 * id + 2.5)
    latency_ms = fields.get("last_syllable_to_final_ms", 900.0 + 10 * id)
    final = {"lang": "es", "text": target, "engine": "gemma"} if target else None
    return {
        "type": "utterance",
        "id": id,
        "utc": utc(end_s + latency_ms / 1000),
        "lang": "en",
        "start_s": end_s - 2.5,
        "end_s": end_s,
        "level_dbfs": -23.1,
        "raw_text": text,
        "text": text,
        "corrections": [],
        "filtered": "" if target else "no-speech",
        "vad_wait_ms": 416.0,
        "stt_busy_ms": 0.0,
        "stt_ms": 250.0,
        "partial_ms": 20.0 if target else None,
        "final_busy_ms": 30.0 if target else None,
        "final_ms": 180.0 + 10 * id if target else None,
        "overhead_ms": 4.0 if target else None,
        "final": final,
        "start_to_first_text_ms": 1200.0 if target else None,
        "last_syllable_to_partial_ms": 700.0 if target else None,
        "last_syllable_to_final_ms": latency_ms if target else None,
    } | fields


def session(
    directory: Path,
    messages: Iterable[Message],
    name: str = "2026-11-22T09-30-00",
    *,
    records: Iterable[Mapping[str, Any]] = (),
) -> Path:
    """Write a session of these captions and records; return its folder."""
    folder = directory / name
    folder.mkdir(parents=True)
    lines = b"".join(encode(message) + b"\n" for message in messages)
    (folder / "captions.jsonl").write_bytes(lines)
    (folder / "diagnostics.jsonl").write_bytes(b"".join(orjson.dumps(r) + b"\n" for r in records))
    return folder

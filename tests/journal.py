"""Sessions made of a few words: a folder with a journal, as the recorder leaves it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pipeline.wire import Message, SourceText, TargetText, encode


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
) -> Message:
    start_s = 10.0 * id if start_s is None else start_s
    return Message(
        seq=seq or id,
        id=id,
        revision=1,
        final=True,
        start_s=start_s,
        end_s=start_s + 2.5 if end_s is None else end_s,
        source=SourceText("en", source),
        target=TargetText(lang, target, engine),
        stable=len(target),
    )


def session(
    directory: Path, messages: Iterable[Message], name: str = "2026-11-22T09-30-00"
) -> Path:
    folder = directory / name
    folder.mkdir(parents=True)
    lines = b"".join(encode(message) + b"\n" for message in messages)
    (folder / "captions.jsonl").write_bytes(lines)
    return folder

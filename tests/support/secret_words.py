"""A session with spoken secrets, and the files that contain them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.captions.redaction import Redaction
from pipeline.records.utterance import FinalRecord
from pipeline.session.recorder import SessionRecorder
from scripts.support.journal import message
from scripts.support.records import compare_record
from tests.support.recorder import judged_as, spoken

PURGE = Redaction(25.0, 60.0)


def fill(made: SessionRecorder, first: int = 1, last: int = 5) -> None:
    """Record captions; each starts at 10 s times its id, and those from id 3 on are secret."""
    for id in range(first, last + 1):  # noqa: A001
        word = f"secret{id}" if id >= 3 else f"open{id}"
        times = {"start_s": 10.0 * id, "end_s": 10.0 * id + 2.5}
        shown = FinalRecord(lang="es", text=word, engine="gemma")
        texts: dict[str, Any] = {"raw_text": word, "text": word, "final": shown}
        made.on_caption(message(id, word, word.upper(), seq=id), "es")
        quality = judged_as("accept" if id % 2 else "review", 0.9 if id % 2 else 0.6)
        made.record(spoken(id, **times, **texts, quality=quality, corrections=()))
        made.record(compare_record(id, f"{word} once more"))


def secrets(folder: Path) -> list[str]:
    """Return the names of the files that contain a secret."""
    return sorted(p.name for p in folder.iterdir() if b"secret" in p.read_bytes().lower())

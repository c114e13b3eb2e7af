"""Made-up sessions: a folder with a journal, as the recorder writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import orjson

from pipeline.config.schema import Server
from pipeline.core.types import Word
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText
from pipeline.protocol.codec import encode
from pipeline.records.events import Record
from pipeline.records.utterance import FinalRecord, PartialRecord, UtteranceRecord
from pipeline.review.report_timeline import ReportedSession
from pipeline.review.server import ReviewServer
from pipeline.review.store import Review, Reviewed
from pipeline.session.training_pairs import NAMES, PAIRS, QUEUE, Pair, ReviewItem
from scripts.support.loop_thread import LoopThread
from scripts.support.records import compare_record, utterance_record


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
    """Return a caption as the journal has it; by default it begins at 10 s times its id."""
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
    """Return the time of day at a position in the audio of a real-time session."""
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
    """Return a session as the report reads it, without files."""
    made = ReportedSession(Path("one"))
    read = {"captions": list(captions), "records": list(records)}
    open_or_not = [each for each in decisions if each.outcome != "open"]
    made.__dict__.update(read, decisions=open_or_not)  # cached values are not read again
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


NAME = "2026-11-22T09-30-00"
TOKEN = "Wf3kq1c2v8ñ"


def pair(key: int, source: str, target: str) -> dict[str, Any]:
    """Return the fields of a training pair."""
    return {
        "session": NAME,
        "id": key,
        "utc": "2026-11-22T09:30:07.250+00:00",
        "start_s": 10.0 * key,
        "end_s": 10.0 * key + 2.5,
        "source_lang": "en",
        "source": source,
        "raw_source": source.lower(),
        "target_lang": "es",
        "target": target,
        "engine": "gemma",
        "score": 0.61,
    }


def reviewable(
    directory: Path, count: int = 3, spoken: Sequence[tuple[str, str, str]] = ()
) -> Path:
    """Make a session with one good pair, id 1, and `count` doubtful ones from id 2 on.

    `spoken` has the sentences, their translations and the quick translator's translations. The
    longest word of each is in doubt.
    """
    texts = spoken or [
        (f"Sentence {n}.", f"Frase {n}.", f"Oración {n}.") for n in range(1, count + 2)
    ]
    numbered = [(n, *each) for n, each in enumerate(texts, 1)]
    records: list[Record] = [
        record(
            n,
            source,
            target,
            words=tuple(
                Word(word, 0.31 if word == max(source.split(), key=len) else 0.9)
                for word in source.split()
            ),
            partial=PartialRecord(lang="es", text=other, engine="marian"),
        )
        for n, source, target, other in numbered
    ]
    second = {"engine": "gemma", "model": "other.gguf"}
    records.append(compare_record(2, "La frase 2.", **second))
    records.append(compare_record(3, texts[2 % len(texts)][2], **second))
    captions = [message(n, source, target) for n, source, target, _ in numbered]
    folder = session(directory, captions, NAME, records=records)
    pairs = [pair(n, source, target) for n, source, target, _ in numbered]
    (folder / PAIRS).write_bytes(orjson.dumps(Pair(**pairs[0])) + b"\n")
    items = [ReviewItem(**each, reasons=("agreement:flag",)) for each in pairs[1:]]
    (folder / QUEUE).write_bytes(b"".join(orjson.dumps(item) + b"\n" for item in items))
    for name in NAMES:  # a service always makes all of them
        (folder / name).touch()
    return folder


class Reviewing:
    """A review that a thread serves; it can be stopped and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = 0
        self._loop = LoopThread("review")

    def __enter__(self) -> Self:
        self._loop.start()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._loop.stop()

    def start(self) -> None:
        """Serve, after `stop` on the same port as before."""
        self.review = Review(self.folder)
        self._server = ReviewServer(self.review, Server(port=self._port), token=TOKEN)
        self._loop.wait(self._server.start())
        self._port = int(self._server.address.rsplit(":", 1)[1].split("/")[0])

    def stop(self) -> None:
        """Stop the server and release the session."""
        self._loop.wait(self._server.close())
        self.review.close()

    @property
    def url(self) -> str:
        """The review page's address."""
        return self._server.address

"""Services to learn from: the real recorder writes them from a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import orjson

from pipeline.config.section import Session as SessionSettings
from pipeline.core.types import Mode, Pcm, Word
from pipeline.protocol.caption import TargetText
from pipeline.records.events import EndEvent, ModelsEvent, ModelUsed
from pipeline.records.quality import agreement
from pipeline.records.utterance import FinalRecord, PartialRecord, judged
from pipeline.review.store import REVIEWED, Outcome, Reviewed
from pipeline.session.recorder import SessionRecorder
from scripts.support.journal import message
from scripts.support.records import utterance_record

STARTED = datetime(2026, 11, 22, 9, 30, 0, tzinfo=UTC)
NAME = "2026-11-22T09-30-00"
NO_SOUND = SessionSettings()
GEMMA = ModelUsed(engine="gemma", setting="ours", file="gemma.gguf", size_bytes=7, sha256="ab" * 32)


@dataclass(frozen=True, kw_only=True)
class Said:
    """A sentence of a service; `sure` is the recognizer's mean log-probability."""

    source: str
    target: str
    heard: str = ""
    draft: str = ""
    sure: float = -0.05
    translated: float = -0.05
    edit: str | None = None
    """The operator's translation; "" hides it."""
    corrected: str = ""
    """What was said, as the operator has corrected it."""
    pcm: Pcm | None = None
    """Its sound; None means a tone."""


def hold(
    directory: Path,
    sentences: Sequence[Said],
    *,
    started: datetime = STARTED,
    mode: Mode = "live",
    keeping: SessionSettings = NO_SOUND,
) -> Path:
    """Hold a service; return its session folder. Sentence n is utterance n, from 10 * n s on."""
    made = SessionRecorder(
        directory,
        source="en",
        targets=("es",),
        on_fault=print,
        started_utc=started,
        keeping=keeping,
    )
    made.start()
    made.record(ModelsEvent(utc="2026-11-22T09:30:00.000+00:00", models=(GEMMA,)))
    for number, said in enumerate(sentences, 1):
        draft = said.draft or said.target
        record = replace(
            utterance_record(number, said.source, mode=mode),
            raw_text=said.heard or said.source,
            avg_logprob=said.sure,
            no_speech_prob=0.01,
            compression_ratio=1.1,
            words=tuple(Word(word, 0.9) for word in (said.heard or said.source).split()),
            final=FinalRecord(
                lang="es", text=said.target, engine="gemma", avg_logprob=said.translated
            ),
            partial=PartialRecord(lang="es", text=draft, engine="marian"),
            agreement=agreement(draft, said.target),
        )
        made.on_caption(message(number, said.source, said.target, seq=2 * number), "es")
        made.record(judged(record))
        made.on_sound(judged(record), tone(number) if said.pcm is None else said.pcm)
        if said.edit is not None:
            edited = message(number, said.edit and said.source, said.edit, seq=2 * number + 1)
            target = TargetText("es", said.edit, "operator")
            made.on_caption(replace(edited, target=target), "es")
        if said.corrected:
            new = message(number, said.corrected, said.target, seq=2 * number + 1)
            made.on_caption(replace(new, corrected=True), "es")
    made.record(EndEvent(utc="2026-11-22T10:30:00.000+00:00", unfinished=0, audio_s=900.0))
    assert made.close(10.0)
    return made.folder


def tone(number: int) -> Pcm:
    """Return half a second of sound that is unique to one utterance."""
    at = np.arange(8000, dtype=np.float32) / 16_000
    return (0.2 * np.sin(2 * np.pi * (200 + 20 * number) * at)).astype(np.float32)


def decide(folder: Path, key: int, outcome: Outcome, source: str = "", target: str = "") -> None:
    """Write a reviewer's decision."""
    decided = Reviewed(
        id=key,
        utc="2026-11-22T12:00:00.000+00:00",
        reviewer="Ana",
        outcome=outcome,
        source=source,
        target=target,
    )
    with (folder / REVIEWED).open("ab") as file:
        file.write(orjson.dumps(decided) + b"\n")


GOOD = Said(source="Grace is not a small word.", target="La gracia no es una palabra pequeña.")
UNSURE = Said(
    source="Turn with me to the book of Ezra.",
    heard="Turn with me to the book of extra.",
    target="Vayan conmigo al libro de Esdras.",
    sure=-0.35,
)
WRONG = Said(
    source="We will sing the last verse again.",
    target="Vamos a otra cosa.",
    draft="Cantaremos otra vez la última estrofa.",
    translated=-0.9,
)

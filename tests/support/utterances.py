"""Make an utterance's transcript, captions and record from a few words."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from pipeline.core.types import (
    Caption,
    Correction,
    Recognition,
    Span,
    Transcript,
    Translation,
    Utterance,
    Word,
)
from pipeline.records.utterance import UtteranceRecord, utterance_record

UTC = "2026-11-22T09:30:07.250+00:00"


def transcript(**changes: Any) -> Transcript:
    # Speech from 2 s to 4 s of the audio; the last syllable ends at 99.6 s, closed 0.4 s later.
    utterance = Utterance(
        7, 3, True, "silence", 32_000, 64_000, np.zeros(8, np.float32), 99.6, 100.0
    )
    made = Transcript(
        utterance,
        "en",
        raw_text="the grace of gods",
        text="the grace of God",
        recognition=Recognition(
            "the grace of gods",
            *(-0.21234, 0.01, 1.2),
            words=(Word("the", 0.98765), Word("gods", 0.4)),
            lost_tail_s=1.264,
            tail_recovered=True,
            lang_prob=0.98,
            engine="whisper:base-8s",
        ),
        corrections=(Correction("god", "gods", "God", 13),),
        level_dbfs=-23.44,
        peak_dbfs=-6.06,
        span=Span(100.1, 100.3, busy_s=0.1),
    )
    return replace(made, **changes)


def draft(text: str = "la gracia de Dios", of: Transcript | None = None) -> Caption:
    return Caption(
        of or transcript(),
        "es",
        text,
        "marian",
        final=False,
        translation=Translation(text, "marian", tokens=5),
        span=Span(100.301, 100.311),
    )


def final(text: str = "La gracia de Dios.", of: Transcript | None = None) -> Caption:
    return Caption(
        of or transcript(),
        "es",
        text,
        "gemma",
        final=True,
        translation=Translation(text, "gemma", 8, -0.105, 40, 30, "end", 7),
        span=Span(100.6, 101.0, busy_s=0.25),
        revised=2,
    )


def kept(caption: Caption, made: Caption | None, **changes: Any) -> UtteranceRecord:
    given_: dict[str, Any] = {
        "shown": ["la", "la gracia de Dios", caption.text],
        "published_s": 101.002,
        "first_shown_s": 98.9,
        "mode": "demo",
        "utc": UTC,
        "queues": {"mailbox": 1},
    }
    return utterance_record(caption, draft=made, **given_ | changes)


def record(caption: Caption, made: Caption | None, **changes: Any) -> dict[str, Any]:
    """Return the fields of an utterance's record."""
    return asdict(kept(caption, made, **changes))

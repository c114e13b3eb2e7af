"""Make records from little data, in the form that the daemon writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pipeline.core.types import SAMPLE_RATE, Caption, Recognition, Transcript, Utterance
from pipeline.records.health import Dropped, HealthRecord, Queues
from pipeline.records.utterance import CompareRecord, FinalRecord, UtteranceRecord


def health_record(**changes: Any) -> HealthRecord:
    """Return the health record of a daemon without problems."""
    made = HealthRecord(
        utc="2026-11-22T09:30:07.250+00:00",
        state="listening",
        reason="",
        mode="live",
        session="2026-11-22T09-30-00",
        uptime_s=31.0,
        audio_s=30.0,
        lag_s=0.0,
        rung="full",
        source="Microphone",
        recognizer="whisper base.en",
        partial="marian",
        final="gemma",
        setback="",
        queues=Queues(mailbox=0, drafts=2),
        dropped=Dropped(blocks=0, records=0, partials=0, drafts=0),
        memory_mb=900.0,
    )
    return replace(made, **changes)


def compare_record(id: int, text: str = "Amén.", **changes: Any) -> CompareRecord:  # noqa: A002
    """Return the record of a second final."""
    made = CompareRecord(
        id=id,
        utc="2026-11-22T09:30:07.250+00:00",
        lang="es",
        text=text,
        engine="marian",
        model="opus-mt-en-es",
        ms=41.3,
        stopped="end",
        agreement=0.85,
    )
    return replace(made, **changes)


def utterance_record(id: int, text: str = "amen", **changes: Any) -> UtteranceRecord:  # noqa: A002
    """Return the record of an utterance that was shown as recognized."""
    made = UtteranceRecord(
        id=id,
        utc="2026-11-22T09:30:07.250+00:00",
        mode="live",
        lang="en",
        start_s=10.0 * id,
        end_s=10.0 * id + 2.5,
        cause="silence",
        level_dbfs=-23.1,
        peak_dbfs=-6.0,
        raw_text=text,
        text=text,
        corrections=(),
        avg_logprob=None,
        no_speech_prob=None,
        compression_ratio=None,
        words=(),
        filtered="",
        updates=1,
        vad_wait_ms=416.0,
        stt_busy_ms=0.0,
        stt_ms=250.0,
        final=FinalRecord(lang="en", text=text, engine="source"),
    )
    return replace(made, **changes)


def utterance(
    id: int,  # noqa: A002
    start_s: float,
    end_s: float,
    *,
    revision: int = 0,
    final: bool = True,
    samples: int = 1,
    **more: Any,
) -> Utterance:
    """Return an utterance between two seconds of audio, with some samples of silence."""
    return Utterance(
        id=id,
        revision=revision,
        final=final,
        cause="silence" if final else "partial",
        start_sample=round(start_s * SAMPLE_RATE),
        end_sample=round(end_s * SAMPLE_RATE),
        pcm=np.zeros(samples, np.float32),
        **more,
    )


def caption(
    id: int,  # noqa: A002
    source: str,
    target: str,
    *,
    final: bool = False,
    stable: int = 0,
    engine: str = "marian",
    lang: str = "es",
    start_s: float = 0.0,
    end_s: float = 1.0,
) -> Caption:
    """Return a caption as the translator makes it; times are seconds of audio."""
    spoken = utterance(id, start_s, end_s, final=final)
    transcript = Transcript(spoken, "en", source, source, Recognition(source))
    return Caption(transcript, lang, target, engine, final, stable)

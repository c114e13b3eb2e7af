"""Data for the terminal to show."""

from __future__ import annotations

from dataclasses import replace

from pipeline.protocol.caption import CaptionMessage
from scripts.support.journal import message
from scripts.support.records import utterance_record

RECORD = utterance_record(
    1,
    last_syllable_to_final_ms=812.4,
    vad_wait_ms=402.0,
    stt_ms=90.0,
    partial_ms=8.0,
    overhead_ms=3.2,
)


def caption(
    id: int,  # noqa: A002
    source: str,
    target: str,
    final: bool = False,
    stable: int = 0,
) -> CaptionMessage:
    engine = "gemma" if final else "marian"
    made = message(id, source, target, start_s=61.2, end_s=64.0, seq=1, engine=engine, final=final)
    return replace(made, stable=stable)

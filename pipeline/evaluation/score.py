"""Score a session's accuracy and latency against the reference of a recording.

pipeline.evaluation.accuracy compares the texts. A recording played in a loop is scored against
as many repetitions as were heard.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.table import Table
from rich.text import Text

from pipeline.captions.subtitles import cues
from pipeline.core.percentiles import Spread, spread
from pipeline.evaluation.accuracy import Found, chrf_and_bleu, terms, uncovered, word_error_rate
from pipeline.evaluation.reference import Sentence, read_recording
from pipeline.records.summary import STAGES
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.reader import Session

_EARLY_S = 0.5
"""Seconds by which the voice detector may end an utterance before the sentence's last sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A session's figures; `dataclasses.asdict` makes them JSON-able. None: nothing to measure."""

    session: str
    audio_s: float
    utterances: int
    finals: int
    engines: dict[str, int]
    """Final captions by the engine that made them."""
    filtered: dict[str, int]
    """Utterances not shown, by reason."""
    uncovered: list[str]
    """Sentences of the reference that final captions cover by less than half."""
    wer: float | None
    chrf: float | None
    bleu: float | None
    source_terms: Found
    target_terms: Found
    last_syllable_to_final: Spread | None
    """From the end of speech according to the voice detector. This and the next two need a
    recording played in real time: a faster one arrives before anybody could have spoken it."""
    true_last_syllable_to_final: Spread | None
    """From the end of speech according to the reference."""
    start_to_first_text: Spread | None
    stages: dict[str, Spread | None]
    normalized_erasure: float | None
    """Mean; see pipeline.records.utterance."""
    dropped: dict[str, int]


def score(folder: Path, reference: Path, *, source: str = "en", target: str = "es") -> Score:
    """Score a session's folder against a reference such as demo/sermon.json.

    `source` and `target` are languages. Raises SessionError (session-unreadable,
    reference-unreadable).
    """
    session = Session(folder)
    utterances, shown = session.utterances, session.shown
    heard, read = cues(session.messages, "source"), cues(session.messages, "target")
    recording = read_recording(reference, source, target)
    # First: the length decides how many laps of the recording to compare with.
    audio_s = _audio_s(session, recording.duration_s)
    sentences = recording.sentences(audio_s)
    chrf, bleu = chrf_and_bleu(sentences, read)
    # If the recording is played faster than speech, latency is mostly queueing.
    live = shown if realtime(shown) else []
    erasures = [r.normalized_erasure for r in shown if r.normalized_erasure is not None]
    return Score(
        session=folder.name,
        audio_s=round(audio_s, 1),
        utterances=len(utterances),
        finals=len(heard),
        engines=dict(Counter(r.final.engine for r in shown if r.final)),
        filtered=dict(Counter(r.filtered for r in utterances if r.filtered)),
        uncovered=uncovered(sentences, heard),
        wer=word_error_rate(sentences, heard),
        chrf=chrf,
        bleu=bleu,
        source_terms=terms(sentences, heard, "source"),
        target_terms=terms(sentences, read, "target"),
        last_syllable_to_final=spread(r.last_syllable_to_final_ms for r in live),
        true_last_syllable_to_final=spread(_true_delays_ms(live, sentences)),
        start_to_first_text=spread(r.start_to_first_text_ms for r in live),
        # All utterances: the recognizer spends time on filtered ones too.
        stages={name: spread(getattr(r, key) for r in utterances) for name, key in STAGES.items()},
        normalized_erasure=round(sum(erasures) / len(erasures), 3) if erasures else None,
        dropped=dict(session.dropped),
    )


def table(result: Score, models: Mapping[str, str] | None = None) -> Table:
    """Return the score as a table for display; `models` gives the model of each engine."""
    out = Table(
        title=f"Session {result.session}: {result.audio_s:.0f} s of audio", show_header=False
    )
    out.add_column("measure")
    out.add_column("value")
    for engine, model in (models or {}).items():
        out.add_row(engine, model)
    out.add_section()
    # Text, not markup: rich would take brackets in a sentence for a style.
    missing = Text("0")
    if result.uncovered:
        missing = Text(f"{len(result.uncovered)}: {' / '.join(result.uncovered[:3])}", "bold red")
    rows: list[tuple[str, str | Text]] = [
        ("utterances, finals", f"{result.utterances}, {result.finals}{_counts(result.engines)}"),
        ("filtered", f"{sum(result.filtered.values())}{_counts(result.filtered)}"),
        ("sentences without a final", missing),
        ("recognized text: WER", _figure(result.wer, ".1%")),
        ("recognized text: terms", str(result.source_terms)),
        ("translated text: chrF", _figure(result.chrf, ".1f")),
        ("translated text: BLEU", _figure(result.bleu, ".1f")),
        ("translated text: terms", str(result.target_terms)),
        ("normalized erasure", _figure(result.normalized_erasure, ".2f")),
        ("dropped", ", ".join(f"{name} {count}" for name, count in result.dropped.items())),
    ]
    for row in rows:
        out.add_row(*row)
    out.add_section()
    out.add_row("milliseconds", "p50 / p95 / p99 / max")
    times: dict[str, Spread | None] = {
        "start of speech to first text": result.start_to_first_text,
        "last syllable to final, as detected": result.last_syllable_to_final,
        "last syllable to final, true": result.true_last_syllable_to_final,
        **result.stages,
    }
    for name, took in times.items():
        out.add_row(name, "-" if took is None else _milliseconds(took))
    return out


def _audio_s(session: Session, lap_s: float) -> float:
    """Return the seconds of the recording that were heard."""
    if session.heard_s is not None:
        return session.heard_s
    # The session did not end cleanly: compare it with the whole last lap.
    last_s = max((record.end_s for record in session.utterances), default=lap_s)
    return math.ceil(last_s / lap_s) * lap_s


def _true_delays_ms(
    shown: Sequence[UtteranceRecord], sentences: Sequence[Sentence]
) -> Iterable[float | None]:
    """Yield the delay from an utterance's true end to its display, if it ends with a sentence."""
    for record in shown:
        start_s, end_s, took_ms = record.start_s, record.end_s, record.last_syllable_to_final_ms
        inside = [s.end_s for s in sentences if s.overlap_s(start_s, end_s) > 0]
        # An utterance that was cut within a sentence has no true end.
        if inside and inside[-1] <= end_s + _EARLY_S and took_ms is not None:
            yield took_ms + (end_s - inside[-1]) * 1000


def realtime(shown: Sequence[UtteranceRecord]) -> bool:
    """Return whether the recording was played in real time: captions came no faster than speech."""
    # A single caption has no pace.
    if len(shown) < 2:
        return False
    first, last = shown[0], shown[-1]
    took = datetime.fromisoformat(last.utc) - datetime.fromisoformat(first.utc)
    # 0.9, not 1: the last utterance may be processed faster than the first.
    return took.total_seconds() > 0.9 * (last.end_s - first.end_s)


def _counts(by_name: dict[str, int]) -> str:
    return (
        f" ({', '.join(f'{name} {count}' for name, count in by_name.items())})" if by_name else ""
    )


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _milliseconds(spread: Spread) -> str:
    figures = (spread.p50, spread.p95, spread.p99, spread.max)
    return " / ".join(f"{ms:.{0 if ms >= 100 else 1}f}" for ms in figures)

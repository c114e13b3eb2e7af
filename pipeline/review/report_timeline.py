"""The plots of a session's report, and what they are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from pipeline.captions.subtitles import Side, languages
from pipeline.core.percentiles import spread
from pipeline.evaluation.score import STAGES, realtime
from pipeline.protocol.codec import Message
from pipeline.review.markup import Markup, join, tag
from pipeline.review.store import Reviewed
from pipeline.review.svg import Bar, Column, Lane, clock, histogram, stacked, timeline
from pipeline.workers.degradation import Rung

_RUNGS = {rung.name.lower().replace("_", "-"): rung for rung in Rung}
_TROUBLES = ("fault", "broken", "source", "records-dropped")
_QUIET = ("listening", "speech")
_KINDS = {
    "engine-gemma": "final by Gemma",
    "engine-marian": "final by Marian",
    "engine-operator": "edited by an operator",
    "engine-source": "not translated",
    "filtered": "not shown",
    "calm": "listening",
    "note": "other states, operator",
    "bad": "fault, behind",
}
_MARK_S = 0.4  # of 100 s: how wide an event is drawn


class Session:
    """A session's files, read."""

    def __init__(
        self,
        name: str,
        captions: Sequence[Message],
        records: Sequence[Mapping[str, Any]],
        decisions: Sequence[Reviewed] = (),
    ) -> None:
        """Take the newest captions, hidden ones left out, the diagnostics records, the review."""
        self.name = name
        self.decisions = [decided for decided in decisions if decided.outcome != "open"]
        self.captions = captions
        default: dict[Side, str] = {"source": "en", "target": "es"}
        self.langs = default | languages(captions)
        self.utterances = [r for r in records if r["type"] == "utterance"]
        self.shown = [r for r in self.utterances if r["final"] is not None]
        self.health = [r for r in records if r["type"] == "health"]
        self.events = [r for r in records if r["type"] == "event"]
        self.compares = [r for r in records if r["type"] == "compare"]
        self.troubles = [e for e in self.events if _tone(e) == "bad"]
        self.by_id = {r["id"]: r for r in self.utterances}

    @cached_property
    def length_s(self) -> float:
        """Seconds of audio."""
        ends = [e["audio_s"] for e in self.events if e["event"] == "end" and "audio_s" in e]
        spoken = [r["end_s"] for r in self.utterances] + [m.end_s for m in self.captions]
        return float(max([*ends, *spoken], default=0.0))

    @cached_property
    def realtime(self) -> bool:
        """Whether captions came as slowly as speech."""
        return realtime(self.shown)

    @property
    def input(self) -> str:
        """Where the audio came from."""
        return str(self.health[-1].get("source", "")) if self.health else ""

    @property
    def dropped(self) -> Mapping[str, int]:
        """What was given up, by kind."""
        return self.health[-1].get("dropped", {}) if self.health else {}

    def at_s(self, utc: str) -> float:
        """Return where in the audio the session was at a time of day.

        In real time health records tell. A file played as fast as possible is read long before it
        is worked on: then it is the utterance that was finished last.
        """
        wall, audio = self._clock
        return float(np.interp(_wall(utc), wall, audio))

    @cached_property
    def _clock(self) -> tuple[list[float], list[float]]:
        if self.realtime:
            known = [(r["utc"], r["audio_s"]) for r in self.health if "audio_s" in r]
        else:
            known = [(r["utc"], r["end_s"]) for r in self.utterances]
        pairs = sorted((_wall(utc), at_s) for utc, at_s in known) or [(0.0, 0.0)]
        return [wall for wall, _ in pairs], [at_s for _, at_s in pairs]


def session_timeline(session: Session) -> Markup:
    """Return what happened when: captions, filtered text, state, lag and rung, events."""
    width_s = session.length_s * _MARK_S / 100
    engines = {m.id: m.target.engine for m in session.captions}
    bars: dict[bool, list[Bar]] = {False: [], True: []}
    for record in session.utterances:
        key, dropped = record["id"], bool(record["filtered"])
        if not dropped and key not in engines:
            continue  # hidden by an operator
        kind = "filtered" if dropped else f"engine-{_engine(engines[key])}"
        words = record["filtered"] if dropped else engines[key]
        title = f"{clock(record['start_s'])} {words}: {record['text'] or record['raw_text']}"
        href = f"#f{key}" if dropped else f"#u{key}"
        bars[dropped].append(Bar(record["start_s"], record["end_s"], kind, title, href))
    marks = [
        Bar(at_s, at_s + width_s, _tone(event), f"{clock(at_s)} {_told(event)}")
        for event in session.events
        if event["event"] != "end"
        for at_s in [session.at_s(event["utc"])]
    ]
    lag = [(session.at_s(r["utc"]), r.get("lag_s", 0.0)) for r in session.health]
    top_s = max([lag_s for _, lag_s in lag] + [4.0])
    rungs = [(0.0, 0.0)] + [
        (session.at_s(e["utc"]), float(_RUNGS.get(_kebab(e["rung"]), Rung.FULL)))
        for e in session.events
        if e["event"] == "rung"
    ]
    lanes = [
        Lane("captions", 34, bars[False]),
        Lane("not shown", 16, bars[True]),
        Lane("state", 12, _states(session)),
        Lane("events", 16, marks),
        Lane(f"lag, 0–{top_s:.0f} s", 34, steps=lag, top=top_s),
        Lane("rung, 0–5", 24, steps=rungs, top=float(max(Rung))),
    ]
    drawn = {bar.kind for lane in lanes for bar in lane.bars}
    legend = [(kind, name) for kind, name in _KINDS.items() if kind in drawn]
    return _figure(timeline(session.length_s, lanes), legend)


def latencies(session: Session) -> Markup:
    """Return every caption's latency, stacked by stage."""
    columns = []
    for record in session.shown:
        parts = {_stage(key): float(record.get(key) or 0.0) for key in STAGES.values()}
        total_s = (record.get("last_syllable_to_final_ms") or 0.0) / 1000
        title = f"{clock(record['start_s'])} {total_s:.2f} s: {record['text']}"
        columns.append(Column(parts, title, f"#u{record['id']}"))
    if not columns:
        return Markup()
    legend = [(_stage(key), name) for name, key in STAGES.items()]
    says = "From the last syllable to the caption, for each utterance, by what the time went into."
    return join(tag("p", says), _figure(stacked(columns), legend))


def distribution(session: Session) -> Markup:
    """Return how the latencies are distributed."""
    values = [r.get("last_syllable_to_final_ms") for r in session.shown]
    took = spread(values)
    if took is None:
        return Markup()
    known = [value for value in values if value is not None]
    says = "How many captions took how long from the last syllable."
    plot = histogram(known, {"median": took.p50, "95 %": took.p95})
    return join(tag("p", says), _figure(plot, []))


def _states(session: Session) -> list[Bar]:
    """Return the session's states; a health record's holds until the next record."""
    found: list[Bar] = []
    starts = [session.at_s(record["utc"]) for record in session.health]
    spans = pairwise([*starts, session.length_s])
    for record, (start_s, end_s) in zip(session.health, spans, strict=True):
        state = str(record.get("state", ""))
        if state == "ended":
            continue
        kind = "calm" if state in _QUIET else _state_tone(state)
        why = record.get("reason") or ("listening" if kind == "calm" else state)
        bar = Bar(start_s, max(start_s, end_s), kind, why)
        if found and (found[-1].kind, found[-1].title) == (kind, why):
            bar = replace(bar, start_s=found.pop().start_s)
        found.append(bar)
    return found


def _figure(plot: Markup, legend: Sequence[tuple[str, str]]) -> Markup:
    entries = [tag("li", tag("i", class_=kind), name) for kind, name in legend]
    return tag(
        "figure",
        tag("div", plot, class_="plot"),
        tag("figcaption", tag("ul", *entries, class_="legend")) if entries else Markup(),
    )


def _told(event: Mapping[str, Any]) -> str:
    facts = [str(value) for key, value in event.items() if key not in ("type", "utc", "event")]
    return f"{event['event']}: {', '.join(facts)}"


def _tone(event: Mapping[str, Any]) -> str:
    if event["event"] == "source" and not event.get("lost"):
        return "good"
    return "bad" if event["event"] in _TROUBLES else "note"


def _state_tone(state: str) -> str:
    return "bad" if state in ("fault", "no-audio", "behind") else "note"


def _engine(name: str) -> str:
    return name if name in ("gemma", "marian", "operator", "source") else "other"


def _stage(key: str) -> str:
    return "stage-" + _kebab(key.removesuffix("_ms"))


def _kebab(name: str) -> str:
    return str(name).lower().replace("_", "-")


def _wall(utc: str) -> float:
    return datetime.fromisoformat(utc).timestamp()

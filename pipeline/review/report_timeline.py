"""The timeline of a session's report, and the session data behind it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from pipeline.core.formats import clock
from pipeline.evaluation.score import realtime
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.events import EventRecord, RungEvent, SourceEvent
from pipeline.records.health import RUNG_NAMES
from pipeline.review.rendering import render_part
from pipeline.review.store import Reviewed, read_decisions
from pipeline.review.svg import Bar, Lane, timeline
from pipeline.review.wording import event_text, filter_reason
from pipeline.session.reader import Session

_TROUBLES = ("fault", "broken", "source", "records-dropped")
_CHANGES = ("song", "command", "source", "fault", "broken", "rung", "off-record", "resumed")
"""Events that change the state."""
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


class ReportedSession(Session):
    """A session with the facts that its report derives from the files."""

    @cached_property
    def decisions(self) -> list[Reviewed]:
        """People's decisions about the captions in doubt."""
        decided = read_decisions(self.folder).values()
        return [each for each in decided if each.outcome != "open"]

    @cached_property
    def texts(self) -> dict[int, CaptionMessage]:
        """The newest version of each caption by id; those that an operator hid are left out."""
        return {message.id: message for message in self.captions}

    @cached_property
    def troubles(self) -> list[EventRecord]:
        """The events that mean trouble."""
        # The same as in the timeline: each red mark there has its row in the table of troubles.
        return [event for event in self.events if _tone(event) == "bad"]

    @cached_property
    def length_s(self) -> float:
        """Seconds of audio."""
        # From both files: after a crash, one of them may end earlier.
        spoken = [r.end_s for r in self.utterances] + [m.end_s for m in self.captions]
        return max([self.heard_s or 0.0, *spoken])

    @cached_property
    def realtime(self) -> bool:
        """Whether the audio was played in real time; also true if too few captions tell."""
        # With fewer than two captions, only the health records say where something happened.
        return len(self.shown) < 2 or realtime(self.shown)

    def at_s(self, utc: str) -> float:
        """Return the position in the audio, in seconds, at a time of day.

        In real time, the health records tell it. A file played as fast as possible is read long
        before it is processed: then it is the position of the last finished utterance.
        """
        wall, audio = self._clock
        return float(np.interp(_wall(utc), wall, audio))

    @cached_property
    def _clock(self) -> tuple[list[float], list[float]]:
        if self.realtime:
            known = [(r.utc, r.audio_s) for r in self.health]
        else:
            known = [(r.utc, r.end_s) for r in self.utterances]
        # Sorted, as np.interp requires: the machine's clock may have been set back.
        pairs = sorted((_wall(utc), at_s) for utc, at_s in known) or [(0.0, 0.0)]
        return [wall for wall, _ in pairs], [at_s for _, at_s in pairs]


def session_timeline(session: ReportedSession) -> Markup:
    """Return the timeline: captions, filtered text, states, events, lag, back-off steps."""
    width_s = session.length_s * _MARK_S / 100  # an event has no length, but must be seen
    engines = {m.id: m.target.engine for m in session.captions}
    bars: dict[bool, list[Bar]] = {False: [], True: []}
    for record in session.utterances:
        key, dropped = record.id, bool(record.filtered)
        if not dropped and key not in engines:
            continue  # hidden by an operator
        kind = "filtered" if dropped else f"engine-{engines[key]}"
        # The name becomes a class of the style sheet, so it must not be text from a file.
        kind = kind if kind in _KINDS else "engine-other"
        words = filter_reason(record.filtered) if dropped else engines[key]
        title = f"{clock(record.start_s)} {words}: {record.text or record.raw_text}"
        href = f"#f{key}" if dropped else f"#u{key}"
        bars[dropped].append(Bar(record.start_s, record.end_s, kind, title, href))
    marks = [
        Bar(at_s, at_s + width_s, _tone(event), f"{clock(at_s)} {event_text(event)}")
        for event in session.events
        # The right edge of the drawing shows the end already.
        if event.event != "end"
        for at_s in [session.at_s(event.utc)]
    ]
    lag = [(session.at_s(r.utc), r.lag_s) for r in session.health]
    top_s = max([lag_s for _, lag_s in lag] + [4.0])  # a calm service must not look troubled
    # At the start nothing is cut back, and no event says so.
    rungs = [(0.0, 0.0)] + [
        (session.at_s(event.utc), float(RUNG_NAMES.index(event.rung)))
        for event in session.events
        if isinstance(event, RungEvent)
    ]
    lanes = [
        Lane("captions", 34, bars[False]),
        Lane("not shown", 16, bars[True]),
        Lane("state", 12, _states(session)),
        Lane("events", 16, marks),
        Lane(f"behind, 0–{top_s:.0f} s", 34, steps=lag, top=top_s),
        Lane("cut back, 0–5", 24, steps=rungs, top=float(len(RUNG_NAMES) - 1)),
    ]
    drawn = {bar.kind for lane in lanes for bar in lane.bars}
    legend = [(kind, name) for kind, name in _KINDS.items() if kind in drawn]
    drawing = timeline(session.length_s, lanes)
    return render_part("tables.html", "plot", drawing=drawing, legend=legend)


def _states(session: ReportedSession) -> list[Bar]:
    """Return the session's states; the state of a health record lasts until the next record."""
    bars: list[Bar] = []
    starts = [session.at_s(utc) for utc in _since(session)]
    # The last one lasts to the end of the session.
    spans = pairwise([*starts, session.length_s])
    for record, (start_s, end_s) in zip(session.health, spans, strict=True):
        # It has no length, because nothing follows it.
        if record.state == "ended":
            continue
        kind = "calm" if record.state in _QUIET else "note"
        if record.state in ("fault", "no-audio", "behind"):
            kind = "bad"
        why = record.reason or ("listening" if kind == "calm" else record.state)
        bar = Bar(start_s, max(start_s, end_s), kind, why)
        # Equal states are merged: otherwise there would be hundreds of equal bars.
        if bars and (bars[-1].kind, bars[-1].title) == (kind, why):
            bar = replace(bar, start_s=bars.pop().start_s)
        bars.append(bar)
    return bars


def _since(session: ReportedSession) -> list[str]:
    """Return the time at which the state of each health record began.

    Records are seconds apart. If a state changed between two records, the event that changed it
    has the time.
    """
    changes = [e.utc for e in session.events if e.event in _CHANGES]
    since = [record.utc for record in session.health[:1]]
    for before, record in pairwise(session.health):
        between = [utc for utc in changes if before.utc < utc <= record.utc]
        has_changed = (before.state, before.reason) != (record.state, record.reason)
        # The last of several events, since it led to the state.
        since.append(between[-1] if between and has_changed else record.utc)
    return since


def _tone(event: EventRecord) -> str:
    if isinstance(event, SourceEvent) and not event.lost:
        return "good"
    return "bad" if event.event in _TROUBLES else "note"


def _wall(utc: str) -> float:
    return datetime.fromisoformat(utc).timestamp()

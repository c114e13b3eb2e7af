"""All services on one page: whether they get better, and which models were in use.

The data comes from the sessions' records and the data folder of learning. Like a session's report,
the page is one file without scripts, and everything from people or engines is inserted as text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import SessionError
from pipeline.core.percentiles import spread
from pipeline.evaluation.word_errors import word_error_rate
from pipeline.learning.compare import COMPARISONS
from pipeline.learning.cycle import read_focus, terms_misheard
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.data.harvest import Harvest
from pipeline.learning.deploy import DEPLOYMENTS
from pipeline.records.events import BrokenEvent, FaultEvent
from pipeline.review.rendering import render_page
from pipeline.review.store import Reviewed, read_decisions
from pipeline.review.svg import columns
from pipeline.review.wording import GRADES
from pipeline.session.reader import Session, started

_BINS = 10
_GOAL_S = 0.8
"""Goal for the time from the last syllable to the caption, at the 95th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFigures:
    """The figures of a session; None if a figure is unknown."""

    name: str
    minutes: float
    captions: int
    p50_s: float | None
    p95_s: float | None
    """From the last syllable to the caption."""
    good: float | None
    """Share of the captions that are good (`GRADES`), 0..1."""
    wer: float | None
    """Word error rate of the reviewed captions, 0..1 and above."""
    terms: float | None
    """Share of church terms misheard in the reviewed captions, 0..1."""
    reviewed_minutes: float
    dictionary: int
    """Corrections by the dictionary."""
    faults: int
    memory_mb: float | None
    """The peak of the memory."""
    estimates: tuple[float, ...]
    """Quality estimate of each translation, 0..1."""


def figures(folder: Path, found: Harvest | None = None) -> ServiceFigures:
    """Return a session's figures; `found` is its collected harvest. Raises SessionError."""
    session = Session(folder)
    shown = session.shown
    decided = [each for each in read_decisions(folder).values() if each.outcome != "open"]
    took = spread(record.last_syllable_to_final_ms for record in shown)
    # In the words of the report, so that both pages agree about a service.
    grades = Counter(GRADES[record.quality.decision] for record in shown if record.quality)
    lengths = {record.id: record.end_s - record.start_s for record in shown}
    estimates = [record.quality.parts.estimate for record in shown if record.quality]
    # Without lost microphones, which a report counts as troubles.
    troubles = [event for event in session.events if isinstance(event, FaultEvent | BrokenEvent)]
    return ServiceFigures(
        name=folder.name,
        # An interrupted session has no event with the length of its audio.
        minutes=round((session.heard_s or sum(lengths.values())) / 60, 1),
        captions=len(shown),
        p50_s=round(took.p50 / 1000, 2) if took else None,
        p95_s=round(took.p95 / 1000, 2) if took else None,
        good=grades["good"] / grades.total() if grades else None,
        wer=_wer(session, decided),
        terms=_terms(found) if found else None,
        reviewed_minutes=round(sum(lengths.get(each.id, 0.0) for each in decided) / 60, 1),
        dictionary=sum(len(record.corrections) for record in session.utterances),
        faults=len(troubles),
        memory_mb=max((record.memory_mb for record in session.health), default=None),
        estimates=tuple(each for each in estimates if each is not None),
    )


def dashboard(folders: Sequence[Path], data: DataFolder) -> str:
    """Return the page of these sessions, the oldest first. Raises LearningError.

    The page leaves out a session that cannot be read, and names it.
    """
    services: list[ServiceFigures] = []
    unread: list[str] = []
    for folder in folders:
        try:
            collected = data.session_file(folder.name).exists()
            service = figures(folder, data.harvest(folder.name) if collected else None)
            if service.captions:  # a failed start is no service
                services.append(service)
        # The page reports it: one damaged session must not hide the others.
        except SessionError as error:
            unread.append(str(error))
    return render_page(
        "dashboard.html",
        services=[(day(each.name), each) for each in services],
        unread=unread,
        charts=_charts(services),
        # The last change of each role is in effect.
        models=list({each.role: each for each in DEPLOYMENTS.read(data)}.values()),
        comparisons=COMPARISONS.read(data)[:-6:-1],  # the five newest, the newest first
        focus=read_focus(data),
        minutes=round(sum(each.minutes for each in services)),
        reviewed=round(sum(each.reviewed_minutes for each in services), 1),
        pairs=len(data.pairs()),
    )


def day(name: str) -> str:
    """Return the start of a session in short form for a chart: "Sun 22 Nov, 9:30"."""
    began = started(name)
    return name if began is None else f"{began:%a} {began.day} {began:%b}, {began.hour}:{began:%M}"


def _charts(services: Sequence[ServiceFigures]) -> list[tuple[str, str, object]]:
    """Return (title, explanation, drawing) of each chart that is not empty."""
    charts: list[tuple[str, str, list[float | None], float, float | None]] = [
        (
            "Words misheard",
            "Of what people have reviewed: of 100 words, how many were heard wrongly.",
            [None if each.wer is None else 100 * each.wer for each in services],
            10.0,
            None,
        ),
        (
            "Church words misheard",
            "Of 100 words of the dictionary that were said in what people have reviewed.",
            [None if each.terms is None else 100 * each.terms for each in services],
            10.0,
            None,
        ),
        (
            "How quickly",
            "Seconds from the last syllable until 95 of 100 captions were there; goal: the band.",
            [each.p95_s for each in services],
            2.0,
            _GOAL_S,
        ),
        (
            "Good captions",
            "Of 100 captions, how many need no second look.",
            [None if each.good is None else 100 * each.good for each in services],
            100.0,
            None,
        ),
        (
            "What went wrong",
            "Faults of each service; its report names them.",
            # None instead of 0: a service without faults has no column.
            [float(each.faults) or None for each in services],
            5.0,
            None,
        ),
    ]
    names = [day(each.name) for each in services]
    made: list[tuple[str, str, object]] = [
        (title, says, columns(list(zip(names, values, strict=True)), top, title, goal))
        for title, says, values, top, goal in charts
        # A chart without any column would look like a fault of the page.
        if any(value is not None for value in values)
    ]
    estimates = [value for each in services for value in each.estimates]
    if estimates:
        # 1.0 itself, which would be bin number 10, belongs to the last bin.
        counts = Counter(min(_BINS - 1, int(value * _BINS)) for value in estimates)
        bins: list[tuple[str, float | None]] = [
            (f"{number / _BINS:.1f}", float(counts[number])) for number in range(_BINS)
        ]
        says = "How sure the translators were, from 0 to 1, and how many captions they made so."
        made.append(("How sure", says, columns(bins, 10.0, "How sure")))
    return made


def _terms(found: Harvest) -> float | None:
    """Return the share of the church's words that were misheard in reviewed captions."""
    # Only there is the text what was really said; elsewhere it is the recognized text.
    said, misheard = terms_misheard(pair for pair in found.pairs if pair.source == "review")
    return misheard.total() / said.total() if said else None


def _wer(session: Session, decided: Sequence[Reviewed]) -> float | None:
    """Return the WER of the recognized text against the reviewed text."""
    pairs = [
        (each.source, record.text)
        for each in decided
        # A rejected caption has no text of what was really said.
        if each.outcome in ("approved", "corrected") and (record := session.by_id.get(each.id))
    ]
    # Over all words together: short captions would dominate a mean over captions.
    rate = word_error_rate((said, heard) for said, heard in pairs if said.strip())
    return None if rate is None else round(rate, 4)

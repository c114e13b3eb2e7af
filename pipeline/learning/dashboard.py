"""All services on one page: are they getting better, and which models were in use?

Told from the sessions' records and the data folder of learning. Like a session's report it is one
file without scripts, and whatever people or engines have said is text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import SessionError
from pipeline.core.percentiles import spread
from pipeline.evaluation.word_errors import word_error_rate
from pipeline.learning.compare import read_comparisons
from pipeline.learning.cycle import read_focus, terms_misheard
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.data.harvest import Harvest
from pipeline.learning.deploy import read_deployments
from pipeline.records.events import BrokenEvent, FaultEvent
from pipeline.review.rendering import render_page
from pipeline.review.store import Reviewed, read_decisions
from pipeline.review.svg import columns
from pipeline.review.wording import GRADES
from pipeline.session.reader import Session, started

_BINS = 10
_GOAL_S = 0.8
"""From the last syllable to the caption, for 95 of 100."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFigures:
    """A session in figures; None where there is nothing to say."""

    name: str
    minutes: float
    captions: int
    p50_s: float | None
    p95_s: float | None
    """From the last syllable to the caption."""
    good: float | None
    """Share of the captions that are good (`GRADES`), 0..1."""
    wer: float | None
    """Of what a person has reviewed: words that were heard wrongly, 0..1 and above."""
    terms: float | None
    """The same of the church's words, 0..1."""
    reviewed_minutes: float
    dictionary: int
    """Corrections by the dictionary."""
    faults: int
    memory_mb: float | None
    """The most there was."""
    estimates: tuple[float, ...]
    """Of each translation, 0..1."""


def figures(folder: Path, found: Harvest | None = None) -> ServiceFigures:
    """Return a session's figures; `found` is what was collected of it. Raises SessionError."""
    session = Session(folder)
    shown = session.shown
    decided = [each for each in read_decisions(folder).values() if each.outcome != "open"]
    took = spread(record.last_syllable_to_final_ms for record in shown)
    # By the words of the report, so that both pages say the same of a service.
    grades = Counter(GRADES[record.quality.decision] for record in shown if record.quality)
    lengths = {record.id: record.end_s - record.start_s for record in shown}
    estimates = [record.quality.parts.estimate for record in shown if record.quality]
    # Without lost microphones, which a report counts among the troubles.
    troubles = [event for event in session.events if isinstance(event, FaultEvent | BrokenEvent)]
    return ServiceFigures(
        name=folder.name,
        # A session that broke off has no event that says how much it heard.
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

    A session that cannot be read is named on the page and left out.
    """
    services: list[ServiceFigures] = []
    unread: list[str] = []
    for folder in folders:
        try:
            collected = data.session_file(folder.name).exists()
            told = figures(folder, data.harvest(folder.name) if collected else None)
            if told.captions:  # a start that failed is no service
                services.append(told)
        # Told on the page: one damaged session must not hide all the others.
        except SessionError as error:
            unread.append(str(error))
    return render_page(
        "dashboard.html",
        services=[(day(each.name), each) for each in services],
        unread=unread,
        charts=_charts(services),
        # The last change of each role is in force.
        models=list({each.role: each for each in read_deployments(data)}.values()),
        comparisons=read_comparisons(data)[:-6:-1],  # the five newest, the last one first
        focus=read_focus(data),
        minutes=round(sum(each.minutes for each in services)),
        reviewed=round(sum(each.reviewed_minutes for each in services), 1),
        pairs=len(data.pairs()),
    )


def day(name: str) -> str:
    """Return when a session began, as short as a chart needs it: "Sun 22 Nov, 9:30"."""
    began = started(name)
    return name if began is None else f"{began:%a} {began.day} {began:%b}, {began.hour}:{began:%M}"


def _charts(services: Sequence[ServiceFigures]) -> list[tuple[str, str, object]]:
    """Return (title, what it says, drawing) of each chart that has anything to draw."""
    told: list[tuple[str, str, list[float | None], float, float | None]] = [
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
        for title, says, values, top, goal in told
        # A chart without a single column would look like a fault of the page.
        if any(value is not None for value in values)
    ]
    estimates = [value for each in services for value in each.estimates]
    if estimates:
        # 1.0 itself belongs to the last bin, which would be number 10.
        counts = Counter(min(_BINS - 1, int(value * _BINS)) for value in estimates)
        bins: list[tuple[str, float | None]] = [
            (f"{number / _BINS:.1f}", float(counts[number])) for number in range(_BINS)
        ]
        says = "How sure the translators were, from 0 to 1, and how many captions they made so."
        made.append(("How sure", says, columns(bins, 10.0, "How sure")))
    return made


def _terms(found: Harvest) -> float | None:
    """Return the share of the church's words that were misheard, of what was reviewed."""
    # Only there is the text what was really said; elsewhere it is what was recognized.
    said, misheard = terms_misheard(pair for pair in found.pairs if pair.source == "review")
    return misheard.total() / said.total() if said else None


def _wer(session: Session, decided: Sequence[Reviewed]) -> float | None:
    """Return the WER of what was heard, compared with the reviewed text."""
    pairs = [
        (each.source, record.text)
        for each in decided
        # Of a rejected one nobody has said what was really spoken.
        if each.outcome in ("approved", "corrected") and (record := session.by_id.get(each.id))
    ]
    # Over all words together: the mean of captions would be ruled by the short ones.
    rate = word_error_rate((said, heard) for said, heard in pairs if said.strip())
    return None if rate is None else round(rate, 4)

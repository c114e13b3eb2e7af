"""Make the report of a session: one web page with its text, latencies and troubles.

The page is self-contained: styles and plots are inline, there is no script, and text of people and
engines is escaped (pipeline.review.rendering). Its only source is the session's files.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.percentiles import spread
from pipeline.evaluation.score import Score, score
from pipeline.records.events import BrokenEvent, FaultEvent
from pipeline.review.rendering import render_page
from pipeline.review.report_tables import (
    church_words,
    corrections,
    extra_targets,
    filtered,
    flagged,
    reviewed,
    second_finals,
    stage_times,
    transcript,
    troubles,
    uncovered,
)
from pipeline.review.report_timeline import ReportedSession, session_timeline
from pipeline.review.wording import GRADES, filter_reason
from pipeline.session.reader import started
from pipeline.workers.degradation import LIMIT_S, Rung

# In descending order: the first one that is reached is used.
_SHARES = ((0.95, "Nearly all"), (0.7, "Most"), (0.4, "About half"), (0.1, "Some"), (0.0, "Few"))
_TROUBLES = {"records-dropped": "records lost", "source": "microphone lost"}


@dataclass(frozen=True, slots=True)
class Card:
    """A figure of the session at the top of the page."""

    name: str
    figure: str
    more: str
    """The figure's parts, in small print."""
    tone: str = ""
    """`good`, `bad`, or empty."""


def report(folder: Path, reference: Path | None = None) -> str:
    """Return the page of a session, compared with a reference such as demo/sermon.json if given.

    Raises SessionError (session-unreadable, reference-unreadable).
    """
    session = ReportedSession(folder)
    # From the captions, not the settings: these may have changed since.
    langs = session.langs
    # First: a reference that cannot be read must raise before anything is drawn.
    compared = score(folder, reference, **langs) if reference else None
    sections = [
        # In the order in which people ask: what was bad, why, when, and the whole text last.
        ("Worth a look", flagged(session)),
        ("What went wrong", troubles(session)),
        ("Timeline", session_timeline(session)),
        ("How quickly", stage_times(session)),
        ("Further languages", extra_targets(session)),
        ("Missed sentences", uncovered(compared)),
        ("Corrected words", corrections(session)),
        ("Church words", church_words(session)),
        ("Not shown", filtered(session)),
        ("Reviewed", reviewed(session)),
        ("Second translations", second_finals(session)),
        ("What was said", transcript(session)),
    ]
    return render_page(
        "report.html",
        title=f"Captions of {_when(folder.name)}",
        lede=_lede(session),
        cards=_cards(session, compared),
        # A part may be empty; then its heading is left out as well.
        sections=[(name, body) for name, body in sections if body],
        session=folder.name,
    )


def _grades(session: ReportedSession) -> Counter[str]:
    """Count the captions by grade."""
    return Counter(GRADES[record.quality.decision] for record in session.shown if record.quality)


def _verdict(session: ReportedSession) -> str:
    """Return in words how the session went."""
    grades = _grades(session)
    parts = []
    if grades:
        share = grades["good"] / grades.total()
        amount = next(word for least, word in _SHARES if share >= least)
        parts.append(f"{amount} of the captions are good.")
    troubles = len(session.troubles)
    parts.append(f"{_many(troubles, 'thing')} went wrong." if troubles else "Nothing went wrong.")
    return " ".join(parts)


def _lede(session: ReportedSession) -> str:
    # A caption without a time is left out, and not counted as 0.
    took = spread(r.last_syllable_to_final_ms for r in session.shown)
    text = f"{_verdict(session)} {_many(len(session.captions), 'caption')}"
    text += f" in {_length(session.length_s)}."
    if took:
        text += (
            f" Half of them were there within {took.p50 / 1000:.1f} s of the last syllable,"
            f" 95 of 100 within {took.p95 / 1000:.1f} s."
        )
        if not session.realtime:
            text += (
                " The recording was played as fast as the machine could, so most of that is"
                " waiting: only real time tells how quick captions are."
            )
        elif took.p50 / 1000 > LIMIT_S[Rung.PARTIAL_ENGINE_FINALS]:
            text += (
                " This machine is too slow for its models, or was busy with something else:"
                " stark-translate budget names those that fit."
            )
    return text


def _cards(session: ReportedSession, compared: Score | None) -> list[Card]:
    took = spread(r.last_syllable_to_final_ms for r in session.shown)
    first = spread(r.start_to_first_text_ms for r in session.shown)
    # From the newest captions: an edited caption counts as the operator's.
    engines = Counter(message.target.engine for message in session.captions)
    reasons = Counter(filter_reason(r.filtered) for r in session.utterances if r.filtered)
    faults = Counter(
        event.code
        if isinstance(event, FaultEvent | BrokenEvent)
        else _TROUBLES.get(event.event, event.event)
        for event in session.troubles
    )
    fixes = sum(len(record.corrections) for record in session.utterances)
    grades = _grades(session)
    cards = [
        Card("captions", str(len(session.captions)), _counted(engines)),
        Card("of audio", _length(session.length_s), _heard(session)),
    ]
    for name, times in (
        ("last syllable to caption", took),
        ("start of speech to first words", first),
    ):
        if times:
            more = f"half of them; 95 of 100 within {times.p95 / 1000:.1f} s"
            cards.append(Card(name, f"{times.p50 / 1000:.1f} s", more))
    if compared is not None and compared.wer is not None:
        terms = f"terms: {compared.source_terms}"
        cards.append(Card("words misheard (WER)", f"{compared.wer:.1%}", terms))
    if compared is not None and compared.chrf is not None:
        terms = f"terms: {compared.target_terms}"
        cards.append(Card("translation (chrF)", f"{compared.chrf:.1f}", terms))
    if grades:
        share = f"{grades['good'] / grades.total():.0%}"
        cards.append(Card("of the captions are good", share, _counted(grades)))
    cards.append(Card("words corrected", str(fixes), "by the dictionary"))
    cards.append(Card("sentences not shown", str(reasons.total()), _counted(reasons)))
    tone = "bad" if faults else "good"
    cards.append(Card("things went wrong", str(faults.total()), _counted(faults), tone))
    lost = Counter({name: count for name, count in session.dropped.items() if count})
    if lost:
        cards.append(Card("given up to keep pace", str(lost.total()), _counted(lost)))
    return cards


def _heard(session: ReportedSession) -> str:
    """Return the microphone or file, and the number of utterances by recognizer."""
    source = session.health[-1].source if session.health else ""
    by = Counter(record.recognizer for record in session.utterances if record.recognizer)
    return "; ".join(filter(None, (source, f"heard by {_counted(by)}" if by else "")))


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _length(seconds: float) -> str:
    # Rounded first, or 59.7 s would become "60 s".
    minutes, s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {s:02} s" if minutes else f"{s} s"


def _when(name: str) -> str:
    """Return the start time in a session's name, or the name if it has none."""
    began = started(name)
    return name if began is None else f"{began:%A}, {began.day} {began:%B %Y, %H:%M}"

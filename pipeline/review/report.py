"""A session as one web page: what was said, how quickly it was shown, what went wrong.

The page needs nothing else: styles and plots are inside, there is no script, and whatever people
or engines have said is text (pipeline.review.markup). It is told from the session's files alone.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pipeline.core.percentiles import spread
from pipeline.evaluation.score import Score, score
from pipeline.records.events import BrokenEvent, FaultEvent
from pipeline.review.markup import Markup, join, tag
from pipeline.review.report_tables import (
    corrections,
    filtered,
    flagged,
    reviewed,
    second_finals,
    stage_times,
    transcript,
    uncovered,
)
from pipeline.review.report_timeline import (
    ReportedSession,
    distribution,
    latencies,
    session_timeline,
)
from pipeline.session.reader import start_utc

_STYLE = Path(__file__).with_name("report.css")
_TROUBLES = {
    "records-dropped": "records lost",
    "source": "microphone lost",
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report(folder: Path, reference: Path | None = None) -> str:
    """Return the page of a session, compared with a reference such as demo/sermon.json if given.

    Raises SessionError (session-unreadable, reference-unreadable).
    """
    session = ReportedSession(folder)
    langs = session.langs
    compared = score(folder, reference, **langs) if reference else None
    title = f"Captions of {_when(folder.name)}"
    sections = [
        ("Timeline", session_timeline(session)),
        ("How quickly", join(latencies(session), distribution(session), stage_times(session))),
        ("Not covered", uncovered(compared)),
        ("Corrected words", corrections(session)),
        ("Not shown", filtered(session)),
        ("Worth a look", flagged(session)),
        ("Reviewed", reviewed(session)),
        ("Second finals", second_finals(session)),
        ("What was said", transcript(session)),
    ]
    told = [(name, body) for name, body in sections if body]
    links = [tag("a", name, href=f"#{_anchor(name)}") for name, _ in told]
    page = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("title", title),
            tag("style", Markup(_STYLE.read_text(encoding="utf-8"))),
        ),
        tag(
            "body",
            tag("header", tag("h1", title), _lede(session), tag("nav", *links)),
            tag("div", *_cards(session, compared), class_="cards"),
            *(tag("section", tag("h2", name), body, id=_anchor(name)) for name, body in told),
            tag("footer", f"Session {folder.name}. Made by stark-translate; all times are UTC."),
        ),
        lang="en",
    )
    return f"<!doctype html>\n{page}\n"


def _lede(session: ReportedSession) -> Markup:
    """Return the session in two sentences."""
    took = spread(r.last_syllable_to_final_ms for r in session.shown)
    says = f"{_many(len(session.captions), 'caption')} in {_length(session.length_s)}."
    if took:
        says += (
            f" Half of them were there within {took.p50 / 1000:.1f} s of the last syllable,"
            f" 95 of 100 within {took.p95 / 1000:.1f} s."
        )
        if not session.realtime:
            says += (
                " The recording was played as fast as the machine could, so most of that is"
                " waiting: only real time tells how quick captions are."
            )
    return tag("p", says, class_="lede")


def _cards(session: ReportedSession, compared: Score | None) -> list[Markup]:
    """Return the session's figures, the important ones first."""
    took = spread(r.last_syllable_to_final_ms for r in session.shown)
    first = spread(r.start_to_first_text_ms for r in session.shown)
    engines = Counter(message.target.engine for message in session.captions)
    reasons = Counter(r.filtered for r in session.utterances if r.filtered)
    faults = Counter(
        event.code
        if isinstance(event, FaultEvent | BrokenEvent)
        else _TROUBLES.get(event.event, event.event)
        for event in session.troubles
    )
    fixes = sum(len(record.corrections) for record in session.utterances)
    decisions: Counter[str] = Counter(
        record.quality.decision for record in session.shown if record.quality
    )
    cards = [
        _card("captions", str(len(session.captions)), _counted(engines)),
        _card("of audio", _length(session.length_s), session.input),
    ]
    if took:
        cards.append(
            _card(
                "last syllable to caption",
                f"{took.p50 / 1000:.1f} s",
                f"median; 95 of 100 within {took.p95 / 1000:.1f} s",
            )
        )
    if first:
        cards.append(
            _card(
                "start of speech to first words",
                f"{first.p50 / 1000:.1f} s",
                f"median; 95 of 100 within {first.p95 / 1000:.1f} s",
            )
        )
    if compared is not None and compared.wer is not None:
        terms = compared.source_terms
        cards.append(
            _card("words misheard (WER)", f"{compared.wer:.1%}", f"terms: {_share(terms)}")
        )
    if compared is not None and compared.chrf is not None:
        terms = compared.target_terms
        cards.append(_card("translation (chrF)", f"{compared.chrf:.1f}", f"terms: {_share(terms)}"))
    if decisions:
        good = decisions["accept"] + decisions["moderate"]
        cards.append(
            _card("trusted captions", f"{good / decisions.total():.0%}", _counted(decisions))
        )
    cards.append(_card("words corrected", str(fixes), "by the dictionary"))
    cards.append(_card("utterances not shown", str(reasons.total()), _counted(reasons)))
    cards.append(
        _card("faults", str(faults.total()), _counted(faults), "bad" if faults else "good")
    )
    lost = Counter({name: count for name, count in session.dropped.items() if count})
    if lost:
        cards.append(_card("given up to keep pace", str(lost.total()), _counted(lost)))
    return cards


def _card(name: str, figure: str, more: str, tone: str = "") -> Markup:
    return tag(
        "div",
        tag("strong", figure),
        tag("span", name),
        tag("small", more),
        class_=f"card {tone}".strip(),
    )


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def _share(found: object) -> str:
    return f"{getattr(found, 'found', 0)} of {getattr(found, 'of', 0)}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _length(seconds: float) -> str:
    minutes, s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {s:02} s" if minutes else f"{s} s"


def _when(name: str) -> str:
    """Return what a session's name says of its start."""
    began = start_utc(name)
    return name if began is None else f"{began.day} {began:%B %Y, %H:%M}"


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")

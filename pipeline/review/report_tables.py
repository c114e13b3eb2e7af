"""The tables of a session's report, drawn by templates/tables.html."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup

from pipeline.core.languages import language
from pipeline.core.percentiles import spread
from pipeline.core.types import Correction
from pipeline.evaluation.score import Score
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.summary import STAGES, term_counts
from pipeline.records.utterance import TranslationRecord, UtteranceRecord
from pipeline.review.rendering import render_part
from pipeline.review.report_timeline import ReportedSession
from pipeline.review.store import WORST
from pipeline.review.wording import doubt, event_text

_TEMPLATE = "tables.html"
_FINAL_ENGINES = ("gemma", "exllamav2", "openai")
_MOST = 50  # rows of second finals
_PLACES = 8  # links to captions with the same correction or trouble
_DOUBTFUL = ("review", "reject")


@dataclass(frozen=True, slots=True)
class Remark:
    """A label next to a caption."""

    text: str
    tone: str = ""
    title: str = ""


def transcript(session: ReportedSession) -> Markup:
    """Return every caption in both languages, side by side."""
    rows = []
    for message in session.captions:
        record = session.by_id.get(message.id)
        took_ms = record.last_syllable_to_final_ms if record else None
        took_s = None if took_ms is None else took_ms / 1000
        rows.append((message, _heard(record, message), [*_remarks(record, message)], took_s))
    return render_part(_TEMPLATE, "transcript", session=session, rows=rows)


def corrections(session: ReportedSession) -> Markup:
    """Return the dictionary's corrections, the most frequent first."""
    places: dict[tuple[str, str, str], tuple[Correction, list[UtteranceRecord]]] = {}
    for record in session.utterances:
        # A caption that an operator has hidden is not on the page, so no link can lead to it.
        if not record.filtered and record.id not in session.texts:
            continue
        for fix in record.corrections:
            key = (fix.found, fix.replacement, fix.rule)
            places.setdefault(key, (fix, []))[1].append(record)
    rows = sorted(places.values(), key=lambda place: -len(place[1]))
    return render_part(_TEMPLATE, "corrections", rows=rows, most=_PLACES)


def church_words(session: ReportedSession) -> Markup:
    """Return the results for the glossary's church words, those that went wrong first."""
    counts = term_counts(session.utterances).items()
    said = " ".join(record.text for record in session.utterances)
    rows = [
        (_as_written(term, said), count)
        for term, count in sorted(counts, key=lambda each: (-each[1].refused, -each[1].seen))
    ]
    return render_part(_TEMPLATE, "church_words", rows=rows)


def _as_written(term: str, said: str) -> str:
    """Return a term with the capitals that it mostly has inside sentences: "Lord", "grace"."""
    # At the beginning of a sentence every word has a capital.
    inside = re.findall(rf"(?<=[\w,;:] ){re.escape(term)}\b", said, re.IGNORECASE)
    spelled = inside or re.findall(rf"\b{re.escape(term)}\b", said, re.IGNORECASE)
    return Counter(spelled).most_common(1)[0][0] if spelled else term


def filtered(session: ReportedSession) -> Markup:
    """Return the texts that were recognized and not shown, with the reason."""
    records = [record for record in session.utterances if record.filtered]
    return render_part(_TEMPLATE, "filtered", records=records)


def flagged(session: ReportedSession) -> Markup:
    """Return the least trusted captions, the worst first."""
    texts = session.texts
    doubtful = sorted(
        (
            record
            for record in session.shown
            # A record whose caption an operator has hidden is left out.
            if record.id in texts
            and (record.flags or (record.quality and record.quality.decision in _DOUBTFUL))
        ),
        key=lambda record: _score(record) or 0.0,  # without a score it counts as the worst
    )
    rows = [
        (record, texts[record.id], _score(record), [*_reasons(record)])
        for record in doubtful[:WORST]
    ]
    more = len(doubtful) - len(rows)
    return render_part(_TEMPLATE, "flagged", session=session, rows=rows, more=more)


def troubles(session: ReportedSession) -> Markup:
    """Return the troubles, the most frequent first, with their times."""
    times_s: dict[str, list[float]] = {}
    for event in session.troubles:
        # By the whole sentence: one fault with two reasons is two rows.
        times_s.setdefault(event_text(event), []).append(session.at_s(event.utc))
    rows = sorted(times_s.items(), key=lambda row: -len(row[1]))
    return render_part(_TEMPLATE, "troubles", rows=rows, most=_PLACES)


def stage_times(session: ReportedSession) -> Markup:
    """Return percentiles of every stage's time."""
    keys = {
        "start of speech to first words": "start_to_first_text_ms",
        "last syllable to quick translation": "last_syllable_to_partial_ms",
        "last syllable to caption": "last_syllable_to_final_ms",
        **STAGES,
    }
    times = {
        name: spread(getattr(record, key) for record in session.utterances)
        for name, key in keys.items()
    }
    rows = [(name, took) for name, took in times.items() if took is not None]
    return render_part(_TEMPLATE, "stage_times", rows=rows)


def extra_targets(session: ReportedSession) -> Markup:
    """Return a row for each extra target language: its captions, engines and times."""
    by_lang: dict[str, list[TranslationRecord]] = {}
    for record in session.records:
        if isinstance(record, TranslationRecord):
            by_lang.setdefault(record.target, []).append(record)
    rows = [
        (
            language(lang).name,
            len(records),
            Counter(record.final.engine for record in records).most_common(),
            spread(record.last_syllable_to_final_ms for record in records),
        )
        for lang, records in sorted(by_lang.items())
    ]
    return render_part(_TEMPLATE, "extra_targets", rows=rows)


def reviewed(session: ReportedSession) -> Markup:
    """Return people's decisions about the captions in doubt, and their corrections."""
    texts = session.texts
    rows = [
        (decided, texts[decided.id])
        for decided in sorted(session.decisions, key=lambda decided: decided.id)
        if decided.outcome == "corrected" and decided.id in texts
    ]
    # Only corrections are rows: approved captions are unchanged in the transcript.
    outcomes = Counter(decided.outcome for decided in session.decisions)
    counted = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    return render_part(
        _TEMPLATE, "reviewed", session=session, total=outcomes.total(), counted=counted, rows=rows
    )


def second_finals(session: ReportedSession) -> Markup:
    """Return the second translator's captions, the most different first."""
    texts = session.texts
    # A session with two second translators is not split: the first one's name is used for all.
    seconds = sorted(
        (r for r in session.compares if r.id in texts and r.id in session.by_id),
        key=lambda record: record.agreement or 0.0,
    )
    took = spread(record.ms for record in seconds)
    agreements = [record.agreement for record in seconds if record.agreement is not None]
    if took is None:
        return Markup()
    different = [record for record in seconds if record.text != texts[record.id].target.text]
    text = (
        f"{seconds[0].engine} ({seconds[0].model}) on {took.count} captions, beside the final that"
        f" was shown: {took.p50:,.0f} ms for half of them, 95 of 100 within {took.p95:,.0f} ms."
    )
    if agreements:
        text += (
            f" {len(seconds) - len(different)} are the same; half of all agree to"
            f" {median(agreements):.2f} or more (chrF, 1 is the same text)."
        )
    rows = [(record, session.by_id[record.id], texts[record.id]) for record in different[:_MOST]]
    return render_part(_TEMPLATE, "second_finals", session=session, says=text, rows=rows)


def uncovered(compared: Score | None) -> Markup:
    """Return the sentences of the reference that no caption covers."""
    return render_part(_TEMPLATE, "uncovered", sentences=compared.uncovered if compared else ())


def _heard(record: UtteranceRecord | None, message: CaptionMessage) -> list[tuple[str, str]]:
    """Return the source text in pieces; a corrected word has a title, if its place is known."""
    text = message.source.text
    # An operator has changed the source: positions in the old text are invalid in it.
    if record is None or record.text != text:
        return [(text, "")]
    pieces: list[tuple[str, str]] = []
    done, shift = 0, 0
    for fix in sorted(record.corrections, key=lambda fix: fix.start):
        # `start` is a position in the recognized text; earlier corrections changed its length.
        start = fix.start + shift
        end = start + len(fix.replacement)
        shift += len(fix.replacement) - len(fix.found)
        # A rule may have changed the result of another rule: then its position is unknown.
        if start >= done and text[start:end] == fix.replacement:
            title = f"heard: {fix.found} (rule {fix.rule})"
            pieces += [(text[done:start], ""), (fix.replacement, title)]
            done = end
    return [*pieces, (text[done:], "")]


def _remarks(record: UtteranceRecord | None, message: CaptionMessage) -> Iterable[Remark]:
    # First: a person's text is neither a stand-in nor from an unusual engine.
    if message.target.engine == "operator":
        was = record.final.text if record and record.final else ""
        yield Remark("edited", "note", f"was: {was}")
    elif message.target.engine == "source":
        yield Remark("not translated", "bad")
    elif message.target.engine not in _FINAL_ENGINES:
        yield Remark(message.target.engine)
    if record and record.flags:
        worst = "bad" if any(flag.endswith(":reject") for flag in record.flags) else "note"
        yield Remark("⚑", worst, ", ".join(map(doubt, record.flags)))


def _reasons(record: UtteranceRecord) -> Iterable[Remark]:
    excluded = record.quality.excluded if record.quality else ()
    # Without a flag it is in doubt because of its score.
    reasons: list[str] = [*record.flags, *excluded] or ["low-score:flag"]
    for reason in reasons:
        yield Remark(doubt(reason), "note" if reason.endswith(":flag") else "bad")


def _score(record: UtteranceRecord) -> float | None:
    return record.quality.score if record.quality else None

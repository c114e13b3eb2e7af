"""The tables of a session's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from pipeline.core.percentiles import spread
from pipeline.evaluation.score import STAGES, Score
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.utterance import UtteranceRecord
from pipeline.review.markup import Markup, join, tag
from pipeline.review.report_timeline import ReportedSession
from pipeline.review.svg import clock

_MOST = 50  # rows of utterances worth a look
_PLACES = 8  # links to where a word was corrected
_FIGURES = ("agreement", "times", "level", "score", "median", "95 %", "99 %", "longest")
_DOUBTFUL = ("review", "reject")


def transcript(session: ReportedSession) -> Markup:
    """Return every caption in both languages, side by side."""
    rows = [
        tag(
            "tr",
            tag("td", clock(message.start_s), class_="time"),
            tag("td", _heard(session.by_id.get(message.id), message), **_lang(message.source.lang)),
            tag("td", message.target.text, **_lang(message.target.lang)),
            tag("td", *_remarks(session.by_id.get(message.id), message), class_="remarks"),
            id=f"u{message.id}",
        )
        for message in session.captions
    ]
    heads = ("", session.langs["source"], session.langs["target"], "")
    return _table(heads, rows, "transcript") if rows else Markup()


def corrections(session: ReportedSession) -> Markup:
    """Return what the dictionary changed, the most frequent first."""
    places: dict[tuple[str, str, str], list[UtteranceRecord]] = {}
    for record in session.utterances:
        for fix in record.corrections:
            key = (fix.found, fix.replacement, fix.rule)
            places.setdefault(key, []).append(record)
    rows = [
        tag(
            "tr",
            tag("td", tag("del", found)),
            tag("td", tag("ins", replacement)),
            tag("td", tag("code", rule)),
            tag("td", str(len(records)), class_="figure"),
            tag("td", *_links(records), class_="time"),
        )
        for (found, replacement, rule), records in sorted(
            places.items(), key=lambda entry: -len(entry[1])
        )
    ]
    return _table(("heard", "written", "rule", "times", "where"), rows) if rows else Markup()


def filtered(session: ReportedSession) -> Markup:
    """Return what was recognized and not shown, and why."""
    rows = [
        tag(
            "tr",
            tag("td", clock(record.start_s), class_="time"),
            tag("td", tag("span", record.filtered, class_="chip bad")),
            tag("td", record.raw_text, **_lang(record.lang)),
            tag("td", f"{record.level_dbfs:.0f} dBFS", class_="figure"),
            id=f"f{record.id}",
        )
        for record in session.utterances
        if record.filtered
    ]
    return _table(("", "why", "recognized", "level"), rows) if rows else Markup()


def flagged(session: ReportedSession) -> Markup:
    """Return the captions that can be trusted least, the worst first; at most so many."""
    texts = {message.id: message for message in session.captions}
    doubtful = sorted(
        (
            record
            for record in session.shown
            if record.id in texts
            and (record.flags or (record.quality and record.quality.decision in _DOUBTFUL))
        ),
        key=lambda record: _score(record) or 0.0,
    )
    rows = []
    for record in doubtful[:_MOST]:
        message, excluded = texts[record.id], record.quality.excluded if record.quality else ()
        reasons: list[str] = [*record.flags, *excluded] or ["low-score:flag"]
        rows.append(
            tag(
                "tr",
                tag("td", *_links([record]), class_="time"),
                tag("td", _share(_score(record)), class_="figure"),
                tag("td", *(_chip(reason) for reason in reasons)),
                tag("td", message.source.text, **_lang(message.source.lang)),
                tag("td", message.target.text, **_lang(message.target.lang)),
            )
        )
    if not rows:
        return Markup()
    more = len(doubtful) - len(rows)
    note = f"And {more} more: diagnostics.jsonl has them all." if more else ""
    heads = ("", "score", "why", session.langs["source"], session.langs["target"])
    says = (
        "The captions that can be trusted least. Red: past the limit at which a pair is rejected."
    )
    return join(tag("p", says), _table(heads, rows), tag("p", note) if note else Markup())


def stage_times(session: ReportedSession) -> Markup:
    """Return percentiles of every stage's time."""
    keys = {
        "start of speech to first words": "start_to_first_text_ms",
        "last syllable to quick translation": "last_syllable_to_partial_ms",
        "last syllable to caption": "last_syllable_to_final_ms",
        **STAGES,
    }
    rows = []
    for name, key in keys.items():
        took = spread(getattr(record, key) for record in session.utterances)
        if took is not None:
            figures = (took.p50, took.p95, took.p99, took.max)
            cells = [tag("td", f"{ms:,.0f}", class_="figure") for ms in figures]
            swatch = tag("i", class_=f"stage-{key.removesuffix('_ms').replace('_', '-')}")
            rows.append(tag("tr", tag("td", *[swatch] * (name in STAGES), name), *cells))
    heads = ("milliseconds", "median", "95 %", "99 %", "longest")
    return _table(heads, rows, "times") if rows else Markup()


def reviewed(session: ReportedSession) -> Markup:
    """Return what people decided of the captions in doubt, and how they corrected them."""
    if not session.decisions:
        return Markup()
    texts = {message.id: message for message in session.captions}
    rows = []
    for decided in sorted(session.decisions, key=lambda decided: decided.id):
        message = texts.get(decided.id)
        if decided.outcome != "corrected" or message is None:
            continue
        rows.append(
            tag(
                "tr",
                tag("td", tag("a", clock(message.start_s), href=f"#u{decided.id}"), class_="time"),
                tag("td", decided.source, **_lang(message.source.lang)),
                tag("td", tag("del", message.target.text), **_lang(message.target.lang)),
                tag("td", tag("ins", decided.target), **_lang(message.target.lang)),
                tag("td", decided.reviewer),
            )
        )
    outcomes = Counter(decided.outcome for decided in session.decisions)
    counted = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    heads = ("", session.langs["source"], "shown", "corrected", "by")
    says = tag("p", f"Of the captions in doubt a person looked at {outcomes.total()}: {counted}.")
    return join(says, _table(heads, rows) if rows else Markup())


def second_finals(session: ReportedSession) -> Markup:
    """Return what another translator made of the captions, the most different first."""
    texts = {message.id: message for message in session.captions}
    made = sorted(
        (r for r in session.compares if r.id in texts and r.id in session.by_id),
        key=lambda record: record.agreement or 0.0,
    )
    took = spread(record.ms for record in made)
    alike = [record.agreement for record in made if record.agreement is not None]
    if took is None:
        return Markup()
    different = [record for record in made if record.text != texts[record.id].target.text]
    rows = [
        tag(
            "tr",
            tag("td", *_links([session.by_id[record.id]]), class_="time"),
            tag("td", _share(record.agreement), class_="figure"),
            tag("td", texts[record.id].source.text, **_lang(texts[record.id].source.lang)),
            tag("td", texts[record.id].target.text, **_lang(texts[record.id].target.lang)),
            tag("td", record.text, **_lang(record.lang)),
        )
        for record in different[:_MOST]
    ]
    says = (
        f"{made[0].engine} ({made[0].model}) on {took.count} captions, beside the final that"
        f" was shown: {took.p50:,.0f} ms for half of them, 95 of 100 within {took.p95:,.0f} ms."
    )
    if alike:
        says += (
            f" {len(made) - len(different)} are the same; half of all agree to {median(alike):.2f}"
            " or more (chrF, 1 is the same text)."
        )
    heads = ("", "agreement", session.langs["source"], "shown", "the other")
    return join(tag("p", says), _table(heads, rows) if rows else Markup())


def uncovered(compared: Score | None) -> Markup:
    """Return the sentences of the reference that no caption covers."""
    if compared is None or not compared.uncovered:
        return Markup()
    says = "Sentences of the reference of which less than half lies under a caption."
    return join(tag("p", says), tag("ul", *(tag("li", said) for said in compared.uncovered)))


def _heard(record: UtteranceRecord | None, message: CaptionMessage) -> Markup:
    """Return what was said, with the dictionary's words marked where they can be found again."""
    said = message.source.text
    if record is None or record.text != said:
        return join(said)
    pieces: list[str] = []
    done, shift = 0, 0
    for fix in sorted(record.corrections, key=lambda fix: fix.start):
        start = fix.start + shift
        end = start + len(fix.replacement)
        shift += len(fix.replacement) - len(fix.found)
        if start >= done and said[start:end] == fix.replacement:
            title = f"heard: {fix.found} (rule {fix.rule})"
            pieces += [said[done:start], tag("mark", fix.replacement, title=title)]
            done = end
    return join(*pieces, said[done:])


def _remarks(record: UtteranceRecord | None, message: CaptionMessage) -> Iterable[Markup]:
    if message.target.engine == "operator":
        was = record.final.text if record and record.final else ""
        yield tag("span", "edited", class_="chip note", title=f"was: {was}")
    elif message.target.engine == "source":
        yield tag("span", "not translated", class_="chip bad")
    elif message.target.engine != "gemma":
        yield tag("span", message.target.engine, class_="chip")
    if record and record.flags:
        worst = "bad" if any(flag.endswith(":reject") for flag in record.flags) else "note"
        yield tag("span", "⚑", class_=f"chip {worst}", title=", ".join(record.flags))
    if record and record.last_syllable_to_final_ms is not None:
        yield tag("span", f"{record.last_syllable_to_final_ms / 1000:.1f} s", class_="took")


def _chip(reason: str) -> Markup:
    name, _, limit = reason.partition(":")
    tone = "note" if limit == "flag" else "bad"
    return tag("span", name.replace("-", " "), class_=f"chip {tone}")


def _score(record: UtteranceRecord) -> float | None:
    return record.quality.score if record.quality else None


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _links(records: Sequence[UtteranceRecord]) -> Iterable[Markup]:
    for number, record in enumerate(records[:_PLACES]):
        prefix = "f" if record.filtered else "u"
        link = tag("a", clock(record.start_s), href=f"#{prefix}{record.id}")
        yield join(", " if number else "", link)
    if len(records) > _PLACES:
        yield join(" …")


def _lang(lang: str) -> dict[str, str]:
    return {"lang": lang, "dir": "auto"}


def _table(heads: Sequence[str], rows: Sequence[Markup], kind: str | None = None) -> Markup:
    cells = (
        tag("th", name, scope="col", class_="figure" if name in _FIGURES else None)
        for name in heads
    )
    head = tag("thead", tag("tr", *cells))
    return tag("div", tag("table", head, tag("tbody", *rows), class_=kind), class_="wide")

"""The records of one utterance: texts, confidence of the engines, and all durations. Pure.

A record's fields are its JSON keys, and the schema of records is made from these dataclasses.
Fields ending in `_ms` are milliseconds; audio times are seconds from the start of the session's
audio. None means "not measured", never zero. Extra targets and second finals have their own
records, because the utterance's record is written as soon as its final is shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from pipeline.core.types import (
    HEARD,
    Caption,
    Cause,
    Check,
    Comparison,
    Correction,
    Mode,
    Opinion,
    Span,
    Transcript,
    Word,
)
from pipeline.records.quality import (
    Flag,
    Measures,
    Quality,
    agreement,
    flags,
    judge,
    probability,
    rounded,
)
from pipeline.text.commit_policy import normalized_erasure


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialRecord:
    """The quick translation of the whole utterance, shown before the final."""

    lang: str
    text: str
    engine: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalRecord:
    """The final text. A measure that the engine does not give is None."""

    lang: str
    text: str
    engine: str
    tokens: int | None = None
    """Tokens generated."""
    tokens_per_s: float | None = None
    prompt_tokens: int | None = None
    """Tokens of the prompt."""
    reused_tokens: int | None = None
    """Prompt tokens that were still in the cache from the previous call."""
    draft_tokens: int | None = None
    """Generated tokens that were accepted from the quick translation."""
    avg_logprob: float | None = None
    """Mean log-probability of the generated tokens."""
    stopped: Literal["end", "length", "loop"] | None = None
    """Why generation ended: by itself, at the token cap, or at the repetition guard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UtteranceRecord:
    """One line of diagnostics.jsonl. Fields from `final` on are None if the text was filtered."""

    # The first field, because it selects the class that a line is read as.
    type: Literal["utterance"] = "utterance"
    id: int
    """Number of the utterance and of its caption; it increases with time."""
    utc: str
    """When the final was shown, or the text was filtered."""
    mode: Mode
    lang: str
    """Language of `raw_text` and `text`."""
    start_s: float
    """Start of the utterance, pre-roll included."""
    end_s: float
    """End of speech; trailing silence is not counted."""
    cause: Cause
    """Why the utterance ended there."""
    level_dbfs: float
    """Root mean square of the utterance's samples."""
    peak_dbfs: float
    """Loudest sample."""
    recognizer: str = ""
    """The recognizer of this utterance; empty if there was none, and in older records."""
    # Kept next to the corrected text: rules and training use the difference.
    raw_text: str
    """As recognized."""
    text: str
    """The text after dictionary corrections; it is translated and shown."""
    corrections: tuple[Correction, ...]
    avg_logprob: float | None
    """Mean log-probability of the recognizer's tokens, 0 is certain."""
    no_speech_prob: float | None
    """The recognizer's probability, 0..1, that nobody spoke."""
    compression_ratio: float | None
    """Size of the recognized text divided by its compressed size; high if it repeats itself."""
    # This and other fields have a default because records of earlier versions lack them.
    lang_prob: float | None = None
    """The recognizer's probability, 0..1, that the spoken language is `lang`."""
    words: tuple[Word, ...]
    """The words of `raw_text`, split at white space; empty if the recognizer gives none."""
    lost_tail_s: float = 0.0
    """Seconds of speech at the end that are missing in the recognizer's first text; 0 if none."""
    tail_recovered: bool = False
    """Whether decoding these seconds again gave words. `raw_text` includes the words."""
    # The text stays in the record: the report shows which text was not displayed, and why.
    filtered: str
    """Why the text is not shown; empty when it is."""
    eager: bool = False
    """Whether the final was prepared before the pause was long enough to end the utterance."""
    cancelled_runs: int = 0
    """How often an eager run was discarded because speech resumed before the end."""
    reopened: int = 0
    """How often speech resumed after a final, so that the utterance went on."""
    pauses_ms: tuple[int, ...] = ()
    """Silences inside the utterance, from 64 ms on."""
    pause_before_ms: int | None = None
    """Silence between the previous utterance and this one; None if unknown."""
    updates: int
    """Number of texts shown for this utterance, the final included."""
    vad_wait_ms: float
    """From the last syllable until the segmenter had heard enough silence."""
    stt_busy_ms: float
    """Waiting for the recognizer, which was busy with earlier speech."""
    stt_ms: float
    """The recognizer's time on the whole utterance."""
    final: FinalRecord | None = None
    partial: PartialRecord | None = None
    normalized_erasure: float | None = None
    """Words removed while the text grew, per word of the final."""
    revised: int | None = None
    """Committed words on screen that a later text or the final replaced."""
    agreement: float | None = None
    """chrF of the quick translation against the final, 0..1; None if one engine made both."""
    partial_ms: float | None = None
    """The quick translator's time on the whole utterance."""
    final_busy_ms: float | None = None
    """Waiting for the final translator, which was busy with an earlier utterance."""
    final_ms: float | None = None
    """The final translator's time; None if the draft or the source text is shown instead."""
    start_to_first_text_ms: float | None = None
    """From the utterance's start (pre-roll included) until its first text was on screen."""
    last_syllable_to_partial_ms: float | None = None
    """From the last syllable until the quick translation of the whole utterance was ready."""
    last_syllable_to_final_ms: float | None = None
    """From the last syllable until the final was on screen."""
    held_ms: float | None = None
    """Part of `last_syllable_to_final_ms` in which a doubtful final was held for an operator."""
    overhead_ms: float | None = None
    """From closing the utterance to the final on screen, minus engine time and engine waits."""
    verse: str = ""
    """Reference of the printed verse that was shown as the translation; empty if none."""
    checks: tuple[Check, ...] = ()
    """Where the final differs from what was said, and what was corrected (church truth)."""
    opinion: Opinion | None = None
    """The quick translator's judgement of the final translator's text."""
    doubt: float | None = None
    """Probability, 0..1, that the final is wrong, estimated from all that is known of it."""
    is_doubtful: bool = False
    """Whether `doubt` is so high that an operator should look at the final."""
    repeats: int | None = None
    """The caption that an interpreter repeats here; None if the utterance is new."""
    queues: Mapping[str, int] = field(default_factory=dict)
    """The lengths of the queues when the final was shown."""
    flags: tuple[Flag, ...] = ()
    """Measures past their limit; see pipeline.records.quality."""
    quality: Quality | None = None


def utterance_record(
    caption: Caption,
    *,
    draft: Caption | None,
    shown: Sequence[str],
    published_s: float,
    first_shown_s: float | None,
    mode: Mode,
    utc: str,
    queues: Mapping[str, int],
    held_s: float = 0.0,
) -> UtteranceRecord:
    """Return the record of a final caption.

    `draft` is the quick translation of the same audio, None if there was none; `shown` are the
    target texts that were on screen, in order. `published_s` and `first_shown_s` are monotonic.
    `held_s` is how long the caption was held for an operator.
    """
    utterance = caption.transcript.utterance
    # If the draft itself became the final, both have the same span: count that time once.
    own = caption.span if draft is None or caption.span != draft.span else Span()
    # If the final translator failed, the text is the draft's, but the time is the translator's.
    same = draft is not None and caption.translation is draft.translation
    made_in = draft.span if draft is not None and same else caption.span
    # A final that equals the last partial was already on screen: count the text once.
    texts = [*shown] if shown and shown[-1] == caption.text else [*shown, caption.text]
    # Only the last syllable has a clock time; the start is the utterance's length earlier.
    began_s = utterance.spoken_s - (utterance.end_s - utterance.start_s)
    spans = [caption.transcript.span, own]
    # `_heard` sets the fields of every utterance, so that a filtered one has the same fields.
    record = replace(
        _heard(caption.transcript, mode, utc, len(texts)),
        final=_final(caption, made_in),
        normalized_erasure=rounded(normalized_erasure(texts)),
        revised=caption.revised,
        # If `end_s` is 0, the work was not done: its time is None, not 0.
        final_busy_ms=_ms(own.busy_s) if own.end_s else None,
        final_ms=_ms(own.end_s - own.start_s) if own.end_s else None,
        start_to_first_text_ms=None if first_shown_s is None else _ms(first_shown_s - began_s),
        last_syllable_to_final_ms=_ms(published_s - utterance.spoken_s),
        held_ms=_ms(held_s) if held_s else None,
        verse=caption.verse.ref if caption.verse else "",
        checks=caption.checks,
        opinion=_finite(caption.opinion),
        doubt=rounded(caption.doubt),
        is_doubtful=caption.is_doubtful,
        repeats=caption.repeats,
        queues=dict(queues),
    )
    if draft is not None:
        spans.append(draft.span)
        # Without a quick translation the draft is the source text, ready once it is recognized.
        ready_s = draft.span.end_s or draft.transcript.span.end_s
        record = replace(
            record,
            partial=PartialRecord(lang=draft.lang, text=draft.text, engine=draft.engine),
            # An engine always agrees with itself, which would raise the score without reason.
            agreement=None
            if draft.engine == caption.engine
            else agreement(draft.text, caption.text),
            partial_ms=_ms(draft.span.end_s - draft.span.start_s) if draft.span.end_s else None,
            last_syllable_to_partial_ms=_ms(ready_s - utterance.spoken_s),
        )
    outside_s = published_s - utterance.closed_s
    # Count from closing only: work of an eager run in the pause is not part of the wait.
    outside_s -= _covered_s(spans, utterance.closed_s, published_s) + held_s
    # Last, because flags and quality are computed from the fields above.
    return judged(replace(record, overhead_ms=_ms(outside_s)))


def judged(record: UtteranceRecord, estimate: float | None = None) -> UtteranceRecord:
    """Return the record with flags and, if it has a caption, its quality.

    `estimate` is another judgement of the translation, 0..1; by default it comes from the final's
    log-probability.
    """
    # Filtered text is flagged too: its measures may be the reason for the filter.
    final = record.final or FinalRecord(lang=record.lang, text="", engine="source")
    measures = Measures(
        source=record.text,
        target=final.text,
        translated=final.engine not in ("source", HEARD),
        avg_logprob=record.avg_logprob,
        no_speech_prob=record.no_speech_prob,
        compression_ratio=record.compression_ratio,
        estimate=probability(final.avg_logprob) if estimate is None else estimate,
        agreement=record.agreement,
        is_doubtful=record.is_doubtful,
    )
    quality = None if record.final is None else judge(measures)
    return replace(record, flags=flags(measures), quality=quality)


def filtered_record(
    transcript: Transcript, *, mode: Mode, utc: str, shown: Sequence[str] = ()
) -> UtteranceRecord:
    """Return the record of an utterance whose text is not shown; `transcript.filtered` says why."""
    return judged(_heard(transcript, mode, utc, len(shown)))


def _heard(transcript: Transcript, mode: Mode, utc: str, updates: int) -> UtteranceRecord:
    utterance, recognition = transcript.utterance, transcript.recognition
    return UtteranceRecord(
        # Rounded: digits beyond what can be measured would only make the file larger.
        id=utterance.id,
        utc=utc,
        mode=mode,
        lang=transcript.lang,
        start_s=round(utterance.start_s, 3),
        end_s=round(utterance.end_s, 3),
        cause=utterance.cause,
        level_dbfs=round(transcript.level_dbfs, 1),
        peak_dbfs=round(transcript.peak_dbfs, 1),
        recognizer=recognition.engine,
        raw_text=transcript.raw_text,
        text=transcript.text,
        corrections=transcript.corrections,
        avg_logprob=rounded(recognition.avg_logprob),
        no_speech_prob=rounded(recognition.no_speech_prob),
        compression_ratio=rounded(recognition.compression_ratio, 3),
        lang_prob=rounded(recognition.lang_prob),
        words=tuple(Word(w.text, rounded(w.probability, 3) or 0.0) for w in recognition.words),
        lost_tail_s=round(recognition.lost_tail_s, 2),
        tail_recovered=recognition.tail_recovered,
        filtered=transcript.filtered,
        pauses_ms=utterance.pauses_ms,
        pause_before_ms=utterance.pause_before_ms,
        updates=updates,
        vad_wait_ms=_ms(utterance.closed_s - utterance.spoken_s),
        stt_busy_ms=_ms(transcript.span.busy_s),
        stt_ms=_ms(transcript.span.end_s - transcript.span.start_s),
    )


def _final(caption: Caption, span: Span) -> FinalRecord:
    record = FinalRecord(lang=caption.lang, text=caption.text, engine=caption.engine)
    if (translation := caption.translation) is None:
        return record
    # A span of zero length has no rate.
    took_s = span.end_s - span.start_s
    return replace(
        record,
        tokens=translation.tokens,
        tokens_per_s=round(translation.tokens / took_s, 1) if took_s > 0 else None,
        prompt_tokens=translation.prompt_tokens,
        reused_tokens=translation.reused_tokens,
        draft_tokens=translation.draft_tokens,
        avg_logprob=rounded(translation.avg_logprob),
        stopped=translation.stopped,
    )


def _covered_s(spans: Sequence[Span], from_s: float, to_s: float) -> float:
    """Return the part of a time range that the spans and their waits cover, counted once."""
    covered_s, reached_s = 0.0, from_s
    # Sorted by time, so that parallel work of two engines is counted only once.
    for span in sorted(spans, key=lambda span: span.start_s - span.busy_s):
        end_s = min(span.end_s, to_s)
        # A span inside an earlier one adds nothing, and must not subtract anything.
        covered_s += max(0.0, end_s - max(span.start_s - span.busy_s, reached_s))
        reached_s = max(reached_s, end_s)
    return covered_s


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _finite(opinion: Opinion | None) -> Opinion | None:
    """Return the opinion, None if its numbers are not finite, as with damaged weights."""
    if opinion is None or not (math.isfinite(opinion.mean) and math.isfinite(opinion.least)):
        return None
    return replace(opinion, agreement=rounded(opinion.agreement))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRecord:
    """A second final for an utterance; only operators see it."""

    type: Literal["compare"] = "compare"
    id: int
    """The utterance's number."""
    utc: str
    """When it was made, after the utterance's own record."""
    lang: str
    text: str
    engine: str
    model: str
    """The model's name as in the settings, without the folder."""
    ms: float
    """Time of the engine, milliseconds."""
    stopped: Literal["end", "length", "loop"]
    """Why generation ended: by itself, at the token cap, or at the repetition guard."""
    agreement: float | None
    """chrF against the final that was shown, 0..1; None if it is not meaningful."""


def compare_record(comparison: Comparison, *, utc: str) -> CompareRecord:
    """Return the record of a comparison."""
    translation = comparison.translation
    return CompareRecord(
        id=comparison.id,
        utc=utc,
        lang=comparison.lang,
        text=translation.text,
        engine=translation.engine,
        model=comparison.model,
        ms=round(comparison.span.ms, 1),
        stopped=translation.stopped,
        agreement=agreement(translation.text, comparison.final),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationRecord:
    """The translation of an utterance into an extra target. It does not repeat the source text."""

    type: Literal["translation"] = "translation"
    id: int
    """The utterance's number."""
    utc: str
    target: str
    """The extra target language. `final.lang` differs if the source text is shown instead."""
    start_s: float
    end_s: float
    final: FinalRecord
    partial: PartialRecord | None = None
    updates: int
    """Number of texts shown in this language, the final included."""
    normalized_erasure: float | None = None
    revised: int | None = None
    agreement: float | None = None
    partial_ms: float | None = None
    final_busy_ms: float | None = None
    """Waiting for the final translator: for an earlier utterance, or for other languages."""
    final_ms: float | None = None
    last_syllable_to_partial_ms: float | None = None
    last_syllable_to_final_ms: float | None = None
    verse: str = ""
    checks: tuple[Check, ...] = ()
    doubt: float | None = None
    is_doubtful: bool = False
    held_ms: float | None = None
    flags: tuple[Flag, ...] = ()


def translation_record(record: UtteranceRecord, target: str) -> TranslationRecord | None:
    """Return the translation part of an utterance's record, None if it has no translation."""
    if record.final is None:
        return None
    shared = {name: getattr(record, name) for name in _SHARED}
    return TranslationRecord(target=target, final=record.final, **shared)


_SHARED = {field.name for field in fields(TranslationRecord)} - {"type", "target", "final"}
"""The fields that both records have. A field that is added to both later is copied as well."""

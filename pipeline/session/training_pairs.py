"""The pairs of source and target text that a session keeps for training models.

Every caption's pair is in one of four files: `sermon_pairs.jsonl` has good pairs and those that an
operator edited, `review_queue.jsonl` those that a person should review (pipeline.review.store) and
the reasons, `moderate_pairs.jsonl` those with a medium score, for spot checks, and
`rejected_pairs.jsonl` the rest. They are made from the service's records and journal at its end,
or after a crash when it is reviewed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import orjson
from pydantic import TypeAdapter

from pipeline.captions.board import is_by_operator
from pipeline.core.files import write_whole
from pipeline.core.types import HEARD
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import parse_json
from pipeline.records.quality import Decision, Flag
from pipeline.records.utterance import UtteranceRecord

Reason = Flag | Literal["low-score", "no-score"]

PAIRS = "sermon_pairs.jsonl"
QUEUE = "review_queue.jsonl"
MODERATE = "moderate_pairs.jsonl"
REJECTED = "rejected_pairs.jsonl"
NAMES = (PAIRS, QUEUE, MODERATE, REJECTED)

OPERATOR = "operator"
"""The engine name of a text that an operator has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A line of sermon_pairs.jsonl, moderate_pairs.jsonl or rejected_pairs.jsonl."""

    session: str
    """The session's name, which is its folder's name."""
    id: int
    """The utterance."""
    utc: str
    """When the final was shown."""
    start_s: float
    """Start of the utterance, from the start of the session's audio."""
    end_s: float
    """End of its speech."""
    source_lang: str
    source: str
    """As corrected by the dictionary."""
    raw_source: str
    """As recognized."""
    target_lang: str
    target: str
    engine: str
    """The maker of the target text: a translator, or `operator` after an edit."""
    score: float | None
    """Score of the translator's text, 0..1; see pipeline.records.quality."""
    stt_confidence: float | None = None
    """Part of the score, 0..1: the recognizer's confidence in the words."""
    translation_qe: float | None = None
    """Part of the score, 0..1: the estimated quality of the translation."""
    marian_agreement: float | None = None
    """Part of the score, 0..1: the agreement of the quick translation with it."""
    decision: Decision | Literal[""] = ""
    """The decision by the translator's score; empty in sessions of earlier versions."""
    flags: tuple[Flag, ...] = ()
    """Suspicious features of the utterance."""
    reviewer: str | None = None
    """The person who approved or corrected it in a review, or None."""
    reviewed_utc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem(Pair):
    """A line of review_queue.jsonl."""

    reasons: tuple[Reason, ...]
    """Flags of the utterance, and `low-score`, or `no-score` if nothing could be measured."""


def pair_of(record: UtteranceRecord, session: str, target: str = "") -> Pair | None:
    """Return the pair of an utterance's record, None if the captions' language was spoken (HEARD).

    `target` is the captions' language. A final whose text is the source does not name it.
    """
    final, quality = record.final, record.quality
    if final is None or quality is None or final.engine == HEARD:
        return None
    return Pair(
        session=session,
        id=record.id,
        utc=record.utc,
        start_s=record.start_s,
        end_s=record.end_s,
        source_lang=record.lang,
        source=record.text,
        raw_source=record.raw_text,
        target_lang=(target if final.engine == "source" else "") or final.lang,
        target=final.text,
        engine=final.engine,
        score=quality.score,
        stt_confidence=quality.parts.stt,
        translation_qe=quality.parts.estimate,
        marian_agreement=quality.parts.agreement,
        decision=quality.decision,
        flags=record.flags,
    )


def file_pair(pair: Pair) -> tuple[str, Pair]:
    """Return a pair's file and the pair; for the review queue with its reasons.

    Good pairs are those accepted without a flag and those that an operator has written. The review
    queue gets pairs with the decision `review`, and `accept` or `moderate` ones with a flag.
    """
    # Checked before the decision, which was about the translator's text.
    if pair.engine == OPERATOR:
        return PAIRS, pair
    if pair.decision == "reject":
        return REJECTED, pair
    reasons: list[Reason] = list(pair.flags)
    if pair.decision == "review":
        reasons.append("no-score" if pair.score is None else "low-score")
    if reasons:
        return QUEUE, ReviewItem(**asdict(pair), reasons=tuple(reasons))
    return (PAIRS if pair.decision == "accept" else MODERATE), pair


def follow_edit(pair: Pair, message: CaptionMessage) -> Pair | None:
    """Return a pair with the text of a caption's later version; None if that hides it."""
    target = message.target
    if not target.text:
        return None
    edited = replace(pair, target=target.text, engine=target.engine)
    if target.engine != "source":
        edited = replace(edited, target_lang=target.lang)
    if not message.corrected:
        return edited
    # The score was for a translation of another source text.
    return replace(
        edited,
        source=message.source.text,
        score=None,
        stt_confidence=None,
        translation_qe=None,
        marian_agreement=None,
        decision="review",
    )


def file_pairs(
    records: Iterable[UtteranceRecord],
    edits: Mapping[int, CaptionMessage],
    session: str,
    target: str = "",
) -> dict[str, list[Pair]]:
    """Return the pairs of a whole session by their file.

    `edits` are the newest versions of captions that an operator has changed, by id; `target` is the
    captions' language.
    """
    filed: dict[str, list[Pair]] = {name: [] for name in NAMES}
    made = ((record.id, pair_of(record, session, target)) for record in records)
    newest = {key: pair for key, pair in made if pair}
    for key, pair in newest.items():
        kept = follow_edit(pair, edits[key]) if key in edits else pair
        if kept is not None:
            name, filed_pair = file_pair(kept)
            filed[name].append(filed_pair)
    return filed


def operator_edits(messages: Iterable[CaptionMessage]) -> dict[int, CaptionMessage]:
    """Return the newest version of each caption in a journal that an operator has changed."""
    newest: dict[int, CaptionMessage] = {}
    touched: set[int] = set()
    for message in messages:
        newest[message.id] = message
        # A caption without text was hidden and must not be used for training.
        if is_by_operator(message) or not message.target.text:
            touched.add(message.id)
    return {key: newest[key] for key in sorted(touched)}


parse_review_item = partial(parse_json, TypeAdapter(ReviewItem))
parse_pair = partial(parse_json, TypeAdapter(Pair))
"""Parse a line of review_queue.jsonl; of any of the files, its reasons ignored."""


def pair_lines(pairs: Iterable[Pair]) -> bytes:
    """Return pairs as the content of a file."""
    return b"".join(orjson.dumps(pair, option=orjson.OPT_APPEND_NEWLINE) for pair in pairs)


def write_pairs(folder: Path, filed: Mapping[str, Sequence[Pair]]) -> None:
    """Write the files of a session's pairs, each atomically. Raises OSError."""
    for name in NAMES:
        write_whole(folder / name, pair_lines(filed[name]))

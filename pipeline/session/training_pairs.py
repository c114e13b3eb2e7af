"""The pairs of source and target text that a session keeps for training models.

Every caption's pair is in one of four files: `sermon_pairs.jsonl` those nothing speaks against and
those an operator has edited, `review_queue.jsonl` those that a person should look at
(pipeline.review.store), with the reasons, `moderate_pairs.jsonl` those of a middling score, for
spot checks, and `rejected_pairs.jsonl` the rest. They are made at the end of a service from its
records and its journal, after a crash when it is reviewed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from pydantic import TypeAdapter

from pipeline.captions.board import is_by_operator
from pipeline.core.errors import ProtocolError
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
"""The engine of a text that an operator has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A line of sermon_pairs.jsonl, moderate_pairs.jsonl or rejected_pairs.jsonl."""

    session: str
    """The session's name, that of its folder."""
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
    """Who made the target text: a translator, or `operator`, who edited it."""
    score: float | None
    """0..1, of the translator's text; see pipeline.records.quality."""
    stt_confidence: float | None = None
    """The score's parts, each 0..1: how sure the recognizer was of the words,"""
    translation_qe: float | None = None
    """how good the translation is as far as the estimator can tell,"""
    marian_agreement: float | None = None
    """and how far the quick translation agrees with it."""
    decision: Decision | Literal[""] = ""
    """What the score said of the translator's text; empty in sessions of earlier versions."""
    flags: tuple[Flag, ...] = ()
    """What is suspicious about the utterance."""
    reviewer: str | None = None
    """Who approved or corrected it in a review; None where nobody has."""
    reviewed_utc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem(Pair):
    """A line of review_queue.jsonl."""

    reasons: tuple[Reason, ...]
    """Flags of the utterance; `low-score`, or `no-score` where nothing could be measured."""


Filed: TypeAlias = tuple[str, Pair]
"""The name of a file, and the pair that belongs into it."""

_PAIR = TypeAdapter(Pair)
_ITEM = TypeAdapter(ReviewItem)
_FIELDS = tuple(Pair.__dataclass_fields__)


def pair_of(record: UtteranceRecord, session: str, target: str = "") -> Pair | None:
    """Return the pair of an utterance's record, None if it was captioned as it was heard.

    `target` is the captions' language, which a final does not tell where the spoken words stand in.
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


def file_pair(pair: Pair) -> Filed:
    """Return where a pair belongs; one for the review queue with its reasons.

    Captions that are accepted without a flag are good pairs, and those that an operator has
    written. For review are those of the decision `review`, and `accept` or `moderate` ones with a
    flag.
    """
    # Before the decision, which was about the translator's text.
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
    told = replace(pair, target=target.text, engine=target.engine)
    if target.engine != "source":
        told = replace(told, target_lang=target.lang)
    if not message.corrected:
        return told
    # The score was that of a translation of something else.
    return replace(
        told,
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
    """Return the pairs of a whole session by the file that they belong into.

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
    """Return of a journal the newest version of each caption that an operator has touched."""
    newest: dict[int, CaptionMessage] = {}
    touched: set[int] = set()
    for message in messages:
        newest[message.id] = message
        # Without a text it was hidden, and nothing of it is to be learned.
        if is_by_operator(message) or not message.target.text:
            touched.add(message.id)
    return {key: newest[key] for key in sorted(touched)}


def parse_review_item(line: str | bytes) -> ReviewItem:
    """Parse a line of review_queue.jsonl. Raises ProtocolError."""
    return parse_json(_ITEM, line)


def parse_pair(line: str | bytes) -> Pair:
    """Read back a line of any of the files, without its reasons. Raises ProtocolError."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        fields = None
    if not isinstance(fields, dict):
        raise ProtocolError("bad-json", "This line is no pair.")
    # A line of the review queue has reasons, which a pair has no field for.
    known = {name: fields[name] for name in _FIELDS if name in fields}
    return parse_json(_PAIR, orjson.dumps(known))


def pair_lines(pairs: Iterable[Pair]) -> bytes:
    """Return pairs as the content of their file."""
    return b"".join(orjson.dumps(pair, option=orjson.OPT_APPEND_NEWLINE) for pair in pairs)


def write_pairs(folder: Path, filed: Mapping[str, Sequence[Pair]]) -> None:
    """Write the files of a session's pairs, each in one step. Raises OSError."""
    for name in NAMES:
        write_whole(folder / name, pair_lines(filed[name]))

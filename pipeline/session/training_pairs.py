"""The pairs of source and target text that a session keeps for training models.

Pairs without a doubt go to `sermon_pairs.jsonl`, doubtful ones with their reasons to
`review_queue.jsonl` for a person (pipeline.review.store). Both follow the operator: an edited
caption's pair gets the operator's text, a hidden caption's pair is removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import orjson
from pydantic import TypeAdapter

from pipeline.core.files import LineFile
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import parse_json
from pipeline.records.quality import Flag
from pipeline.records.utterance import UtteranceRecord

Reason = Flag | Literal["low-score", "no-score"]

PAIRS = "sermon_pairs.jsonl"
QUEUE = "review_queue.jsonl"
_EDITS = 1_000
"""Edits remembered for captions whose final comes later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A line of sermon_pairs.jsonl."""

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
    reviewer: str | None = None
    """Who approved or corrected it in a review; None where nobody has."""
    reviewed_utc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem(Pair):
    """A line of review_queue.jsonl."""

    reasons: tuple[Reason, ...]
    """Flags of the utterance; `low-score`, or `no-score` where nothing could be measured."""


_ITEM = TypeAdapter(ReviewItem)


def pair_of(record: UtteranceRecord, session: str) -> Pair | ReviewItem | None:
    """Return the training pair of an utterance's record, or its review item, or None.

    A pair needs the decision `accept` and no flag; a review item the decision `review` or a flag. A
    rejected caption is useless, and a `moderate` one without a flag is neither good enough to learn
    from nor bad enough to cost a person's time.
    """
    final, quality = record.final, record.quality
    if final is None or quality is None or quality.decision == "reject":
        return None
    pair = Pair(
        session=session,
        id=record.id,
        utc=record.utc,
        start_s=record.start_s,
        end_s=record.end_s,
        source_lang=record.lang,
        source=record.text,
        raw_source=record.raw_text,
        target_lang=final.lang,
        target=final.text,
        engine=final.engine,
        score=quality.score,
    )
    reasons: list[Reason] = list(record.flags)
    if quality.decision == "review":
        reasons.append("no-score" if quality.score is None else "low-score")
    if reasons:
        return ReviewItem(**asdict(pair), reasons=tuple(reasons))
    return pair if quality.decision == "accept" else None


def parse_review_item(line: str | bytes) -> ReviewItem:
    """Parse a line of review_queue.jsonl. Raises ProtocolError."""
    return parse_json(_ITEM, line)


class PairFile:
    """One of the two files. An edit rewrites it from the disk: no pair is kept in memory."""

    def __init__(self, path: Path) -> None:
        """Make it. Raises OSError."""
        self.file = LineFile(path)
        self._edits: dict[int, CaptionMessage] = {}
        self._count = 0

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return self._count

    def add(self, pair: Pair) -> None:
        """Add a pair."""
        self.file.add(orjson.dumps(pair, option=orjson.OPT_APPEND_NEWLINE))
        self._count += 1

    def follow(self, message: CaptionMessage) -> None:
        """Apply the operator's change of a caption to its pair, if it is in this file."""
        self._edits[message.id] = message

    def flush(self) -> None:
        """Write edits and queued pairs. Raises OSError; what is not written stays queued."""
        if self._edits:
            self.rewrite(self._edited)
            self._edits.clear()
        self.file.flush()

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to every line; see LineFile. Raises OSError."""
        self.file.rewrite(change)
        self._count = sum(1 for _ in self.file.lines())

    def sift(self, change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to the queued lines."""
        self.file.sift(change)

    def _edited(self, line: bytes) -> bytes:
        fields = orjson.loads(line)
        message = self._edits.get(fields["id"])
        if message is None:
            return line
        target = message.target
        if not target.text:  # hidden by the operator
            return b""
        fields |= {"target": target.text, "target_lang": target.lang, "engine": target.engine}
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


class Pairs:
    """Both files of a session."""

    def __init__(self, folder: Path) -> None:
        """Make them. Raises OSError."""
        self.accepted = PairFile(folder / PAIRS)
        self.review = PairFile(folder / QUEUE)
        self._session = folder.name
        self._edits: dict[int, CaptionMessage] = {}

    def add(self, record: UtteranceRecord) -> None:
        """Add the pair of an utterance's record, if it has one."""
        match pair_of(record, self._session):
            case ReviewItem() as item:
                self.review.add(item)
            case Pair() as pair:
                self.accepted.add(pair)
        if edit := self._edits.get(record.id):  # an operator was quicker than the final
            self.follow(edit)

    def follow(self, message: CaptionMessage) -> None:
        """Follow a version of a final caption; only an operator's edit or undo has an effect."""
        # An undo comes as a version by the translator, of a caption that was edited before.
        if message.target.engine == "operator" or message.id in self._edits:
            self._edits[message.id] = message
            if len(self._edits) > _EDITS:
                del self._edits[next(iter(self._edits))]
            self.accepted.follow(message)
            self.review.follow(message)

    def flush(self) -> None:
        """Write both files. Raises the first OSError."""
        self.accepted.flush()
        self.review.flush()

    def close(self) -> None:
        """Close the files."""
        self.accepted.file.close()
        self.review.file.close()

"""The pairs of source and target text that a session leaves behind to make the models better.

`sermon_pairs.jsonl` gets those nothing speaks against, `review_queue.jsonl` those that a person
should look at (pipeline.review), with the reasons. Both follow the operator: an edited caption's
pair gets the operator's text, a hidden one's goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import orjson

from pipeline.errors import ProtocolError
from pipeline.fields import integer, number, read_object, string
from pipeline.quality import Flag
from pipeline.session_files import GrowingFile
from pipeline.wire import Message

Reason = Flag | Literal["low-score", "no-score"]

PAIRS = "sermon_pairs.jsonl"
QUEUE = "review_queue.jsonl"
_TEXTS = (
    "session",
    "utc",
    "source_lang",
    "source",
    "raw_source",
    "target_lang",
    "target",
    "engine",
)


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
    """0..1, of the translator's text; see pipeline.quality."""
    reviewer: str | None = None
    """Who approved or corrected it in a review; None where nobody has."""
    reviewed_utc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem(Pair):
    """A line of review_queue.jsonl."""

    reasons: tuple[Reason, ...]
    """Flags of the utterance; `low-score`, or `no-score` where nothing could be measured."""


def pair_of(record: Mapping[str, Any], session: str) -> Pair | ReviewItem | None:
    """Return what to keep of an utterance's record (pipeline.records), if anything.

    Kept are captions with the decision `accept` and no flag, and for review those with the
    decision `review` or a flag. What is rejected is of no use to anybody, and a `moderate` one
    without a flag neither good enough to learn from nor bad enough to cost a person's time.
    """
    quality = record["quality"]
    if quality is None or quality["decision"] == "reject":
        return None
    final, score, decision = record["final"], quality["score"], quality["decision"]
    pair = {
        "session": session,
        **{key: record[key] for key in ("id", "utc", "start_s", "end_s")},
        "source_lang": record["lang"],
        "source": record["text"],
        "raw_source": record["raw_text"],
        "target_lang": final["lang"],
        "target": final["text"],
        "engine": final["engine"],
        "score": score,
    }
    reasons: list[Reason] = list(record["flags"])
    if decision == "review":
        reasons.append("no-score" if score is None else "low-score")
    if reasons:
        return ReviewItem(**pair, reasons=tuple(reasons))
    return Pair(**pair) if decision == "accept" else None


def parse_review_item(line: str | bytes) -> ReviewItem:
    """Read back a line of review_queue.jsonl. Raises ProtocolError."""
    fields = read_object(line)
    score, reasons = fields.get("score"), fields.get("reasons")
    if not isinstance(reasons, list):
        raise ProtocolError("bad-field", "reasons is a list.")
    return ReviewItem(
        id=integer(fields, "id", 0),
        start_s=number(fields, "start_s"),
        end_s=number(fields, "end_s"),
        score=None if score is None else number(fields, "score"),
        reasons=tuple(reasons),
        **{key: string(fields, key, empty=True) for key in _TEXTS},
    )


AnyPair = TypeVar("AnyPair", bound=Pair)


class PairFile(Generic[AnyPair]):
    """One of the two files: grows by whole lines, and is replaced at once after an edit."""

    def __init__(self, path: Path) -> None:
        self._file = GrowingFile(path)
        self._pairs: dict[int, AnyPair] = {}
        self._written: int | None = 0

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return len(self._pairs)

    def add(self, pair: AnyPair) -> None:
        """Take a pair in."""
        self._pairs[pair.id] = pair

    def follow(self, message: Message) -> None:
        """Do to the caption's pair, if it is here, what the operator did to the caption."""
        pair = self._pairs.get(message.id)
        if pair is None:
            return
        self._written = None
        if message.target.text:
            edited = replace(pair, target=message.target.text, engine=message.target.engine)
            self._pairs[message.id] = replace(edited, target_lang=message.target.lang)
        else:
            del self._pairs[message.id]

    def flush(self) -> None:
        """Write what the file lacks. Raises OSError; then the file is as it was."""
        if self._written is None:
            self._file.replace(b"".join(_line(pair) for pair in self._pairs.values()))
            self._written = len(self._pairs)
        for pair in list(islice(self._pairs.values(), self._written, None)):
            self._file.append(_line(pair))
            self._written += 1

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Pairs:
    """Both files of a session."""

    def __init__(self, folder: Path) -> None:
        self.accepted: PairFile[Pair] = PairFile(folder / PAIRS)
        self.review: PairFile[ReviewItem] = PairFile(folder / QUEUE)
        self._session = folder.name
        self._edits: dict[int, Message] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Take an utterance's record."""
        match pair_of(record, self._session):
            case ReviewItem() as item:
                self.review.add(item)
            case Pair() as pair:
                self.accepted.add(pair)
        if edit := self._edits.get(record["id"]):  # an operator was quicker than the final
            self.follow(edit)

    def follow(self, message: Message) -> None:
        """Take a final caption; only those of an operator change anything."""
        if message.target.engine == "operator":
            self._edits[message.id] = message
            self.accepted.follow(message)
            self.review.follow(message)

    def flush(self) -> None:
        """Write what the files lack. Raises the first OSError."""
        self.accepted.flush()
        self.review.flush()

    def close(self) -> None:
        """Close the files."""
        self.accepted.close()
        self.review.close()


def _line(pair: Pair) -> bytes:
    return orjson.dumps(pair, option=orjson.OPT_APPEND_NEWLINE)

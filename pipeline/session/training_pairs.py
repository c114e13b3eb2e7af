"""The pairs of source and target text that a session keeps for training models.

Every caption's pair is in one of four files: `sermon_pairs.jsonl` those nothing speaks against and
those an operator has edited, `review_queue.jsonl` those that a person should look at
(pipeline.review.store), with the reasons, `moderate_pairs.jsonl` those of a middling score, for
spot checks, and `rejected_pairs.jsonl` the rest, from which an edit still makes a good pair. All
follow the operator: an edited caption's pair gets the operator's text and goes to the first file,
with an undone edit it goes back, a hidden caption's pair goes and comes back with its caption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from pydantic import TypeAdapter

from pipeline.captions.board import is_by_operator
from pipeline.core.errors import ProtocolError
from pipeline.core.files import LineFile, do_all
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
_EDITS = 1_000
"""Edits remembered for captions whose final comes later."""


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


def pair_of(record: UtteranceRecord, session: str) -> Pair | None:
    """Return the pair of an utterance's record, None if it has no translation."""
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
        target_lang=final.lang,
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
    told = replace(pair, target=target.text, target_lang=target.lang, engine=target.engine)
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
    records: Iterable[UtteranceRecord], edits: Mapping[int, CaptionMessage], session: str
) -> dict[str, list[Pair]]:
    """Return the pairs of a whole session by the file that they belong into.

    `edits` are the newest versions of captions that an operator has changed, by id.
    """
    filed: dict[str, list[Pair]] = {name: [] for name in NAMES}
    newest = {record.id: pair for record in records if (pair := pair_of(record, session))}
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
        if is_by_operator(message) or not message.target.text:
            touched.add(message.id)
    return {key: newest[key] for key in sorted(touched)}


def parse_review_item(line: str | bytes) -> ReviewItem:
    """Parse a line of review_queue.jsonl. Raises ProtocolError."""
    return parse_json(_ITEM, line)


def parse_pair(line: str | bytes) -> Pair:
    """Read back a line of any of the files, without its reasons. Raises ProtocolError."""
    fields = orjson.loads(line)
    if not isinstance(fields, dict):
        raise ProtocolError("bad-json", "This line is no pair.")
    # A line of the review queue has reasons, which a pair has no field for.
    known = {name: fields[name] for name in _FIELDS if name in fields}
    return parse_json(_PAIR, orjson.dumps(known))


def pair_line(pair: Pair) -> bytes:
    """Return a pair as a line of its file."""
    return orjson.dumps(pair, option=orjson.OPT_APPEND_NEWLINE)


class PairFile:
    """One of the files. An edit reads it again, so that nothing of it is kept in memory."""

    def __init__(self, path: Path, originals: dict[int, bytes], *, keep: bool) -> None:
        """Make it. Raises OSError. `originals` are lines in memory, for `sift`."""
        self.file = LineFile(path, keep=keep)
        self._originals = originals
        self._count = 0

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return self._count

    def add(self, pair: Pair) -> None:
        """Take a pair in."""
        self.file.add(pair_line(pair))
        self._count += 1

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to every line; see LineFile. Raises OSError."""
        self.file.rewrite(change)
        self._count = sum(1 for _ in self.file.lines())

    def sift(self, change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to the lines that are in memory."""
        self.file.sift(change)
        # What goes off the record is not to come back from there.
        for key in [key for key, line in self._originals.items() if not change(line)]:
            del self._originals[key]


class Pairs:
    """All files of a session."""

    def __init__(self, folder: Path, *, keep: bool = False) -> None:
        """Make them; with `keep` they stay as they are until `clear`. Raises OSError."""
        self._originals: dict[int, bytes] = {}
        """The pairs of captions that an operator has touched, as they were before, by id."""
        self.files = {name: PairFile(folder / name, self._originals, keep=keep) for name in NAMES}
        self._session = folder.name
        self._edits: dict[int, CaptionMessage] = {}
        self._changed: set[int] = set()

    def clear(self) -> None:
        """Begin anew: the records of a session that goes on give all pairs again.

        Raises OSError.
        """
        for each in self.files.values():
            each.file.clear()

    @property
    def accepted(self) -> PairFile:
        """The pairs that nothing speaks against."""
        return self.files[PAIRS]

    @property
    def review(self) -> PairFile:
        """The pairs that a person should look at."""
        return self.files[QUEUE]

    def add(self, record: UtteranceRecord) -> None:
        """Take an utterance's record."""
        pair = pair_of(record, self._session)
        edit = self._edits.get(record.id)  # an operator may be quicker than the final
        if pair is not None and edit is not None:
            self._originals[pair.id] = pair_line(pair)
            pair = follow_edit(pair, edit)
        if pair is not None:
            name, filed_pair = file_pair(pair)
            self.files[name].add(filed_pair)

    def follow(self, message: CaptionMessage) -> None:
        """Take a final caption; only what an operator did, or undid, changes anything."""
        # An undo brings the translator's own text back, under an id that is in the list.
        if is_by_operator(message) or message.id in self._edits:
            self._edits[message.id] = message
            self._changed.add(message.id)
            # A bound: an operator who edits all day must not fill the memory.
            if len(self._edits) > _EDITS:
                oldest = next(iter(self._edits))
                del self._edits[oldest]
                self._originals.pop(oldest, None)
                self._changed.discard(oldest)

    def flush(self) -> None:
        """Write what the files lack. Raises the first OSError; what is not written waits."""
        if self._changed:
            filed = {key for name in NAMES for key in self._refile(name)}
            self._bring_back(self._changed - filed)
            self._changed.clear()
        do_all(each.file.flush for each in self.files.values())

    def close(self) -> None:
        """Close the files."""
        for each in self.files.values():
            each.file.close()

    def _refile(self, name: str) -> set[int]:
        """Bring the edited pairs of one file up to date; those that belong elsewhere go there.

        Returns the ids of those that it had.
        """
        leaving: dict[int, Filed] = {}
        found: set[int] = set()

        def change(line: bytes) -> bytes:
            try:
                # Only the id is looked at: of hundreds of lines one or two have changed.
                if (key := orjson.loads(line)["id"]) not in self._changed:
                    return line
                # Each version is made of the first: an edit takes away what an undone one needs.
                kept = self._pair_now(key, self._originals.setdefault(key, line))
            except (ValueError, KeyError, TypeError, ProtocolError):
                return line  # damaged: nobody can tell whose it is
            found.add(key)
            if kept is None:
                return b""
            home, filed_pair = file_pair(kept)
            if home == name:
                return pair_line(filed_pair)
            # Added only below: a rewrite that fails must not leave the pair in two files.
            leaving[key] = home, filed_pair
            return b""

        self.files[name].rewrite(change)
        for home, pair in leaving.values():
            self.files[home].add(pair)
        return found

    def _bring_back(self, changed: Iterable[int]) -> None:
        """File the pairs of captions that were hidden and are not any more."""
        for key in sorted(changed):
            kept = self._pair_now(key, self._originals.get(key))
            if kept is not None:
                name, filed_pair = file_pair(kept)
                self.files[name].add(filed_pair)

    def _pair_now(self, key: int, original: bytes | None) -> Pair | None:
        """Return a pair as its caption is now; None where that is hidden, or there is no pair."""
        return follow_edit(parse_pair(original), self._edits[key]) if original else None

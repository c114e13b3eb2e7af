"""The review of a session: people's decisions about its doubtful pairs.

A decision is written to `reviewed.jsonl` first, the last one about an item counts, and then
`sermon_pairs.jsonl` is rewritten to match. So deciding twice does no harm, nor does a kill in
between.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import ProtocolError, SessionError, reading
from pipeline.core.files import GrowingFile, try_lock, write_whole
from pipeline.core.formats import utc_now
from pipeline.core.types import Word
from pipeline.protocol.caption import Count
from pipeline.protocol.codec import parse_json
from pipeline.records.utterance import UtteranceRecord
from pipeline.review.wording import doubt
from pipeline.session.reader import JOURNAL, Session, read_session_lines
from pipeline.session.recorder import writing_to
from pipeline.session.recordings import recording_path
from pipeline.session.training_pairs import (
    PAIRS,
    QUEUE,
    REJECTED,
    Pair,
    ReviewItem,
    file_pairs,
    operator_edits,
    parse_pair,
    parse_review_item,
    write_pairs,
)
from pipeline.text.words import words

# Factors are multiplied: a 0 among them would hide what the others say.
_LEAST = 0.05
"""No factor is nothing: a caption with a church term is worth a look although all seems well."""
_MOST_TERMS = 3
_FEWEST_WORDS = 3
"""Of a rejected caption: "Amen." teaches nothing."""


def priority(pair: Pair, heard: Sequence[Word], terms: Iterable[str]) -> float:
    """Return how much a look at a caption promises, more than 0.

    `heard` are the words as recognized, with how sure the recognizer was; `terms` the church's. A
    measure that is missing is taken from the score.
    """
    # Without a score nothing speaks for a pair: it is taken as wholly unsure.
    unsure = 1 - (pair.score if pair.score is not None else 0.0)
    apart = unsure if pair.marian_agreement is None else 1 - pair.marian_agreement
    misheard = unsure if pair.stt_confidence is None else 1 - pair.stt_confidence
    if heard and pair.stt_confidence is not None:
        # The worst word, not the mean: one misheard name makes a sentence wrong.
        misheard = max(misheard, 1 - min(word.probability for word in heard))
    # With a space at either end, so that terms are found as whole words.
    said = f" {' '.join(words(pair.source))} "
    count = sum(f" {' '.join(words(term))} " in said for term in set(terms))
    return max(_LEAST, apart) * (1 + min(count, _MOST_TERMS)) * max(_LEAST, misheard)


# It only grows: what was decided before is there still when somebody asks who changed what.
REVIEWED = "reviewed.jsonl"
WORST = 20
"""Captions to look at first: as many as somebody reads who has ten minutes."""

Outcome: TypeAlias = Literal["approved", "corrected", "rejected", "open"]


# The texts are in it even where they are unchanged: a line says all without the queue.
@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A line of reviewed.jsonl: a decision about an item of the review queue."""

    id: Count
    """The item's, that of its utterance."""
    utc: str
    reviewer: str
    """Who decided."""
    outcome: Outcome
    """`open`: an earlier decision is taken back."""
    source: str
    """The pair's source text after the decision."""
    target: str


@dataclass(frozen=True, slots=True)
class Other:
    """Another translator's text of the same utterance."""

    engine: str
    model: str
    """Empty for the quick translator."""
    text: str


# Both the service's texts and the decided ones: the page shows what a person has changed.
@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item of the review queue as the page shows it."""

    id: int
    start_s: float
    end_s: float
    score: float | None
    source_lang: str
    target_lang: str
    engine: str
    reasons: tuple[str, ...]
    """Why it is here, in plain words."""
    heard: str
    """The source text as it was in the service."""
    shown: str
    """The target text as it was shown in the service."""
    source: str
    """The source text as decided; at first `heard`."""
    target: str
    words: tuple[Word, ...]
    others: tuple[Other, ...]
    outcome: Outcome
    reviewer: str
    has_sound: bool
    """Whether it can be heard."""
    sentence: str = ""
    """The whole sentence where the caption is a piece of it, as it was heard."""


_REVIEWED = TypeAdapter(Reviewed)
_PAIR = TypeAdapter(Pair)


class Review:
    """The items of one session and the decisions about them; it locks the session."""

    def __init__(self, folder: Path, terms: Collection[str] = ()) -> None:
        """Read the queue and earlier decisions, and mend what a kill has left behind.

        `terms` are the church's words: captions with them come first. Raises SessionError
        (session-in-use, session-unreadable, session-unwritable).
        """
        self.folder = folder
        self._terms = terms
        # Before anything is read: a daemon that still wrote would make it old at once.
        self._lock = hold_session(folder / JOURNAL)
        try:
            session = Session(folder)
            _mend_pairs(session)
            # After the mending: it is that which may write the queue.
            self._items = {item.id: item for item in _to_review(session)}
            self._words = {record.id: record.words for record in session.utterances}
            self._others = _others(session)
            self._sentences = _sentences(session)
            self._decided = read_decisions(folder)
            with writing_to(folder):
                # sync: a decision is on the disk before the page says that it is saved.
                self._file = GrowingFile(folder / REVIEWED, sync=True, keep=True)
                self._fit_pairs()
        # KeyboardInterrupt as well: a lock that stays would keep the daemon from the session.
        except BaseException:
            os.close(self._lock)
            raise

    def close(self) -> None:
        """Unlock the session."""
        # The lock last: until then no other program may write here.
        self._file.close()
        os.close(self._lock)

    @property
    def left(self) -> int:
        """Number of items without a decision."""
        return sum(self._outcome(item) == "open" for item in self._items.values())

    @property
    def pairs(self) -> int:
        """Number of lines of the pairs file."""
        # Of what the file should be: it may be behind where its last write failed.
        return len(self._fitting().splitlines())

    def items(self) -> tuple[Item, ...]:
        """Return every item as the page shows it: those worth most, then all as they were said."""
        # By id, which is the order of time.
        spoken = sorted(self._items)
        worst = sorted(spoken, key=self._rank)[:WORST]
        return tuple(self.item(key) for key in [*worst, *(k for k in spoken if k not in worst)])

    def item(self, key: int) -> Item:
        """Return an item with its words and other translations."""
        queued = self._items[key]
        decided = self._decided.get(key)
        # Also where a decision was taken back: `open` shows the service's own text again.
        text = decided if decided and decided.outcome == "corrected" else queued
        others = self._others.get(key, {}).values()
        return Item(
            id=queued.id,
            start_s=queued.start_s,
            end_s=queued.end_s,
            score=queued.score,
            source_lang=queued.source_lang,
            target_lang=queued.target_lang,
            engine=queued.engine,
            reasons=tuple(map(doubt, queued.reasons)),
            heard=queued.source,
            shown=queued.target,
            source=text.source,
            target=text.target,
            words=self._words.get(key, ()),
            # A translator that says the same, or nothing, gives no choice.
            others=tuple(other for other in others if other.text not in ("", queued.target)),
            outcome=self._outcome(queued),
            reviewer=decided.reviewer if decided else "",
            has_sound=recording_path(self.folder, key).is_file(),
            sentence=self._sentences.get(key, ""),
        )

    def decide(
        self, key: int, outcome: Outcome, *, source: str, target: str, reviewer: str
    ) -> None:
        """Write a decision; approving a changed text counts as correcting it.

        Raises ProtocolError (unknown-item), SessionError (session-unwritable).
        """
        queued = self._items.get(key)
        # A page that was left open since the review of another session sends its decisions here.
        if queued is None:
            raise ProtocolError("unknown-item", f"There is no item {key} in the review queue.")
        if outcome in ("rejected", "open"):
            source, target = queued.source, queued.target
        else:
            # The texts decide, not the button: who changes nothing has approved.
            own = (source, target) == (queued.source, queued.target)
            outcome = "approved" if own else "corrected"
        was = self._decided.get(key)
        same = was and (was.outcome, was.source, was.target) == (outcome, source, target)
        with writing_to(self.folder):
            # A page that lost its connection sends its last decisions once more.
            if not same and not (was is None and outcome == "open"):
                decided = Reviewed(
                    id=key,
                    utc=utc_now(),
                    reviewer=reviewer,
                    outcome=outcome,
                    source=source,
                    target=target,
                )
                self._file.append(orjson.dumps(decided, option=orjson.OPT_APPEND_NEWLINE))
                # After the append: a full disk leaves memory and file alike.
                self._decided[key] = decided
            # Also where nothing is new: the last attempt may have failed between the two files.
            self._fit_pairs()

    def _rank(self, key: int) -> float:
        return -priority(self._items[key], self._words.get(key, ()), self._terms)

    def _outcome(self, item: ReviewItem) -> Outcome:
        decided = self._decided.get(item.id)
        return decided.outcome if decided else "open"

    def _fit_pairs(self) -> None:
        """Rewrite the pairs file to match the decisions, in one step. Raises OSError."""
        path, fitting = self.folder / PAIRS, self._fitting()
        if fitting != self._pairs_file():  # most openings change nothing: no wear, no new date
            write_whole(path, fitting)

    def _fitting(self) -> bytes:
        """Return the right content of the pairs file: undoubted pairs, then those decided good."""
        lines = self._pairs_file().splitlines(keepends=True)
        # A line without its end was torn by a power cut.
        # Items of the review leave the file first: their decisions put them back, or not.
        kept = [line for line in lines if line.endswith(b"\n") and _id(line) not in self._items]
        good = (self._pair(decided) for decided in self._decided.values())
        return b"".join(kept) + b"".join(
            orjson.dumps(pair, option=orjson.OPT_APPEND_NEWLINE) for pair in good if pair
        )

    def _pairs_file(self) -> bytes:
        path = self.folder / PAIRS
        return path.read_bytes() if path.exists() else b""

    def _pair(self, decided: Reviewed) -> Pair | None:
        queued = self._items.get(decided.id)
        if queued is None or decided.outcome not in ("approved", "corrected"):
            return None
        fields = asdict(queued)
        # Only the queue has reasons: a pair that a person vouches for needs none.
        del fields["reasons"]
        pair = Pair(**fields)
        return replace(
            pair,
            source=decided.source,
            target=decided.target,
            # Who has rewritten a translation has made it: no model shall be judged by it.
            engine=pair.engine if decided.target == pair.target else "operator",
            reviewer=decided.reviewer,
            reviewed_utc=decided.utc,
        )


def _mend_pairs(session: Session) -> None:
    """Make the files of pairs, where a crash has kept the service from it."""
    # They are written at the end of a service: a crash leaves a session without them.
    if session.utterances and not (session.folder / PAIRS).exists():
        edits = operator_edits(session.messages)
        with writing_to(session.folder):
            target = session.langs["target"]
            filed = file_pairs(session.utterances, edits, session.name, target)
            write_pairs(session.folder, filed)


def _sentences(session: Session) -> dict[int, str]:
    """Return by utterance the whole sentence of each that is a piece of one.

    Recognizers go on with a small letter behind a pause.
    """
    groups: list[list[UtteranceRecord]] = []
    for record in session.shown:
        if groups and record.text[:1].islower():
            groups[-1].append(record)
        else:
            groups.append([record])
    return {
        record.id: " ".join(each.text for each in group)
        for group in groups
        if len(group) > 1
        for record in group
    }


def _to_review(session: Session) -> list[ReviewItem]:
    """Return the queue, and what was rejected although somebody spoke: the worst of a service."""
    queue, rejected = session.folder / QUEUE, session.folder / REJECTED
    items = read_session_lines(queue, parse_review_item) if queue.exists() else []
    others = read_session_lines(rejected, parse_pair) if rejected.exists() else []
    known = {item.id for item in items}
    for pair in others:
        record = session.by_id.get(pair.id)
        excluded = record.quality.excluded if record and record.quality else ()
        # Of what a recognizer made up nobody can say what would be right.
        is_spoken = not {"no-speech-prob", "compression-ratio"} & set(excluded)
        if pair.id not in known and is_spoken and len(words(pair.source)) >= _FEWEST_WORDS:
            reasons = pair.flags or ("low-score",)
            items.append(ReviewItem(**asdict(pair), reasons=reasons))
    return items


def read_decisions(folder: Path) -> dict[int, Reviewed]:
    """Return the last decision about each item of a session's review. Raises SessionError."""
    path = folder / REVIEWED
    every = read_session_lines(path, partial(parse_json, _REVIEWED)) if path.exists() else []
    # Read in order: of several decisions about one item the last one is left.
    return {decided.id: decided for decided in every}


def hold_session(journal: Path) -> int:
    """Lock a session's journal, as the daemon that writes it does; return the descriptor."""
    with reading(journal, SessionError, "session-unreadable"):
        # A lock goes with its last descriptor: a program that is started must not inherit one.
        fd = os.open(journal, os.O_RDONLY)
    with suppress(OSError):  # of a file system that knows no locks
        if not try_lock(fd):
            os.close(fd)
            message = f"{journal.parent} is still being written, or reviewed by another program."
            raise SessionError("session-in-use", message, "End that first.")
    return fd


def _others(session: Session) -> dict[int, dict[str, Other]]:
    """Return other translations by utterance and text, the quick translator's first."""
    by_utterance: dict[int, dict[str, Other]] = {}
    for record in session.utterances:
        quick = record.partial
        by_utterance[record.id] = {quick.text: Other(quick.engine, "", quick.text)} if quick else {}
    for second in session.compares:
        other = Other(second.engine, second.model, second.text)
        by_utterance.get(second.id, {}).setdefault(other.text, other)
    return by_utterance


def _id(line: bytes) -> int:
    """Return the id in a line of the pairs file, -1 if it is no pair."""
    try:
        return parse_json(_PAIR, line).id
    except ProtocolError:
        return -1

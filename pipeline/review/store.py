"""The review of a session: people's decisions about its doubtful pairs.

A decision is first appended to `reviewed.jsonl`; the last decision about an item counts. Then
`sermon_pairs.jsonl` is rewritten to match. So neither a repeated decision nor a kill in between
does harm.
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
    NAMES,
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

# Factors are multiplied: a factor of 0 would hide the others.
_LEAST = 0.05
"""The least factor: a caption with a church term is worth a look even if all seems well."""
_MOST_TERMS = 3
_FEWEST_WORDS = 3
"""Minimum length of a rejected caption: "Amen." teaches nothing."""


def priority(pair: Pair, heard: Sequence[Word], terms: Iterable[str]) -> float:
    """Return how useful it is to review a caption, more than 0.

    `heard` are the recognized words with their probabilities; `terms` are the church's terms. The
    score replaces a missing measure.
    """
    # A pair without a score counts as fully unsure.
    unsure = 1 - (pair.score if pair.score is not None else 0.0)
    apart = unsure if pair.marian_agreement is None else 1 - pair.marian_agreement
    misheard = unsure if pair.stt_confidence is None else 1 - pair.stt_confidence
    if heard and pair.stt_confidence is not None:
        # The worst word, not the mean: one misheard name makes a sentence wrong.
        misheard = max(misheard, 1 - min(word.probability for word in heard))
    # With a space at each end, so that terms match whole words only.
    said = f" {' '.join(words(pair.source))} "
    count = sum(f" {' '.join(words(term))} " in said for term in set(terms))
    return max(_LEAST, apart) * (1 + min(count, _MOST_TERMS)) * max(_LEAST, misheard)


# Append-only: earlier decisions stay, so that people can see who changed what.
REVIEWED = "reviewed.jsonl"
WORST = 20
"""Captions to review first: as many as a person reads in ten minutes."""

Outcome: TypeAlias = Literal["approved", "corrected", "rejected", "open"]


# It has the texts even if they are unchanged: a line is complete without the queue.
@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A line of reviewed.jsonl: a decision about an item of the review queue."""

    id: Count
    """Number of the item and of its utterance."""
    utc: str
    reviewer: str
    """Who decided."""
    outcome: Outcome
    """`open` undoes an earlier decision."""
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


# It has the texts of the service and the decided ones: the page shows what a person changed.
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
    """Whether its recording is there."""
    sentence: str = ""
    """The whole sentence as recognized, if the caption is only a part of it."""


_REVIEWED = TypeAdapter(Reviewed)


class Review:
    """The items of one session and the decisions about them; it locks the session."""

    def __init__(self, folder: Path, terms: Collection[str] = ()) -> None:
        """Read the queue and earlier decisions, and repair what a kill left behind.

        `terms` are the church's words: captions with them come first. Raises SessionError
        (session-in-use, session-unreadable, session-unwritable).
        """
        self.folder = folder
        self._terms = terms
        # Lock before reading: a daemon that still writes would make the data stale at once.
        self._lock = hold_session(folder / JOURNAL)
        try:
            session = Session(folder)
            _mend_pairs(session)
            # After `_mend_pairs`, which may write the queue.
            self._items = {item.id: item for item in _to_review(session)}
            self._words = {record.id: record.words for record in session.utterances}
            self._others = _others(session)
            self._sentences = _sentences(session)
            self._decided = read_decisions(folder)
            with writing_to(folder):
                # sync: a decision is on disk before the page says that it is saved.
                self._file = GrowingFile(folder / REVIEWED, sync=True, keep=True)
                self._fit_pairs()
        # KeyboardInterrupt as well: a lock that stays would keep the daemon out of the session.
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
        # From the correct content: the file is outdated if its last write failed.
        return len(self._fitting().splitlines())

    def items(self) -> tuple[Item, ...]:
        """Return all items as the page shows them: the most useful first, the rest as spoken."""
        # By id, which follows the order of time.
        spoken = sorted(self._items)
        worst = sorted(spoken, key=self._rank)[:WORST]
        return tuple(self.item(key) for key in [*worst, *(k for k in spoken if k not in worst)])

    def item(self, key: int) -> Item:
        """Return an item with its words and other translations."""
        queued = self._items[key]
        decided = self._decided.get(key)
        # If a decision was undone (`open`), the text is that of the service again.
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
            # An equal or empty text is no alternative.
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
        # A page still open from the review of another session may send its decisions here.
        if queued is None:
            raise ProtocolError("unknown-item", f"There is no item {key} in the review queue.")
        if outcome in ("rejected", "open"):
            source, target = queued.source, queued.target
        else:
            # The texts decide, not the button: unchanged texts are an approval.
            unchanged = (source, target) == (queued.source, queued.target)
            outcome = "approved" if unchanged else "corrected"
        last = self._decided.get(key)
        same = last and (last.outcome, last.source, last.target) == (outcome, source, target)
        with writing_to(self.folder):
            # A page that lost its connection sends its last decisions again.
            if not same and not (last is None and outcome == "open"):
                decided = Reviewed(
                    id=key,
                    utc=utc_now(),
                    reviewer=reviewer,
                    outcome=outcome,
                    source=source,
                    target=target,
                )
                self._file.append(orjson.dumps(decided, option=orjson.OPT_APPEND_NEWLINE))
                # After the append: if the disk is full, memory and file still agree.
                self._decided[key] = decided
            # Even without a change: the last attempt may have failed between the two files.
            self._fit_pairs()

    def _rank(self, key: int) -> float:
        return -priority(self._items[key], self._words.get(key, ()), self._terms)

    def _outcome(self, item: ReviewItem) -> Outcome:
        decided = self._decided.get(item.id)
        return decided.outcome if decided else "open"

    def _fit_pairs(self) -> None:
        """Rewrite the pairs file to match the decisions, in one step. Raises OSError."""
        path, fitting = self.folder / PAIRS, self._fitting()
        if fitting != self._pairs_file():  # usually equal: then no disk wear and no new file date
            write_whole(path, fitting)

    def _fitting(self) -> bytes:
        """Return the correct content of the pairs file: undoubted pairs, then approved ones."""
        lines = self._pairs_file().splitlines(keepends=True)
        # A line without its end was torn by a power cut.
        # Items of the review are left out here: their decisions add them again, or not.
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
        # Only the queue has reasons: a pair that a person approved needs none.
        del fields["reasons"]
        pair = Pair(**fields)
        return replace(
            pair,
            source=decided.source,
            target=decided.target,
            # A rewritten translation is the operator's: it must not be used to judge a model.
            engine=pair.engine if decided.target == pair.target else "operator",
            reviewer=decided.reviewer,
            reviewed_utc=decided.utc,
        )


def _mend_pairs(session: Session) -> None:
    """Make the files of pairs if a crash or a full disk prevented the service from making them."""
    # They are written one by one at the end of a service: a session that crashed then lacks some.
    is_whole = all((session.folder / name).exists() for name in NAMES)
    if session.utterances and not is_whole:
        edits = operator_edits(session.messages)
        with writing_to(session.folder):
            target = session.langs["target"]
            filed = file_pairs(session.utterances, edits, session.name, target)
            write_pairs(session.folder, filed)


def _sentences(session: Session) -> dict[int, str]:
    """Return the whole sentence of each utterance that is a part of one, by utterance.

    After a pause, recognizers continue a sentence with a small letter.
    """
    groups: list[list[UtteranceRecord]] = []
    shown = {message.id for message in session.captions}
    # Without what an operator has hidden.
    for record in (each for each in session.shown if each.id in shown):
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
    """Return the queue, and captions rejected although somebody spoke: the worst of a service."""
    queue, rejected = session.folder / QUEUE, session.folder / REJECTED
    items = read_session_lines(queue, parse_review_item) if queue.exists() else []
    others = read_session_lines(rejected, parse_pair) if rejected.exists() else []
    known = {item.id for item in items}
    for pair in others:
        record = session.by_id.get(pair.id)
        excluded = record.quality.excluded if record and record.quality else ()
        # If the recognizer invented the text, there is no correct version of it.
        is_spoken = not {"no-speech-prob", "compression-ratio"} & set(excluded)
        if pair.id not in known and is_spoken and len(words(pair.source)) >= _FEWEST_WORDS:
            reasons = pair.flags or ("low-score",)
            items.append(ReviewItem(**asdict(pair), reasons=reasons))
    return items


def read_decisions(folder: Path) -> dict[int, Reviewed]:
    """Return the last decision about each item of a session's review. Raises SessionError."""
    path = folder / REVIEWED
    every = read_session_lines(path, partial(parse_json, _REVIEWED)) if path.exists() else []
    # Read in order: the last decision about an item replaces earlier ones.
    return {decided.id: decided for decided in every}


def hold_session(journal: Path) -> int:
    """Lock a session's journal, as the daemon that writes it does; return the descriptor."""
    with reading(journal, SessionError, "session-unreadable"):
        # A lock ends with its last descriptor: a child process must not inherit one.
        fd = os.open(journal, os.O_RDONLY)
    with suppress(OSError):  # the file system has no locks
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
    """Return the id in a line of the pairs file, -1 if the line is not a pair."""
    try:
        return parse_pair(line).id
    except ProtocolError:
        return -1

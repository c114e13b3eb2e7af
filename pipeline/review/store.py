"""The review of a session: of what is in its review queue, a person says what is a good pair.

Every decision is on disk in `reviewed.jsonl` before it counts, the last one about an item is the
one that holds, and `sermon_pairs.jsonl` is made to fit each time. So it does not matter how often
something is decided, or whether the program is killed in between.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import orjson

from pipeline.core.errors import ProtocolError, SessionError
from pipeline.core.files import GrowingFile, WholeFile
from pipeline.protocol.fields import integer, read_object, string
from pipeline.session.folders import unwritable
from pipeline.session.reader import JOURNAL, read_lines, read_records
from pipeline.session.training_pairs import PAIRS, QUEUE, Pair, ReviewItem, parse_review_item

REVIEWED = "reviewed.jsonl"

Outcome: TypeAlias = Literal["approved", "corrected", "rejected", "open"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A line of reviewed.jsonl: a decision about an item of the review queue."""

    id: int
    """The item's, that of its utterance."""
    utc: str
    reviewer: str
    """Who decided."""
    outcome: Outcome
    """`open`: an earlier decision is taken back."""
    source: str
    """As it shall stand in the pair."""
    target: str


class Review:
    """The items of one session and what was decided of them. Nobody else may write meanwhile."""

    def __init__(self, folder: Path) -> None:
        """Read the queue and earlier decisions, and mend what a kill has left behind.

        Raises SessionError (session-in-use, session-unreadable, session-unwritable).
        """
        self.folder = folder
        self._lock = _hold(folder / JOURNAL)
        try:
            queue = folder / QUEUE
            items = read_lines(queue, parse_review_item) if queue.exists() else []
            self._items = {item.id: item for item in items}
            self._beside = _beside(read_records(folder))
            self._decided = read_decisions(folder)
            try:
                self._file = GrowingFile(folder / REVIEWED, sync=True, keep=True)
                self._fit_pairs()
            except OSError as error:
                raise unwritable(folder, error.strerror or str(error)) from None
        except BaseException:
            os.close(self._lock)
            raise

    def close(self) -> None:
        """Let others have the session."""
        self._file.close()
        os.close(self._lock)

    @property
    def left(self) -> int:
        """Items without a decision."""
        return sum(self._outcome(item) == "open" for item in self._items.values())

    @property
    def pairs(self) -> int:
        """Lines of the pairs file."""
        return len(self._fitting().splitlines())

    def items(self) -> list[dict[str, Any]]:
        """Return every item as the page shows it (`item`), in the order of the service."""
        return [self.item(key) for key in sorted(self._items)]

    def item(self, key: int) -> dict[str, Any]:
        """Return an item with what is known beside it. `source`, `target`: as they stand now."""
        queued = self._items[key]
        decided = self._decided.get(key)
        text = decided if decided and decided.outcome == "corrected" else queued
        beside = self._beside.get(key, {})
        return {
            **{name: getattr(queued, name) for name in ("id", "start_s", "end_s", "score")},
            **{name: getattr(queued, name) for name in ("source_lang", "target_lang", "engine")},
            "reasons": queued.reasons,
            "heard": queued.source,
            "shown": queued.target,
            "source": text.source,
            "target": text.target,
            "words": beside.get("words", ()),
            "others": [
                other
                for text, other in beside.get("others", {}).items()
                if text not in ("", queued.target)
            ],
            "outcome": self._outcome(queued),
            "reviewer": decided.reviewer if decided else "",
        }

    def decide(
        self, key: int, outcome: Outcome, *, source: str, target: str, reviewer: str
    ) -> None:
        """Keep a decision; approving another text than the queue's is correcting it.

        Raises ProtocolError (unknown-item), SessionError (session-unwritable).
        """
        queued = self._items.get(key)
        if queued is None:
            raise ProtocolError("unknown-item", f"There is no item {key} in the review queue.")
        if outcome in ("rejected", "open"):
            source, target = queued.source, queued.target
        else:
            own = (source, target) == (queued.source, queued.target)
            outcome = "approved" if own else "corrected"
        was = self._decided.get(key)
        same = was and (was.outcome, was.source, was.target) == (outcome, source, target)
        try:
            if not same and not (was is None and outcome == "open"):
                utc = datetime.now(UTC).isoformat(timespec="milliseconds")
                decided = Reviewed(
                    id=key,
                    utc=utc,
                    reviewer=reviewer,
                    outcome=outcome,
                    source=source,
                    target=target,
                )
                self._file.append(orjson.dumps(decided, option=orjson.OPT_APPEND_NEWLINE))
                self._decided[key] = decided
            self._fit_pairs()
        except OSError as error:
            raise unwritable(self.folder, error.strerror or str(error)) from None

    def _outcome(self, item: ReviewItem) -> Outcome:
        decided = self._decided.get(item.id)
        return decided.outcome if decided else "open"

    def _fit_pairs(self) -> None:
        """Bring the pairs file up to date, in one piece. Raises OSError."""
        path, fitting = self.folder / PAIRS, self._fitting()
        if fitting != self._pairs_file():
            file = WholeFile(path)
            file.content = fitting
            file.flush()

    def _fitting(self) -> bytes:
        """Return what the pairs file should be: what nobody had to look at, then what is good."""
        lines = self._pairs_file().splitlines(keepends=True)
        # A line without its end was torn by a power cut.
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
        del fields["reasons"]
        pair = Pair(**fields)
        return replace(
            pair,
            source=decided.source,
            target=decided.target,
            engine=pair.engine if decided.target == pair.target else "operator",
            reviewer=decided.reviewer,
            reviewed_utc=decided.utc,
        )


def read_decisions(folder: Path) -> dict[int, Reviewed]:
    """Return by item what was decided last in a session's review. Raises SessionError."""
    path = folder / REVIEWED
    every = read_lines(path, _parse_reviewed) if path.exists() else []
    return {decided.id: decided for decided in every}


def _hold(journal: Path) -> int:
    """Lock a session's journal, as the daemon that writes it does; return the descriptor."""
    try:
        fd = os.open(journal, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise SessionError("session-unreadable", f"{journal}: {error.strerror}.") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        message = f"{journal.parent} is still being written, or reviewed by another program."
        raise SessionError("session-in-use", message, "End that first.") from None
    except OSError:
        pass  # a file system that knows no locks
    return fd


def _beside(records: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return by utterance its words' probabilities and, by text, who else translated it so."""
    found: dict[int, dict[str, Any]] = {}
    for record in records:
        match record:
            case {"type": "utterance", "id": key}:
                found[key] = {"words": record.get("words", ()), "others": {}}
                made = record.get("partial")
            case {"type": "compare", "id": key} if key in found:
                made = record
            case _:
                continue
        if made:
            other = {name: made.get(name, "") for name in ("engine", "model", "text")}
            found[key]["others"].setdefault(other["text"], other)
    return found


def _parse_reviewed(line: bytes) -> Reviewed:
    fields = read_object(line)
    outcome = next((each for each in OUTCOMES if each == fields.get("outcome")), None)
    if outcome is None:
        raise ProtocolError("bad-field", f"outcome is one of {', '.join(OUTCOMES)}.")
    return Reviewed(
        id=integer(fields, "id", 0),
        outcome=outcome,
        **{key: string(fields, key, empty=True) for key in ("utc", "reviewer", "source", "target")},
    )


def _id(line: bytes) -> int:
    try:
        return integer(read_object(line), "id", 0)
    except ProtocolError:
        return -1

"""A session's pairs filed anew after its captions were judged again. What people decided holds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

from pipeline.core.files import write_whole
from pipeline.evaluation.rescore import QualityRecord
from pipeline.review.store import Review, hold_session, read_decisions
from pipeline.session.reader import JOURNAL, Session
from pipeline.session.recorder import unwritable
from pipeline.session.training_pairs import (
    NAMES,
    PAIRS,
    QUEUE,
    Pair,
    ReviewItem,
    file_pairs,
    operator_edits,
    pair_line,
)


def refile(folder: Path, judged: Sequence[QualityRecord]) -> Mapping[str, int]:
    """Write a session's files of pairs by these judgements; return how many pairs each has.

    Each file is the old one or the new one at any moment. Raises SessionError (session-in-use,
    session-unreadable, session-unwritable).
    """
    session = Session(folder)
    again = {each.id: each for each in judged}
    records = [
        replace(record, flags=again[record.id].flags, quality=again[record.id].quality)
        for record in session.shown
        if record.id in again
    ]
    filed = file_pairs(records, operator_edits(session.messages), session.name)
    decided = {key for key, told in read_decisions(folder).items() if told.outcome != "open"}
    for name in NAMES:  # a decision is about an item of the queue: it stays there
        kept = [pair for pair in filed[name] if name == QUEUE or pair.id not in decided]
        moved = [pair for pair in filed[name] if name != QUEUE and pair.id in decided]
        filed[name] = kept
        filed[QUEUE] += [_queued(pair) for pair in moved]
    # As the daemon and the review page do: two writers would undo each other.
    lock = hold_session(folder / JOURNAL)
    try:
        for name in NAMES:
            ordered = sorted(filed[name], key=lambda pair: pair.id)
            write_whole(folder / name, b"".join(map(pair_line, ordered)))
    except OSError as error:
        raise unwritable(folder, error.strerror or str(error)) from None
    finally:
        os.close(lock)
    counts = {name: len(filed[name]) for name in NAMES}
    if not decided:
        return counts
    with closing(Review(folder)) as review:  # brings in what was approved and corrected
        return counts | {PAIRS: review.pairs}


def _queued(pair: Pair) -> ReviewItem:
    return ReviewItem(**asdict(pair), reasons=pair.flags or ("low-score",))

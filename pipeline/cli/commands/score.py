"""`score`: judge a past session's captions again, with a better estimator than the live one."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import get_args

import orjson
from rich.table import Table

from pipeline.cli.commands.learn_models import progress
from pipeline.cli.console import Console
from pipeline.cli.options import Commands, add_command, add_session, session_of, settings_of
from pipeline.config.schema import Settings
from pipeline.core.errors import UsageError
from pipeline.core.files import write_whole
from pipeline.evaluation.rescore import (
    LOG_PROBABILITY,
    MODEL,
    CometKiwi,
    MeaningAgreement,
    QualityRecord,
    judge_again,
)
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve
from pipeline.records.quality import Decision
from pipeline.review.store import Review, hold_session, read_decisions
from pipeline.session.reader import JOURNAL, Session
from pipeline.session.recorder import writing_to
from pipeline.session.training_pairs import (
    NAMES,
    PAIRS,
    QUEUE,
    ReviewItem,
    file_pairs,
    operator_edits,
    write_pairs,
)

_SAYS = "Estimate a session's translations again and write quality.jsonl."
_EMBEDDING = "embedding model that compares two translations (learn.embedding)"


def add(commands: Commands) -> None:
    parser = add_command(commands, "score", _score, _SAYS)
    add_session(parser)
    parser.add_argument(
        "--estimator",
        choices=[LOG_PROBABILITY, CometKiwi.name],
        default=LOG_PROBABILITY,
        help=f"estimator; {CometKiwi.name} needs the extra `comet`",
    )
    parser.add_argument("--embedding", metavar="MODEL", help=_EMBEDDING)
    parser.add_argument("--model", help=f"name or .ckpt file of {CometKiwi.name}'s model: {MODEL}")


def _score(arguments: argparse.Namespace) -> int:
    # First: unsuitable options are refused before anything is read or loaded.
    estimator = _estimator(arguments.estimator, arguments.model)
    settings = settings_of(arguments).settings
    meaning = _meaning(arguments.embedding, settings)
    folder = session_of(arguments)
    utterances = Session(folder).utterances  # before the model, which may take a minute to load
    if estimator is not None:
        estimator.load()
    if meaning is not None:
        meaning.load()
    with progress() as bars:
        task = bars.add_task("captions", total=sum(each.final is not None for each in utterances))
        judged = judge_again(utterances, estimator, meaning, lambda: bars.update(task, advance=1))
    before = [record.quality.decision for record in utterances if record.quality]
    Console().print(_table(folder.name, before, judged))
    print(f"Each caption's judgement is in {_write(folder, judged)}")
    filed = refile(folder, judged)
    counts = ", ".join(f"{count} in {name}" for name, count in sorted(filed.items()))
    print(f"Its pairs are filed by it: {counts}")
    return 0


def _estimator(name: str, model: str | None) -> CometKiwi | None:
    if name == CometKiwi.name:
        return CometKiwi(model or MODEL)
    if model is not None:
        raise UsageError("model-unused", f"--model is for --estimator {CometKiwi.name} only.")
    return None


def _meaning(asked: str | None, settings: Settings) -> MeaningAgreement | None:
    """Return the comparison of translations by meaning; None without a model. Raises ModelError."""
    named = settings.learn.embedding if asked is None else asked
    if not named:
        return None
    return MeaningAgreement(resolve("embedding", named, ModelLibrary.of(settings)))


def _write(folder: Path, judged: Sequence[QualityRecord]) -> Path:
    path = folder / "quality.jsonl"
    lines = (orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in judged)
    with writing_to(path):
        write_whole(path, b"".join(lines))
    return path


def _table(session: str, before: Sequence[str], judged: Sequence[QualityRecord]) -> Table:
    live, again = Counter(before), Counter(each.quality.decision for each in judged)
    table = Table(title=f"Session {session}: {len(judged)} captions", min_width=45)
    for name in ("decision", "live", "now"):
        table.add_column(name, justify="left" if name == "decision" else "right")
    for decision in get_args(Decision):
        table.add_row(decision, str(live[decision]), str(again[decision]))
    return table


def refile(folder: Path, judged: Sequence[QualityRecord]) -> Mapping[str, int]:
    """Write a session's files of pairs from these judgements; return how many pairs each has.

    Each file is replaced atomically. Raises SessionError (session-in-use, session-unreadable,
    session-unwritable).
    """
    session = Session(folder)
    again = {each.id: each for each in judged}
    records = [
        replace(record, flags=again[record.id].flags, quality=again[record.id].quality)
        for record in session.shown
        if record.id in again
    ]
    edits, target = operator_edits(session.messages), session.langs["target"]
    filed = file_pairs(records, edits, session.name, target)
    decided = {key for key, item in read_decisions(folder).items() if item.outcome != "open"}
    for name in NAMES:  # an item with a decision stays in the queue
        kept = [pair for pair in filed[name] if name == QUEUE or pair.id not in decided]
        moved = [pair for pair in filed[name] if name != QUEUE and pair.id in decided]
        filed[name] = kept
        filed[QUEUE] += [
            ReviewItem(**asdict(pair), reasons=pair.flags or ("low-score",)) for pair in moved
        ]
    # The daemon and the review page lock it too: two writers would undo each other.
    lock = hold_session(folder / JOURNAL)
    try:
        # Sorted by id, as the daemon writes them.
        with writing_to(folder):
            write_pairs(
                folder, {name: sorted(filed[name], key=lambda pair: pair.id) for name in NAMES}
            )
    finally:
        os.close(lock)
    counts = {name: len(filed[name]) for name in NAMES}
    if not decided:
        return counts
    with closing(Review(folder)) as review:  # adds the approved and corrected pairs
        return counts | {PAIRS: review.pairs}

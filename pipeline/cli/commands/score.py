"""`score`: judge a past session's captions again, with a better estimator than the live one."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import orjson
from rich.console import Console
from rich.table import Table

from pipeline.cli.commands.learn_models import progress
from pipeline.cli.options import Commands, add_command, add_session, session_of, settings_of
from pipeline.config.schema import Settings
from pipeline.core.errors import UsageError
from pipeline.core.files import WholeFile
from pipeline.evaluation.agreement import MeaningAgreement
from pipeline.evaluation.comet import MODEL, CometKiwi
from pipeline.evaluation.rescore import QualityRecord, judge_again
from pipeline.learning.limits import limits_in_use
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve
from pipeline.records.quality import Decision, LogProbability, QualityEstimator
from pipeline.review.refile import refile
from pipeline.session.reader import Session
from pipeline.session.recorder import unwritable

_SAYS = "Estimate a session's translations again and write quality.jsonl."
_EMBEDDING = "embedding model that compares two translations (learn.embedding)"


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, "score", _score, _SAYS)
    add_session(parser)
    parser.add_argument(
        "--estimator",
        choices=[LogProbability.name, CometKiwi.name],
        default=LogProbability.name,
        help=f"estimator; {CometKiwi.name} needs the extra `comet`",
    )
    parser.add_argument("--embedding", metavar="MODEL", help=_EMBEDDING)
    parser.add_argument("--model", help=f"name or .ckpt file of {CometKiwi.name}'s model: {MODEL}")


def _score(arguments: argparse.Namespace) -> int:
    estimator = _estimator(arguments.estimator, arguments.model)
    settings = settings_of(arguments).settings
    meaning = _meaning(arguments.embedding, settings)
    folder = session_of(arguments)
    utterances = Session(folder).utterances  # before the model, which may take a minute to load
    estimator.load()
    if meaning is not None:
        meaning.load()
    limits = limits_in_use(Path(settings.session.directory))
    with progress() as bars:
        task = bars.add_task("captions", total=sum(each.final is not None for each in utterances))
        judged = judge_again(
            utterances, estimator, meaning, limits, lambda: bars.update(task, advance=1)
        )
    before = [record.quality.decision for record in utterances if record.quality]
    Console().print(_table(folder.name, before, judged))
    print(f"Each caption's judgement is in {_write(folder, judged)}")
    filed = refile(folder, judged)
    counts = ", ".join(f"{count} in {name}" for name, count in sorted(filed.items()))
    print(f"Its pairs are filed by it: {counts}")
    return 0


def _estimator(name: str, model: str | None) -> QualityEstimator:
    if name == CometKiwi.name:
        return CometKiwi(model or MODEL)
    if model is not None:
        raise UsageError("model-unused", f"--model is for --estimator {CometKiwi.name} only.")
    return LogProbability()


def _meaning(asked: str | None, settings: Settings) -> MeaningAgreement | None:
    """Return what measures agreement by its meaning; None without a model. Raises ModelError."""
    named = settings.learn.embedding if asked is None else asked
    if not named:
        return None
    return MeaningAgreement(resolve("embedding", named, ModelLibrary.of(settings)))


def _write(folder: Path, judged: Sequence[QualityRecord]) -> Path:
    """Write quality.jsonl, replacing an older one. Raises SessionError (session-unwritable)."""
    path = folder / "quality.jsonl"
    file = WholeFile(path)
    file.content = b"".join(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in judged)
    try:
        file.flush()
    except OSError as error:
        raise unwritable(path, error.strerror or str(error)) from None
    return path


def _table(session: str, before: Sequence[str], judged: Sequence[QualityRecord]) -> Table:
    live, again = Counter(before), Counter(each.quality.decision for each in judged)
    table = Table(title=f"Session {session}: {len(judged)} captions", min_width=45)
    for name in ("decision", "live", "now"):
        table.add_column(name, justify="left" if name == "decision" else "right")
    for decision in get_args(Decision):
        table.add_row(decision, str(live[decision]), str(again[decision]))
    return table

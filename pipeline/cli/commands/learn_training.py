"""The steps of `learn` that train: `hear`, `translate` and `distill`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from pipeline.cli.commands.learn_models import add_step, opened, progress
from pipeline.cli.options import Commands, settings_of
from pipeline.config.loader import Loaded, load
from pipeline.core.errors import ConfigError, LearningError, UsageError
from pipeline.dictionary.store import Dictionary
from pipeline.engines.factory import final_translator, recognizer, recognizer_spec
from pipeline.engines.marian import Marian
from pipeline.engines.protocols import Translator
from pipeline.learning.compare import weights_of
from pipeline.learning.distill import (
    BEAM,
    MEASURE,
    MIX,
    Row,
    TeachingOrder,
    gap_closed,
    measure,
    teach,
    write_rows,
    write_student_mix,
)
from pipeline.learning.folder import AUDIO
from pipeline.learning.manifest import sha256
from pipeline.learning.measuring import SentenceSet, sentence_sets
from pipeline.learning.training import TrainingOrder, commands, require_trainers, train
from pipeline.models.registry import KEYS
from pipeline.models.resolve import resolve

_ROUND = "1 learns from the whole mix, 2 from its sermons, from where 1 ended (%(default)s)"
_STEPS = "ends after so many, if before --minutes"


def add_training_steps(steps: Commands) -> None:
    """Describe the steps."""
    says = "Train a translator on a mix; needs a checkout and `make train`. Cut off, it goes on."
    step = add_step(steps, "translate", _translate, says)
    step.add_argument("--role", choices=["gemma", "marian"], default="marian", help="%(default)s")
    step.add_argument("--base", default="", help="what it begins from (the model in use)")
    step.add_argument("--mix", type=Path, metavar="DIR", help="default: mix in the data folder")
    step.add_argument("--out", type=Path, metavar="DIR", help="default: ROLE in the data folder")
    step.add_argument("--steps", type=int, default=0, help=_STEPS)
    step.add_argument("--levels", default="", help="of a Gemma, such as Q8_0,Q4_K_M (all)")
    step.add_argument(
        "--sentences", type=int, default=0, help="of each set that a Gemma's levels translate (all)"
    )
    _add_options(step)
    says = "Teach the recognizer what was said, from the sound that is kept; also in a checkout."
    step = add_step(steps, "hear", _hear, says)
    step.add_argument("--base", default="", help="folder of the Whisper it begins from (in use)")
    step.add_argument("--sound", type=Path, metavar="DIR", help="default: audio in the data folder")
    step.add_argument("--out", type=Path, metavar="DIR", help="default: stt in the data folder")
    step.add_argument("--steps", type=int, default=0, help=_STEPS)
    step.add_argument("--batch", type=int, default=8, help="utterances in a step (%(default)s)")
    step.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="%(default)s")
    _add_options(step)
    says = "Have a better translator teach the quick one, on half of a mix."
    step = add_step(steps, "distill", _distill, says)
    step.add_argument("--teacher", default="", help="a name or a path (the final model in use)")
    step.add_argument(
        "--teacher-role", choices=["gemma", "marian"], default="gemma", help="%(default)s"
    )
    step.add_argument(
        "--base", default="", help="the student it begins from (the quick one in use)"
    )
    step.add_argument("--fine-tuned", type=Path, metavar="DIR", help="of the references alone")
    step.add_argument("--mix", type=Path, metavar="DIR", help="default: mix in the data folder")
    step.add_argument("--out", type=Path, metavar="DIR", help="default: distill in the data folder")
    step.add_argument("--round", type=int, choices=[1, 2], default=1, help=_ROUND)
    step.add_argument("--sentences", type=int, metavar="N", help="measured of each set (all)")
    _add_options(step)


def _add_options(step: argparse.ArgumentParser) -> None:
    step.add_argument("--minutes", type=float, default=60, help="in all (%(default)g)")
    step.add_argument("--threads", type=int, default=1, help="%(default)s")
    step.add_argument("--dry-run", action="store_true", help="print what would be run; run nothing")


def _translate(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    role: Literal["gemma", "marian"] = arguments.role
    if role == "gemma" and not arguments.base:
        message = "A Gemma is trained from a folder of cut_vocabulary, not from a GGUF file."
        raise UsageError("base-unnamed", message, "Name it with --base; docs/MODELS.md tells how.")
    base = (
        Path(arguments.base)
        if role == "gemma"
        else resolve(
            role, arguments.base or settings.translate.partial.model, settings.models.directory
        )
    )
    order = TrainingOrder(
        role=role,
        base=base,
        material=arguments.mix or data.path / "mix",
        out=arguments.out or data.path / role,
        minutes=arguments.minutes,
        threads=arguments.threads,
        more=("--steps", str(arguments.steps)) if arguments.steps else (),
        levels=arguments.levels,
        sentences=arguments.sentences,
    )
    return _train(order, dry_run=arguments.dry_run)


def _hear(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    engine = recognizer(settings, Dictionary(settings))
    spec = recognizer_spec(settings)
    if spec.kind != "whisper":
        raise ConfigError(
            "not-trainable",
            f'stt.engine = "{spec.kind}": only Whisper can learn to hear here.',
            'Set stt.engine to "whisper" for this.',
        )
    window_s = float(spec.arguments["window_s"])
    order = TrainingOrder(
        role="stt",
        base=Path(arguments.base) if arguments.base else spec.model,
        material=arguments.sound or data.path / AUDIO,
        out=arguments.out or data.path / "stt",
        minutes=arguments.minutes,
        threads=arguments.threads,
        more=(
            *("--lang", settings.translate.source, "--window-s", f"{window_s:g}"),
            # It learns with the words before it that a service gives it to listen for.
            *(("--context", engine.hotwords) if engine.hotwords else ()),
            *("--batch", str(arguments.batch), "--device", arguments.device),
            *(("--steps", str(arguments.steps)) if arguments.steps else ()),
            *("--evaluate-minutes", f"{max(0.5, arguments.minutes / 10):g}"),
        ),
    )
    return _train(order, dry_run=arguments.dry_run)


def _train(order: TrainingOrder, *, dry_run: bool) -> int:
    if dry_run:
        for command in commands(order):
            print(shlex.join(command))
        return 0
    made = train(order, on_line=lambda line: print(line, file=sys.stderr, flush=True))
    print(f"The model is in {made}; now: stark-translate learn compare ... --role {order.role}")
    return 0


def _distill(arguments: argparse.Namespace) -> int:
    loaded = settings_of(arguments)
    settings, data = opened(arguments)
    translate, place = settings.translate, settings.models.directory
    role: Literal["gemma", "marian"] = arguments.teacher_role
    named = arguments.teacher or (
        translate.final.model if role == "gemma" else translate.partial.model
    )
    out: Path = arguments.out or data.path / "distill"
    second = arguments.round == 2
    student = str(out / "model") if second else translate.partial.model
    teaching = TeachingOrder(
        mix=arguments.mix or data.path / "mix",
        out=out / "sermons" if second else out,
        teacher=named,
        teacher_sha256=sha256(weights_of(resolve(role, named, place))),
        langs=(translate.source, translate.target),
        parts=("sermon",) if second else (),
    )
    base = resolve("marian", arguments.base or student, place)
    training = TrainingOrder(
        role="marian",
        base=base,
        material=teaching.out / MIX,
        out=teaching.out,
        minutes=arguments.minutes,
        threads=arguments.threads,
    )
    if arguments.dry_run:
        print(f"{named} would teach {teaching.mix}; then:")
        return _train(training, dry_run=True)
    # Before the teaching, which takes long and would be of no use without them.
    require_trainers()
    teacher = _teacher(loaded, role, named)
    teacher.load()
    with progress() as bars:
        task = bars.add_task("teaching", total=None)
        lessons = teach(
            teaching,
            teacher,
            on_start=lambda done, total: bars.update(task, completed=done, total=total),
            on_lesson=lambda: bars.update(task, advance=1),
        )
    counts = write_student_mix(teaching, lessons)
    print(f"{counts['teacher']} pairs are the teacher's, {counts['reference']} as they were")
    made = train(training, on_line=lambda line: print(line, file=sys.stderr, flush=True))
    fine_tuned = arguments.fine_tuned or data.path / "marian" / "model"
    models = {"base": base, "fine-tuned": fine_tuned, "distilled": made}
    here = {name: model for name, model in models.items() if model.is_dir()}
    sets = _few(sentence_sets(data, teaching.langs), arguments.sentences)
    rows = _rows(here, teacher, sets)
    write_rows(teaching, rows, [weights_of(model) for model in here.values()])
    _show_rows(rows)
    print(f"The model is in {made}; now: stark-translate learn compare ... --role marian")
    return 0


def _teacher(loaded: Loaded, role: Literal["gemma", "marian"], model: str) -> Translator:
    """Return a translator that may take its time. Raises ModelError, ConfigError."""
    flags: dict[str, Any] = {**loaded.flags, KEYS[role]: model}
    if role == "marian":
        settings = load(loaded.file, flags).settings
        return Marian(resolve(role, model, settings.models.directory), beam=BEAM)
    flags |= {"translate.final.engine": "gemma", "translate.final.deadline_s": 60}
    made = final_translator(load(loaded.file, flags).settings)
    if made is None:
        raise LearningError("teacher-none", f"{model} is no final translator.")
    return made


def _few(sets: Sequence[SentenceSet], count: int | None) -> list[SentenceSet]:
    return [SentenceSet(each.name, each.sentences[:count]) for each in sets]


def _rows(
    models: Mapping[str, Path], teacher: Translator, sets: Sequence[SentenceSet]
) -> dict[str, Row]:
    """Measure each model; the teacher is last."""
    rows = {}
    engines: dict[str, Translator] = {name: Marian(path) for name, path in models.items()}
    sentences = sum(len(each.sentences) for each in sets)
    with progress() as bars:
        task = bars.add_task("measuring", total=sentences * (len(engines) + 1))
        for name, engine in engines.items():
            engine.load()
            rows[name] = measure(name, engine, sets, lambda: bars.update(task, advance=1))
        rows["teacher"] = measure("teacher", teacher, sets, lambda: bars.update(task, advance=1))
    return rows


def _show_rows(rows: Mapping[str, Row]) -> None:
    console = Console(highlight=False)
    table = Table(title=MEASURE)
    sets = list(rows["base"].scores)
    for name in ("", *sets):
        table.add_column(name, justify="right" if name else "left")
    for row in rows.values():
        table.add_row(row.name, *(f"{row.scores[name][MEASURE]:.1f}" for name in sets))
    shares = gap_closed(rows).values()
    told = ("" if share is None else f"{100 * share:.0f} %" for share in shares)
    table.add_row("of the gap", *told)
    console.print(table)

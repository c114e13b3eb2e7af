"""The step of `learn` in which a better translator teaches the quick one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.table import Table

from pipeline.cli.commands.learn_models import add_step, count_of, opened, progress
from pipeline.cli.commands.learn_training import STEPS, add_options, marian_base, run_training
from pipeline.cli.options import Commands, settings_of
from pipeline.core import logs
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.prompts import Style
from pipeline.engines.protocols import Translator
from pipeline.learning.compare import weights_of
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.measuring import SentenceSet, few_sentences, sentence_sets
from pipeline.learning.teach.distill import (
    MEASURE,
    MIX,
    Row,
    gap_closed,
    measure,
    write_rows,
    write_student_mix,
)
from pipeline.learning.teach.teacher import TEACHER_ENGINES, Asked, Teacher, choose_teacher
from pipeline.learning.teach.teaching import Lesson, TeachingOrder, teach
from pipeline.learning.training import TrainingOrder, require_trainers, train

_ROUND = "1: learn from the whole mix; 2: go on with its sermons (%(default)s)"
_TEACHER = "name or path of the teacher, or its name on a server (the final model in use)"
_URL = "address of the teacher's server, such as http://192.168.1.5:8080/v1"
_PROMPT = "prompt style of the teacher (translate.final.prompt)"


def add_distill_step(steps: Commands) -> None:
    """Describe the step."""
    says = "Train the draft translator on the translations of a better one, on half of a mix."
    step = add_step(steps, "distill", _distill, says)
    add = step.add_argument
    add("--teacher", default="", metavar="MODEL", help=_TEACHER)
    add(
        "--teacher-engine",
        choices=TEACHER_ENGINES,
        default="",
        help="engine of the teacher (the final translator in use)",
    )
    add("--teacher-url", default="", metavar="URL", help=_URL)
    add("--teacher-key-file", default="", metavar="FILE", help="file with the key of that server")
    add("--teacher-ca-file", default="", metavar="FILE", help="file with the CA of its certificate")
    add("--teacher-prompt", choices=["auto", *get_args(Style)], default="", help=_PROMPT)
    add("--base", default="", help="student to start from (the draft translator in use)")
    add(
        "--fine-tuned",
        type=Path,
        metavar="DIR",
        help="model trained on references only, to compare with",
    )
    add("--mix", type=Path, metavar="DIR", help="training mix (mix in the data folder)")
    add("--out", type=Path, metavar="DIR", help="folder to write (distill in the data folder)")
    add("--round", type=int, choices=[1, 2], default=1, help=_ROUND)
    add("--steps", type=int, default=0, help=STEPS)
    few = "measured of each set (all)"
    add("--sentences", type=count_of, default=0, metavar="N", help=few)
    add_options(step)


def _distill(arguments: argparse.Namespace) -> int:
    data = opened(arguments)[1]
    teacher = choose_teacher(settings_of(arguments), _asked(arguments))
    teaching, training = _orders(arguments, teacher, data)
    if arguments.dry_run:
        print(f"{teacher.model} would teach {teaching.mix}; then:")
        return run_training(training, dry_run=True)
    # Before the teaching, which takes long and would be of no use without them.
    require_trainers()
    log = teacher.settings.log
    logs.configure_quietly(log.level, log.format)
    teachers = teacher.load()
    counts = write_student_mix(teaching, _taught(teaching, teachers))
    print(f"{counts['teacher']} pairs are the teacher's, {counts['reference']} as they were")
    made = train(training, on_line=lambda line: print(line, file=sys.stderr, flush=True))
    fine_tuned = arguments.fine_tuned or data.path / "marian" / "model"
    models = {"base": training.base, "fine-tuned": fine_tuned, "distilled": made}
    # There need not be a fine-tuned one: then it has no row.
    here = {name: model for name, model in models.items() if model.is_dir()}
    sets = few_sentences(sentence_sets(data, teaching.langs), arguments.sentences)
    rows = _rows(here, teachers[0], sets, training.target)
    write_rows(teaching, rows, [weights_of(model) for model in here.values()])
    _show_rows(rows)
    print(f"The model is in {made}; now: stark-translate learn compare ... --role marian")
    return 0


def _asked(arguments: argparse.Namespace) -> Asked:
    return Asked(
        engine=arguments.teacher_engine,
        model=arguments.teacher,
        url=arguments.teacher_url,
        key_file=arguments.teacher_key_file,
        ca_file=arguments.teacher_ca_file,
        prompt=arguments.teacher_prompt,
    )


def _orders(
    arguments: argparse.Namespace, teacher: Teacher, data: DataFolder
) -> tuple[TeachingOrder, TrainingOrder]:
    """Return what is taught, and what the student is then trained on. Raises ModelError."""
    translate = teacher.settings.translate
    out: Path = arguments.out or data.path / "distill"
    second = arguments.round == 2
    student = str(out / "model") if second else ""
    teaching = TeachingOrder(
        mix=arguments.mix or data.path / "mix",
        out=out / "sermons" if second else out,
        teacher=teacher.model,
        teacher_id=teacher.id,
        langs=(translate.source, translate.target),
        parts=("sermon",) if second else (),
    )
    training = TrainingOrder(
        role="marian",
        base=marian_base(teacher.settings, arguments.base or student),
        material=teaching.out / MIX,
        out=teaching.out,
        minutes=arguments.minutes,
        threads=arguments.threads,
        more=("--steps", str(arguments.steps)) if arguments.steps else (),
        target=translate.target,
    )
    return teaching, training


def _taught(order: TeachingOrder, teachers: Sequence[Translator]) -> list[Lesson]:
    with progress() as bars:
        task = bars.add_task("teaching", total=None)
        return teach(
            order,
            teachers,
            on_start=lambda done, total: bars.update(task, completed=done, total=total),
            on_lesson=lambda: bars.update(task, advance=1),
        )


def _rows(
    models: Mapping[str, Path], teacher: Translator, sets: Sequence[SentenceSet], target: str
) -> dict[str, Row]:
    """Measure each model; the teacher is last."""
    rows = {}
    engines: dict[str, Translator] = {
        name: Marian(path, target=target) for name, path in models.items()
    }
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

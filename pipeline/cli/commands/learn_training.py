"""The steps of `learn` that train: `translate`, `hear`, and `distill`, where a model teaches."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.cli.commands.learn_models import add_step, count_of, opened, progress
from pipeline.cli.options import Commands, Run, assignment, number, path, settings_of
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.errors import ConfigError, UsageError
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.factory import recognizer, recognizer_spec
from pipeline.engines.protocols import Translator
from pipeline.learning.data.folder import AUDIO, DataFolder
from pipeline.learning.teach.teaching import (
    MIX,
    Lesson,
    Teacher,
    TeachingOrder,
    choose_teacher,
    teach,
    write_student_mix,
)
from pipeline.learning.training import (
    TrainingOrder,
    commands,
    require_trainers,
    train,
)
from pipeline.models.automatic import require_languages, translator_name
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import KEYS, Role
from pipeline.models.resolve import resolve


def add_training_steps(steps: Commands) -> None:
    """Describe the steps."""
    says = "Train a translator on a mix (in a checkout, after `make train`); it can be resumed."
    option = _add_translator(steps, "translate", _translate, says).add_argument
    option("--role", choices=["gemma", "marian"], default="marian", help="%(default)s")
    option("--out", type=path, metavar="DIR", help="folder to write (ROLE in the data folder)")
    says = "Train the recognizer on kept sound (in a checkout, after `make train`)."
    option = _add_training(steps, "hear", _hear, says).add_argument
    option("--base", default="", help="Whisper to start from (the one in use)")
    option("--sound", type=path, metavar="DIR", help="training sound (audio in the data folder)")
    option("--out", type=path, metavar="DIR", help="folder to write (stt in the data folder)")
    says = "utterances per step (%(default)s)"
    option("--batch", type=count_of, default=8, metavar="N", help=says)
    option("--device", choices=["cpu", "cuda"], default="cpu", help="%(default)s")
    says = "Train a translator on the translations of a better one, on half of a mix."
    option = _add_translator(steps, "distill", _distill, says).add_argument
    says = "who learns: the draft or the final translator (%(default)s)"
    option("--student", dest="role", choices=["marian", "gemma"], default="marian", help=says)
    says = "name or path of the teacher, or its name on a server (the final model in use)"
    option("--teacher", default="", metavar="MODEL", help=says)
    says = "a setting for the teacher alone: --set translate.final.server=gpu; may be repeated"
    option("--set", dest="of_teacher", type=assignment, action="append", default=[],
           metavar="KEY=VALUE", help=says)  # fmt: skip
    says = "folder to write (distill, or distill-gemma, in the data folder)"
    option("--out", type=path, metavar="DIR", help=says)
    says = "1: learn from the whole mix; 2: go on with its sermons (%(default)s)"
    option("--round", type=int, choices=[1, 2], default=1, help=says)


def _add_training(steps: Commands, name: str, run: Run, says: str) -> argparse.ArgumentParser:
    """Add a step with the options that all training steps have."""
    step = add_step(steps, name, run, says)
    says = "training time in minutes (%(default)g)"
    step.add_argument("--minutes", type=number(float, 0.001, 10_000), default=60, help=says)
    says = "ends after so many, if before --minutes"
    step.add_argument("--steps", type=count_of, default=0, metavar="N", help=says)
    step.add_argument("--threads", type=count_of, default=1, metavar="N", help="%(default)s")
    step.add_argument("--dry-run", action="store_true", help="print the command only")
    return step


def _add_translator(steps: Commands, name: str, run: Run, says: str) -> argparse.ArgumentParser:
    step = _add_training(steps, name, run, says)
    option = step.add_argument
    option("--base", default="", help="model to start from (the one in use)")
    option("--mix", type=path, metavar="DIR", help="training mix (mix in the data folder)")
    option("--levels", default="", help="levels of a Gemma, such as Q8_0,Q4_K_M (all)")
    says = "of each set that a Gemma's levels translate (all)"
    option("--sentences", type=count_of, default=0, metavar="N", help=says)
    return step


def _translate(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    order = _translator_order(
        arguments,
        settings,
        base=_base(arguments.role, settings, arguments.base),
        material=arguments.mix or data.path / "mix",
        out=arguments.out or data.path / arguments.role,
    )
    return _run_training(order, dry_run=arguments.dry_run)


def _translator_order(
    arguments: argparse.Namespace, settings: Settings, *, base: Path, material: Path, out: Path
) -> TrainingOrder:
    return TrainingOrder(
        role=arguments.role,
        base=base,
        material=material,
        out=out,
        minutes=arguments.minutes,
        threads=arguments.threads,
        more=_steps(arguments),
        levels=arguments.levels,
        sentences=arguments.sentences,
        target=settings.translate.target,
    )


def _base(role: Role, settings: Settings, named: str) -> Path:
    """Return the translator that a training begins from, the one in use if none is named.

    Raises ModelError; ConfigError if a Marian translates other languages: its vocabulary lacks
    these. Whether a Gemma's vocabulary can be trained, its trainer checks.
    """
    if role == "gemma" and named and Path(named).exists():
        return Path(named)  # a Hugging Face folder, which no service can use
    name, key = translator_name(settings, role, named), "--base" if named else KEYS[role]
    if role == "marian":
        require_languages(role, name, settings, key=key)
    return resolve(role, name, ModelLibrary.of(settings), key=key)


def _hear(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    # Only for its hot words; it is not loaded.
    engine = recognizer(settings, Dictionary(settings))
    spec = recognizer_spec(settings)
    if spec.kind != "whisper":
        raise ConfigError(
            "not-trainable",
            f'stt.engine = "{spec.kind}": only Whisper can learn to hear here.',
            'Set stt.engine to "whisper" for this.',
        )
    # The length of audio that is encoded in a service: the training uses the same.
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
            # It learns with the same hot words before the text as in a service.
            *(("--context", engine.hotwords) if engine.hotwords else ()),
            *("--batch", str(arguments.batch), "--device", arguments.device),
            *_steps(arguments),
            *("--evaluate-minutes", f"{max(0.5, arguments.minutes / 10):g}"),
        ),
    )
    return _run_training(order, dry_run=arguments.dry_run)


def _steps(arguments: argparse.Namespace) -> tuple[str, ...]:
    return ("--steps", str(arguments.steps)) if arguments.steps else ()


def _run_training(order: TrainingOrder, *, dry_run: bool) -> int:
    """Train, or print what would be run; return the exit code. Raises LearningError."""
    if dry_run:
        for command in commands(order):
            # Quoted for a shell: it can be copied to the machine that trains.
            print(shlex.join(command))
        return 0
    # Line by line: nothing else shows the progress of an hour of training.
    made = train(order, on_line=lambda line: print(line, file=sys.stderr, flush=True))
    print(f"The model is in {made}; now: stark-translate learn compare ... --role {order.role}")
    return 0


def _distill(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    teacher = choose_teacher(settings_of(arguments, dict(arguments.of_teacher)), arguments.teacher)
    teaching, training = _orders(arguments, settings, teacher, data)
    if arguments.dry_run:
        print(f"{teacher.model} would teach {teaching.mix}; then:")
        return _run_training(training, dry_run=True)
    # Checked before the teaching, which takes long and is useless without them.
    require_trainers()
    log = teacher.settings.log
    logs.configure_quietly(log.level, log.format)
    teachers = teacher.load()
    counts = write_student_mix(teaching, _taught(teaching, teachers))
    print(f"{counts['teacher']} pairs are the teacher's, {counts['reference']} as they were")
    return _run_training(training, dry_run=False)


def _orders(
    arguments: argparse.Namespace, settings: Settings, teacher: Teacher, data: DataFolder
) -> tuple[TeachingOrder, TrainingOrder]:
    """Return the order for the teacher, then the student's training order. Raises ModelError."""
    translate = teacher.settings.translate
    role: Role = arguments.role
    out: Path = arguments.out or data.path / ("distill" if role == "marian" else "distill-gemma")
    second = arguments.round == 2
    # A second round continues with the model of the first one.
    base = _base(role, settings, arguments.base or (str(out / "model") if second else ""))
    # Files are compared, not names: two names may lead to one model.
    if teacher.engine == role:
        taught_by = resolve(role, teacher.model, ModelLibrary.of(teacher.settings))
        if taught_by.resolve() == base.resolve():
            raise UsageError(
                "teacher-unnamed",
                f"{teacher.model} would teach itself.",
                "Name a better one with --teacher, or --set translate.final.server=NAME.",
            )
    teaching = TeachingOrder(
        mix=arguments.mix or data.path / "mix",
        out=out / "sermons" if second else out,
        teacher=teacher.model,
        teacher_id=teacher.id,
        langs=(translate.source, translate.target),
        parts=("sermon",) if second else (),
    )
    training = _translator_order(
        arguments, teacher.settings, base=base, material=teaching.out / MIX, out=teaching.out
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

"""The steps of `learn` that train: `hear` and `translate`; `distill` is beside them."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Literal

from pipeline.cli.commands.learn_models import add_step, opened
from pipeline.cli.options import Commands
from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.factory import recognizer, recognizer_spec
from pipeline.learning.data.folder import AUDIO
from pipeline.learning.training import TrainingOrder, commands, train
from pipeline.models.automatic import require_languages
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import KEYS
from pipeline.models.resolve import resolve

STEPS = "ends after so many, if before --minutes"


def add_training_steps(steps: Commands) -> None:
    """Describe the steps."""
    says = "Train a translator on a mix (in a checkout, after `make train`); it can be resumed."
    step = add_step(steps, "translate", _translate, says)
    step.add_argument("--role", choices=["gemma", "marian"], default="marian", help="%(default)s")
    step.add_argument("--base", default="", help="model to start from (the one in use)")
    step.add_argument(
        "--mix", type=Path, metavar="DIR", help="training mix (mix in the data folder)"
    )
    step.add_argument(
        "--out", type=Path, metavar="DIR", help="folder to write (ROLE in the data folder)"
    )
    step.add_argument("--steps", type=int, default=0, help=STEPS)
    step.add_argument("--levels", default="", help="levels of a Gemma, such as Q8_0,Q4_K_M (all)")
    step.add_argument(
        "--sentences", type=int, default=0, help="of each set that a Gemma's levels translate (all)"
    )
    add_options(step)
    says = "Train the recognizer on kept sound (in a checkout, after `make train`)."
    step = add_step(steps, "hear", _hear, says)
    step.add_argument("--base", default="", help="Whisper to start from (the one in use)")
    step.add_argument(
        "--sound", type=Path, metavar="DIR", help="training sound (audio in the data folder)"
    )
    step.add_argument(
        "--out", type=Path, metavar="DIR", help="folder to write (stt in the data folder)"
    )
    step.add_argument("--steps", type=int, default=0, help=STEPS)
    step.add_argument("--batch", type=int, default=8, help="utterances per step (%(default)s)")
    step.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="%(default)s")
    add_options(step)


def add_options(step: argparse.ArgumentParser) -> None:
    """Add what every step has that trains."""
    step.add_argument(
        "--minutes", type=float, default=60, help="training time in minutes (%(default)g)"
    )
    step.add_argument("--threads", type=int, default=1, help="%(default)s")
    step.add_argument("--dry-run", action="store_true", help="print the command only")


def _translate(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    role: Literal["gemma", "marian"] = arguments.role
    base_of = marian_base if role == "marian" else _gemma_base
    base = base_of(settings, arguments.base)
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
        target=settings.translate.target,
    )
    return run_training(order, dry_run=arguments.dry_run)


def marian_base(settings: Settings, named: str) -> Path:
    """Return the Marian that a training begins from, the one in use if none is named.

    Raises ModelError; ConfigError where it translates other languages: its vocabulary lacks theirs.
    """
    name = named or settings.translate.partial.model
    key = "--base" if named else KEYS["marian"]
    require_languages("marian", name, settings, key=key)
    return resolve("marian", name, ModelLibrary.of(settings), key=key)


def _gemma_base(settings: Settings, named: str) -> Path:
    """Return the file or folder that a training begins from, the file in use if none is named.

    Whether its vocabulary can be trained the trainer says. Raises ModelError.
    """
    if named:
        return Path(named)
    return resolve("gemma", settings.translate.final.model, ModelLibrary.of(settings))


def _hear(arguments: argparse.Namespace) -> int:
    settings, data = opened(arguments)
    # For its hot words only: it is not loaded.
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
    return run_training(order, dry_run=arguments.dry_run)


def run_training(order: TrainingOrder, *, dry_run: bool) -> int:
    """Train, or print what would be run; return the exit code. Raises LearningError."""
    if dry_run:
        for command in commands(order):
            print(shlex.join(command))
        return 0
    made = train(order, on_line=lambda line: print(line, file=sys.stderr, flush=True))
    print(f"The model is in {made}; now: stark-translate learn compare ... --role {order.role}")
    return 0

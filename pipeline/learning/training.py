"""Starting the trainers, which need torch and a checkout, from the program, which needs neither.

They run in processes of their own, at the lowest priority: nothing of torch is ever in the
daemon's memory, and a service that starts meanwhile has the processor. A trainer that was cut off
goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import LearningError
from pipeline.learning.data.folder import METADATA
from pipeline.models.registry import Role

_CHECKOUT = Path(__file__).resolve().parents[2]
_TRAINERS = "training"
# What the trainers import: a missing one is told before anything has begun.
_PACKAGES = ("torch", "gguf", "safetensors", "peft", "transformers")
_NEEDED: Mapping[str, tuple[str, str, str]] = {
    "translator": ("mix-missing", "train.jsonl", "Run `stark-translate learn mix` first."),
    "stt": (
        "sound-missing",
        METADATA,
        "Keep sound (session.keep_audio), review, and run `stark-translate learn collect`.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOrder:
    """What is to be trained, on what, for how long."""

    role: Role
    base: Path
    """What it begins from: a folder of CTranslate2, or for gemma that of cut_vocabulary or of
    Hugging Face, or the GGUF file of a starter."""
    material: Path
    """What it learns from: a mix, or for stt the folder of sound."""
    out: Path
    """Checkpoints, and at the end `model`."""
    minutes: float
    """In all, earlier runs included."""
    # One by default: a service that begins meanwhile needs the others.
    threads: int = 1
    more: tuple[str, ...] = ()
    """Further options of the trainer."""
    levels: str = ""
    """Of a Gemma, as they are typed; all without any."""
    sentences: int = 0
    """Of each set that a Gemma's levels are measured with; 0 is all."""
    target: str = "es"
    """The code of the language that a translator learns."""


def minutes_of(text: str) -> float:
    """Return the minutes that an option asks for. Raises ArgumentTypeError."""
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    # A clock never reaches "nan" or "inf": the training would not end, or learn nothing.
    if not (math.isfinite(minutes) and minutes > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of minutes, such as 60")
    return minutes


_GENTLY = ("--muon-rate", "2e-4", "--adam-rate", "2e-4")
"""Peak rates for a Marian that goes on: docs/decisions/082."""


def commands(order: TrainingOrder) -> list[list[str]]:
    """Return the programs that train and convert, in their order, as they are typed."""
    # The trainers run in the checkout, where a relative path would be another one.
    base, mix, out = (path.absolute() for path in (order.base, order.material, order.out))
    told = ["--sound" if order.role == "stt" else "--mix", str(mix), "--out", str(out)]
    told += ["--minutes", f"{order.minutes:g}", "--threads", str(order.threads), "--no-compile"]
    told += order.more
    target = ("--target", order.target)
    # The trainers refuse to write over one: it may be days of work.
    if (out / "checkpoint.pt").exists():
        told.append("--resume")
    levels = ("--levels", order.levels) if order.levels else ()
    if order.role == "stt":
        return [
            _module("train.fine_tune_whisper", "--base", str(base), *told),
            _module(
                "export.export_whisper",
                *("--base", str(base), "--sound", str(mix), "--run", str(out)),
                *("--out", str(out / "model"), "--threads", str(order.threads)),
            ),
        ]
    # As Hugging Face has it; a folder of cut_vocabulary has a shape.json in its place.
    if order.role == "gemma" and (base / "config.json").is_file():
        return [
            _module("train.fine_tune_translategemma", "--base", str(base), *told, *target),
            [
                *(sys.executable, "-m", "training.gguf_export.convert_translategemma"),
                *("--base", str(base), "--adapter", str(out / "adapter")),
                *("--out", str(out / "model"), "--threads", str(order.threads)),
                *target,
                *levels,
            ],
        ]
    if order.role == "gemma":
        return [
            _module("train.fine_tune_gemma", "--base", str(base), *told, *target),
            _module(
                "export.export_gemma",
                *("--model", str(out / "merged"), "--mix", str(mix), "--out", str(out / "model")),
                *(("--again", str(base)) if base.is_file() else ()),
                *target,
                *levels,
                *(("--sentences", str(order.sentences)) if order.sentences else ()),
            ),
        ]
    return [
        # A model that is good already forgets at the rates of one that knows nothing.
        _module("train.train_marian", "--init", str(base), *told, *target, *_GENTLY),
        _module(
            "export.export_marian",
            *("--model", str(out), "--base", str(base), "--out", str(out / "model")),
        ),
    ]


def train(
    order: TrainingOrder, *, on_line: Callable[[str], None], checkout: Path = _CHECKOUT
) -> Path:
    """Train and convert; return where the model is, a folder of CTranslate2 or of GGUF files.

    `on_line` is told what the trainers print. Raises LearningError (train-unavailable,
    training-failed); what was trained until then is kept, and the next run goes on from it.
    """
    require_trainers(checkout)
    code, name, fix = _NEEDED["stt" if order.role == "stt" else "translator"]
    # Here and not in the trainer, which loads torch before it could find out.
    if not (order.material / name).is_file():
        raise LearningError(code, f"There is no {name} in {order.material}.", fix)
    # In processes one after the other: the converter needs the memory that the trainer had.
    for command in commands(order):
        _run(command, checkout, on_line)
    return order.out / "model"


def require_trainers(checkout: Path = _CHECKOUT) -> None:
    """Check that the trainers and what they need are here. Raises LearningError."""
    # Looked for, not imported: nothing of torch comes into this process.
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing or not (checkout / "training").is_dir():
        why = f"{', '.join(missing)} is not installed" if missing else "this is no checkout"
        raise LearningError(
            "train-unavailable",
            f"Training is not possible here: {why}.",
            "Train in a checkout after `make train`, on any machine; collect, mix, compare and "
            "deploy work without.",
        )


def _module(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"{_TRAINERS}.{name}", *arguments]


def _run(command: Sequence[str], checkout: Path, on_line: Callable[[str], None]) -> None:
    """Run a program in the checkout, lines as they come. Raises LearningError."""
    last = ""
    with subprocess.Popen(  # noqa: S603 - our own trainers
        ["nice", "-n", "19", *command],  # noqa: S607 - of every Linux
        cwd=checkout,
        stdout=subprocess.PIPE,
        # In one stream with the rest: the last line of either says why it ended.
        stderr=subprocess.STDOUT,
        text=True,
        # Python holds back what it prints into a pipe; progress is to be seen as it comes.
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        for line in process.stdout or ():
            last = line.strip() or last
            on_line(line.rstrip())
    # After the block: only at its end the process has been waited for.
    if process.returncode:
        raise LearningError(
            "training-failed",
            f"{command[2]} ended with {process.returncode}: {last}",
            "Start it again: it goes on from its last checkpoint.",
        )

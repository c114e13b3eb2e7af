"""Start the trainers, which need torch and a checkout, from the program, which needs neither.

They run in separate processes at the lowest priority: torch is never in the daemon's memory, and a
service that starts meanwhile gets the CPU. An interrupted trainer resumes from its checkpoint.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from pipeline.core.errors import LearningError, writing
from pipeline.core.files import write_whole
from pipeline.learning.compare import weights_of
from pipeline.learning.data.folder import METADATA
from pipeline.learning.manifest import sha256
from pipeline.models.registry import Role

_CHECKPOINT = "checkpoint.pt"
_NOTE = "training.json"
"""What the checkpoint in `out` was trained from, and whether its model was made."""
_CHECKOUT = Path(__file__).resolve().parents[2]
# The trainers import these: a missing one is reported before anything begins.
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
    """What to train, on what, and for how long."""

    role: Role
    base: Path
    """The model to start from: a CTranslate2 folder, or for gemma a folder of cut_vocabulary or
    of Hugging Face, or the GGUF file of a starter."""
    material: Path
    """The training data: a mix, or for stt the folder of sound."""
    out: Path
    """Folder of checkpoints, and at the end of `model`."""
    minutes: float
    """Total time, with earlier runs."""
    # One by default, since a service that begins meanwhile needs the others.
    threads: int = 1
    more: tuple[str, ...] = ()
    """Further options of the trainer."""
    levels: str = ""
    """A Gemma's levels, as typed; empty: all."""
    sentences: int = 0
    """Number of sentences per set to measure a Gemma's levels with; 0 is all."""
    target: str = "es"
    """The code of the language that a translator learns."""


_GENTLY = ("--muon-rate", "2e-4", "--adam-rate", "2e-4")
"""Peak learning rates for a Marian that is trained further: docs/decisions/082."""


def commands(order: TrainingOrder, inputs: Mapping[str, str] | None = None) -> list[list[str]]:
    """Return the command lines that train and convert, in order.

    `inputs` are the hashes of base and material where they are known; a base has gigabytes.
    """
    # Absolute, since the trainers run in the checkout.
    base, mix, out = (path.absolute() for path in (order.base, order.material, order.out))
    options = ["--sound" if order.role == "stt" else "--mix", str(mix), "--out", str(out)]
    options += ["--minutes", f"{order.minutes:g}", "--threads", str(order.threads), "--no-compile"]
    options += order.more
    target = ("--target", order.target)
    # The trainers refuse to overwrite a checkpoint, which may be days of work.
    if _goes_on(order, inputs):
        options.append("--resume")
    levels = ("--levels", order.levels) if order.levels else ()
    if order.role == "stt":
        return [
            _module("train.fine_tune_whisper", "--base", str(base), *options),
            _module(
                "export.export_whisper",
                *("--base", str(base), "--sound", str(mix), "--run", str(out)),
                *("--out", str(out / "model"), "--threads", str(order.threads)),
            ),
        ]
    # A folder of Hugging Face; a folder of cut_vocabulary has a shape.json instead.
    if order.role == "gemma" and (base / "config.json").is_file():
        return [
            _module("train.fine_tune_translategemma", "--base", str(base), *options, *target),
            _module(
                "gguf_export.convert_translategemma",
                *("--base", str(base), "--adapter", str(out / "adapter")),
                *("--out", str(out / "model"), "--threads", str(order.threads)),
                *target,
                *levels,
            ),
        ]
    if order.role == "gemma":
        return [
            _module("train.fine_tune_gemma", "--base", str(base), *options, *target),
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
        # At the rates for an untrained model a good one would forget.
        _module("train.train_marian", "--init", str(base), *options, *target, *_GENTLY),
        _module(
            "export.export_marian",
            *("--model", str(out), "--base", str(base), "--out", str(out / "model")),
        ),
    ]


def train(
    order: TrainingOrder, *, on_line: Callable[[str], None], checkout: Path = _CHECKOUT
) -> Path:
    """Train and convert; return the model's folder, of CTranslate2 or of GGUF files.

    `on_line` gets the lines that the trainers print. Raises LearningError (train-unavailable,
    training-failed); the training so far is kept, and the next run resumes it.
    """
    require_trainers(checkout)
    code, name, fix = _needed(order)
    # Checked here, since the trainer would load torch first.
    if not (order.material / name).is_file():
        raise LearningError(code, f"There is no {name} in {order.material}.", fix)
    inputs = _inputs(order)
    every = commands(order, inputs)
    if "--resume" not in every[0]:
        with suppress(FileNotFoundError):
            checkpoint = order.out / _CHECKPOINT
            checkpoint.replace(checkpoint.with_suffix(".old"))
    _note(order, inputs, is_over=False)
    # In separate processes: the converter needs the trainer's memory.
    for command in every:
        exit_code, last = _run(command, checkout, on_line)
        if exit_code:
            # A trainer that has learnt nothing in its minutes is over. One that was killed goes on.
            _note(order, inputs, is_over=exit_code > 0 and command is every[0])
            # Only after a kill there is nothing to mend: else its last line says what is wrong.
            first = "" if exit_code < 0 else "Mend that first. "
            raise LearningError(
                "training-failed",
                f"{command[2]} ended with {exit_code}: {last}",
                f"{first}Start it again: it goes on from its last checkpoint.",
            )
    _note(order, inputs, is_over=True)
    return order.out / "model"


def _goes_on(order: TrainingOrder, inputs: Mapping[str, str] | None) -> bool:
    """Whether the checkpoint in `out` is of this training: interrupted, or to be made longer."""
    if not (order.out / _CHECKPOINT).exists():
        return False
    try:
        before, now = orjson.loads((order.out / _NOTE).read_bytes()), inputs or _inputs(order)
    except (OSError, ValueError):
        # Of an earlier version, which noted nothing: with a model it was over.
        return not (order.out / "model").exists()
    # What was learnt on top of one model makes another one worse. A training that is over has
    # used its minutes: on a new mix it would learn nothing.
    is_same = before["base"] == now["base"]
    return is_same and (not before["is_over"] or before["material"] == now["material"])


def _note(order: TrainingOrder, inputs: Mapping[str, str], *, is_over: bool) -> None:
    with writing(order.out, LearningError, "learning-unwritable"):
        order.out.mkdir(parents=True, exist_ok=True)
        write_whole(order.out / _NOTE, orjson.dumps({**inputs, "is_over": is_over}))


def _inputs(order: TrainingOrder) -> dict[str, str]:
    weights = weights_of(order.base)
    return {
        # A folder of Hugging Face has several files of weights, and is replaced by nobody.
        "base": sha256(weights) if weights.is_file() else str(order.base.absolute()),
        "material": sha256(order.material / _needed(order)[1]),
    }


def _needed(order: TrainingOrder) -> tuple[str, str, str]:
    return _NEEDED["stt" if order.role == "stt" else "translator"]


def require_trainers(checkout: Path = _CHECKOUT) -> None:
    """Check that the trainers and their packages are here. Raises LearningError."""
    # Found without an import, so that torch is not loaded into this process.
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
    return [sys.executable, "-m", f"training.{name}", *arguments]


def _run(command: Sequence[str], checkout: Path, on_line: Callable[[str], None]) -> tuple[int, str]:
    """Run a program in the checkout; pass on its lines as they come.

    Returns its exit code, negative for a signal, and its last line.
    """
    last = ""
    with subprocess.Popen(  # noqa: S603 - our own trainers
        ["nice", "-n", "19", *command],  # noqa: S607 - of every Linux
        cwd=checkout,
        stdout=subprocess.PIPE,
        # Merged with stdout: the last line of either says why it ended.
        stderr=subprocess.STDOUT,
        text=True,
        # Without buffering, since progress must be visible at once.
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            for line in process.stdout or ():
                last = line.strip() or last
                on_line(line.rstrip())
        except KeyboardInterrupt:
            # It gets Ctrl-C as well, and writes its checkpoint: a closed pipe would end it.
            process.communicate()
            raise
    # After the block, whose end waits for the process.
    return process.returncode, last

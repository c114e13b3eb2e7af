"""Reading a checkpoint: its tensors under llama.cpp's names, checked for completeness."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from pipeline.core.errors import ModelError
from training.gguf_export import naming
from training.gguf_export.naming import Naming, some
from training.gguf_export.shape import Shape, layers_of, work_out

Tensors = dict[str, torch.Tensor]
_INSIDE = ("model", "state_dict", "model_state_dict")
_CONFIG_INSIDE = ("config", "model_args", "model_config")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A decoder: `weights` by llama.cpp's names without `.weight`, queries and keys as stored.

    Norms are float32 and are the factor itself. Without `output` the embeddings are the head.
    `assumed` has a line for each size that neither file nor flags gave.
    """

    naming: Naming
    shape: Shape
    weights: Tensors
    assumed: list[str]


def read(path: Path, config: Path | None, flags: Mapping[str, Any]) -> Checkpoint:
    """Read a `.pt` or `.safetensors` file, or a folder with safetensors files and config.json.

    Without `config` it uses the config.json beside the tensors, else the one inside the `.pt`.
    Raises ModelError.
    """
    folder = path if path.is_dir() else path.parent
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise ModelError(
            "checkpoint-missing",
            f"{path}: there is no checkpoint.",
            "Give a .pt or .safetensors file, or a folder that holds *.safetensors.",
        )
    tensors: Tensors = {}
    found: Mapping[str, Any] = {}
    for file in files:
        more, inside = _load(file)
        tensors |= more
        found = inside or found
    beside = config or folder / "config.json"
    if config or beside.is_file():
        found = _json(beside)
    return assemble(tensors, found, flags)


def assemble(
    tensors: Tensors, config: Mapping[str, Any], flags: Mapping[str, Any] | None = None
) -> Checkpoint:
    """Rename and check `tensors` with the names of a training program. Raises ModelError."""
    stored = {short: tensor for name, tensor in tensors.items() if (short := naming.plain(name))}
    kind = naming.recognize(stored)
    layers = layers_of(config) or naming.layers_of(kind, stored)
    wanted = naming.expected(kind, layers)
    missing = [
        theirs for ours, theirs in wanted.items() if theirs not in stored and ours != "output"
    ]
    if missing:
        raise ModelError(
            "tensor-missing",
            f"{kind.title} names, {layers} layers: not in the checkpoint: {some(missing)}.",
            "Is the file whole, and saved from the whole model?",
        )
    unknown = sorted(set(stored) - set(wanted.values()))
    if unknown:
        raise ModelError(
            "tensor-unknown",
            f"{kind.title} names, but the checkpoint holds tensors that such a model has not: "
            f"{some(unknown)}.",
            "Leaving them out would change what it computes; this exporter cannot write them.",
        )
    weights = {ours: stored[theirs] for ours, theirs in wanted.items() if theirs in stored}
    sizes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    shape, assumed = work_out(kind.architecture, layers, sizes, config, flags or {})
    _check_sizes(kind, layers, shape, sizes)
    if "output" in weights and torch.equal(weights["output"], weights["token_embd"]):
        del weights["output"]
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise ModelError(
                "tensor-broken",
                f"{wanted[name]} holds values that are no numbers.",
                "Take an earlier checkpoint.",
            )
        if tensor.ndim == 1:
            weights[name] = tensor.float() + kind.norm_offset
    return Checkpoint(kind, shape, weights, assumed)


def _check_sizes(
    kind: Naming, layers: int, shape: Shape, sizes: Mapping[str, tuple[int, ...]]
) -> None:
    theirs = naming.expected(kind, layers)
    wanted = shape.tensors()
    if "output" in sizes:
        wanted["output"] = wanted["token_embd"]
    for name, size in wanted.items():
        if sizes[name] != size:
            raise ModelError(
                "tensor-shape",
                f"{theirs[name]} has the shape {_by(sizes[name])}; {_by(size)} is needed.",
                "Do the config.json and the flags belong to this checkpoint?",
            )


def _load(file: Path) -> tuple[Tensors, Mapping[str, Any]]:
    """Return the tensors of a file, and the config that a `.pt` may also hold."""
    if file.suffix == ".safetensors":
        try:
            return load_file(file), {}
        except (SafetensorError, OSError) as error:
            raise _unreadable(file, error) from error
    try:
        # Only tensors and plain values, because a pickle can run any program.
        saved = torch.load(file, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(file, error) from error
    except UnpicklingError as error:
        raise ModelError(
            "checkpoint-pickle",
            f"{file} holds objects of a program beside its tensors, or is damaged.",
            "Save the tensors alone: torch.save(model.state_dict(), FILE).",
        ) from error
    configs = (saved[key] for key in _CONFIG_INSIDE if isinstance(saved.get(key), dict))
    config: Mapping[str, Any] = next(configs, {})
    tensors = next((saved[key] for key in _INSIDE if isinstance(saved.get(key), dict)), saved)
    return {n: t for n, t in tensors.items() if isinstance(t, torch.Tensor)}, config


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(
            "checkpoint-config", f"{path} cannot be read: {error}.", "Give --config."
        ) from error
    return found


def _unreadable(file: Path, error: Exception) -> ModelError:
    return ModelError(
        "checkpoint-broken", f"{file} cannot be read: {error}.", "Copy it again; is it whole?"
    )


def _by(size: Iterable[int]) -> str:
    return " x ".join(map(str, size))

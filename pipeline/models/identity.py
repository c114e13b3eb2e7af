"""Identify a model file by name and hash, so that two people can compare their files."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pipeline.config.schema import Settings
from pipeline.core.errors import ModelError
from pipeline.models.automatic import models_in_use
from pipeline.models.integrity import known_files
from pipeline.models.library import ModelLibrary, digest, nobody
from pipeline.models.registry import shipped_folder
from pipeline.models.resolve import resolve
from pipeline.records.events import ModelUsed

_AT_A_START_BYTES = 64_000_000
"""A larger file is not read at a service's start, which must not take 0.1 s longer."""
_MOST_BYTES = 1_000_000_000
"""A larger file is not hashed, since that would take longer than loading it."""

# Of 64 digits: enough to compare two files, and short enough to read out.
_DIGITS = 12


def fingerprint(model: Path) -> str:
    """Return the name of a model's weights file and the beginning of its SHA-256.

    `model` is a .gguf file, whose name contains its level, or the folder of another model.
    """
    weights = _weights(model)
    try:
        if weights.stat().st_size > _MOST_BYTES:
            return weights.name
        hashed = digest(weights, "sha256", nobody)
    except OSError:  # the engine will say what is wrong with it
        return weights.name
    return f"{weights.name}, SHA-256 {hashed[:_DIGITS]}"


def used_models(settings: Settings) -> tuple[ModelUsed, ...]:
    """Return the models that the settings load, without those that cannot be found."""
    found = []
    for role, name in models_in_use(settings).items():
        with suppress(ModelError, OSError):  # the engine will say what is wrong with it
            model = resolve(role, name, ModelLibrary.of(settings))
            weights = _weights(model)
            size = weights.stat().st_size
            hashed = {file: known.sha256 for file, known in known_files(model)}.get(weights, "")
            # A pulled model has its hash in its manifest; only others are read.
            if not hashed and size <= _AT_A_START_BYTES:
                hashed = digest(weights, "sha256", nobody)
            engine = settings.stt.local_engine if role == "stt" else role
            found.append(
                ModelUsed(
                    engine=engine, setting=name, file=weights.name, size_bytes=size, sha256=hashed
                )
            )
    return tuple(found)


def _weights(model: Path) -> Path:
    """Return a model's weights file; in a folder the largest .ort file, or else model.bin."""
    if not model.is_dir():
        return model
    files = sorted(model.glob("*.ort"))  # a Moonshine model has several, and no model.bin
    return max(files, key=lambda file: file.stat().st_size, default=model / "model.bin")


def advice(model: Path) -> str:
    """Return a hint for a model that is not good enough for a service, "" for others."""
    home = shipped_folder(model)
    if home is None:
        return ""
    return (
        f"The {home.name} model is for trying things out, not for a service: "
        "`stark-translate setup` downloads the best one that fits this machine."
    )

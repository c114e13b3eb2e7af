"""Identify a model file by name and hash, so that two people can compare theirs."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pipeline.config.schema import Settings
from pipeline.models.registry import Role, read_registry
from pipeline.models.resolve import STARTER, resolve
from pipeline.models.store import directory_of

_MOST_BYTES = 1_000_000_000
"""A larger file is not read for its hash: that would take longer than loading it."""

_DIGITS = 12


def fingerprint(model: Path) -> str:
    """Return the name of a model's weights and the beginning of their SHA-256.

    `model` is a .gguf file, whose name tells its level, or the folder of a CTranslate2 model.
    """
    weights = model / "model.bin" if model.is_dir() else model
    try:
        if weights.stat().st_size > _MOST_BYTES:
            return weights.name
        with weights.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:  # the engine will say what is wrong with it
        return weights.name
    return f"{weights.name}, SHA-256 {digest[:_DIGITS]}"


def advice(role: Role, model: Path, settings: Settings) -> str:
    """Return advice about a model that is not good enough for a service, "" for others."""
    if model != resolve(role, STARTER):
        return ""
    translate = settings.translate
    better = [
        model.name
        for model in read_registry(directory_of(settings.models.directory)).values()
        if model.role == role and model.can(translate.source, translate.target)
    ]
    pull = f"`stark-translate models pull {better[0]}`, or " if better else ""
    return (
        "The starter model is for trying things out, not for a service: "
        f"{pull}see `stark-translate models list`."
    )

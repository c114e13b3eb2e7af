"""The encoder window of a Whisper model, for settings that name none."""

from __future__ import annotations

from pathlib import Path

import orjson

from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve
from pipeline.models.shipped import STARTER

FULL_S = 30.0
"""Whisper's own window, which every model was trained on."""

PROOF = "proof.json"
"""In the folder of a trained model: how its conversion was proved."""

_STARTER_S = 10.0
_SHORTEST_S = 1.0


def own_window_s(model: Path, library: ModelLibrary) -> float:
    """Return the shortest window, in seconds, that costs the model in this folder no accuracy.

    The registry tells, for pulled models; one that `learn hear` has made tells of itself with
    which window it was proved. 30, Whisper's own, where nobody
    has measured. Raises ModelError (registry-broken).
    """
    if model == resolve("stt", STARTER):
        return _STARTER_S
    if (proved := _proved_s(model / PROOF)) is not None:
        return proved
    for known in library.known.values():
        if known.window_s is not None and library.folder(known.name) == model:
            return known.window_s
    return FULL_S


def _proved_s(proof: Path) -> float | None:
    """Return the window that a proof tells of; None without a usable one."""
    try:
        told = orjson.loads(proof.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    window_s = told.get("window_s") if isinstance(told, dict) else None
    if not isinstance(window_s, int | float) or not _SHORTEST_S <= window_s <= FULL_S:
        return None
    return float(window_s)

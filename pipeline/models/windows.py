"""The encoder window and the pauses that suit a Whisper model, for settings that name none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import orjson

from pipeline.config.schema import Settings
from pipeline.models.automatic import recognizer_name
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import Model
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
    known = _known(model, library)
    return FULL_S if known is None or known.window_s is None else known.window_s


def own_pauses(settings: Settings) -> Mapping[str, int]:
    """Return what of [vad] suits the recognizer, by key, where the settings name nothing.

    Raises ModelError, ConfigError.
    """
    if settings.stt.local_engine != "whisper":
        return {}
    library = ModelLibrary.of(settings)
    known = _known(resolve("stt", recognizer_name(settings), library), library)
    return {} if known is None else {str(key): ms for key, ms in known.pauses.items()}


def _known(model: Path, library: ModelLibrary) -> Model | None:
    return next(
        (each for each in library.known.values() if library.folder(each.name) == model), None
    )


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

"""The encoder window of a Whisper model, for settings that name none."""

from __future__ import annotations

from pathlib import Path

from pipeline.models.registry import read_registry
from pipeline.models.resolve import STARTER, resolve
from pipeline.models.store import Store, directory_of

FULL_S = 30.0
"""Whisper's own window, which every model was trained on."""

_STARTER_S = 10.0


def own_window_s(model: Path, directory: str | Path = "") -> float:
    """Return the shortest window, in seconds, that costs the model in this folder no accuracy.

    The registry tells, for models pulled into `directory` (`models.directory`). 30, Whisper's
    own, where nobody has measured. Raises ModelError (registry-broken).
    """
    if model == resolve("stt", STARTER):
        return _STARTER_S
    store = Store(directory_of(str(directory)))
    for known in read_registry(store.directory).values():
        if known.window_s is not None and store.folder(known.name) == model:
            return known.window_s
    return FULL_S

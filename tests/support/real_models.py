"""Real models for tests, pulled once with the product's own code into the user's cache."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pipeline.core.errors import ModelError
from pipeline.models.download import obtain
from pipeline.models.library import Manifest, ModelLibrary
from tests.support.needs import without

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
"""Read once, before a test sets its own home."""
_BUSY_S = 200.0
"""Longest wait while another test run fetches the same model."""


def real_model(name: str) -> Path:
    """Return the path of a registry model; skip where it is unavailable, fail under CI=true.

    Licence terms are accepted here only for the tests on this machine.
    """
    store = ModelLibrary(_CACHE / "stark-translate" / "test-models")
    try:
        return store.path(_here(name, store))
    except ModelError as error:
        without(f"{name} cannot be had: {error}")
        raise


def _here(name: str, store: ModelLibrary) -> Manifest:
    until_s = time.monotonic() + _BUSY_S
    while True:
        manifest = store.manifest(name)
        if manifest is not None and not store.faults(manifest):
            return manifest
        try:
            return obtain(name, store, accept=lambda _: True)
        except ModelError as error:
            if error.code != "model-busy" or time.monotonic() > until_s:
                raise
            time.sleep(1)

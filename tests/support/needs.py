"""Check what a test needs from the machine: skip without it, but fail under CI=true."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
from pathlib import Path

import pytest


def needs_program(*names: str) -> None:
    """Skip the test when one of these programs is not installed; fail it under CI=true."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        without(f"not installed: {', '.join(missing)}")


def needs_library(*names: str) -> None:
    """Skip the test when one of these shared libraries (`portaudio`) is not installed."""
    missing = [name for name in names if ctypes.util.find_library(name) is None]
    if missing:
        without(f"no shared library: {', '.join(missing)}")


def needs_module(*names: str) -> None:
    """Skip the test when one of these Python modules is not installed; fail it under CI=true."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        without(f"not installed: {', '.join(missing)}")


def needs_file(*paths: str | Path) -> None:
    """Skip the test when one of these files is not there; fail it under CI=true."""
    missing = [str(path) for path in paths if not Path(path).exists()]
    if missing:
        without(f"no such file: {', '.join(missing)}")


def needs_train_extra() -> None:
    """Skip the test module without the packages of `make train`; fail it under CI=true."""
    names = ("gguf", "peft", "safetensors", "torch", "transformers")
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        without(f"`make train` installs what is missing: {', '.join(missing)}")


def without(reason: str) -> None:
    """Skip the test for `reason`; fail it under CI=true."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"CI must have everything, but {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)

"""The manifest of a step's result: its inputs with hashes, settings, versions and figures.

The steps of `learn` and the scripts in `training` write the same format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson

from pipeline import __version__
from pipeline.core.files import write_whole
from pipeline.core.formats import utc_now
from pipeline.models.library import digest, nobody

# Libraries whose version affects a step's result.
_LIBRARIES = (
    *("ctranslate2", "faster-whisper", "gguf", "llama-cpp-python", "numpy", "peft", "sacrebleu"),
    *("sentencepiece", "torch", "transformers"),
)


def write_manifest(
    path: Path,
    *,
    step: str,
    inputs: Iterable[Path],
    settings: Mapping[str, Any],
    figures: Mapping[str, Any],
) -> None:
    """Write a step's manifest as JSON. Raises OSError.

    For a path in the settings only its name is written, as for the inputs.
    """
    content = {
        "step": step,
        "made": utc_now(),
        "program": __version__,
        "inputs": [describe(file) for file in inputs],
        "settings": {name: _plain(value) for name, value in settings.items()},
        "versions": versions(),
        "figures": dict(figures),
    }
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    write_whole(path, orjson.dumps(content, default=str, option=options))


def describe(path: Path) -> dict[str, Any]:
    """Return name, size and SHA-256 of a file. Raises OSError.

    Only the name, since the folder would reveal where somebody keeps their files.
    """
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)}


def sha256(path: Path) -> str:
    """Return the hash of a file's content, in hexadecimal. Raises OSError."""
    # In chunks, since weights may be larger than the machine's memory.
    return digest(path, "sha256", nobody)


def versions() -> dict[str, str]:
    """Return the versions of the installed libraries."""
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        # Most installations lack torch, and many steps need none of these libraries.
        except PackageNotFoundError:
            continue
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.name if isinstance(value, Path) else value

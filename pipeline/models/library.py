"""The pulled models on disk: a folder for each, with a manifest of its files.

A folder appears complete or not at all: it is filled in `.partial`, then renamed. Nothing here uses
the network.
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
from pipeline.core.errors import ModelError, reading, writing
from pipeline.core.files import sync, try_lock, write_whole
from pipeline.models.registry import GGUF_ROLES, Model, Role, read_registry

log = structlog.get_logger()

MANIFEST = "manifest.json"
_PARTIAL = ".partial"
# No file name has a null byte; Path.stat() would raise ValueError for one.
_NO_NULL = r"^[^\x00]+$"
_FIX = "Run this as the user who owns it, or set models.directory to another folder."
# After each chunk hashing can be cancelled, and progress is reported.
_CHUNK_BYTES = 1 << 20


def nobody(_: int) -> None:
    """Ignore a count of bytes: the callback of callers that show no progress."""


@dataclass(frozen=True, slots=True)
class PullProgress:
    """Callbacks for bytes fetched since the last call (negative: discarded) and bytes verified."""

    on_bytes: Callable[[int], None] = nobody
    on_checked: Callable[[int], None] = nobody


class StoredFile(BaseModel):
    """A file of a model; `path` is relative to the model's folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(pattern=_NO_NULL)
    size_bytes: int
    sha256: str

    def fault(
        self, place: Path, *, hashes: bool = False, on_bytes: Callable[[int], None] = nobody
    ) -> str:
        """Return what is wrong with this file at `place`, "" if nothing is.

        The size is always compared. With `hashes` the content is compared too, which reads
        everything; `on_bytes` gets the bytes read since its last call.
        """
        try:
            size = place.stat().st_size
            if size != self.size_bytes:
                return f"{place} has {size} of {self.size_bytes} bytes"
            if hashes and digest(place, "sha256", on_bytes) != self.sha256:
                return f"{place} has other content than it was made with"
        except (FileNotFoundError, NotADirectoryError):
            return f"{place} is missing"
        except OSError as error:
            return f"{place} cannot be read: {error.strerror}"
        return ""


class Manifest(BaseModel):
    """The description of a pulled model, stored with its files.

    `repository` and `revision` (the commit) are "" for a model that is not on the hub. `source` is
    the origin of the files, `accepted_terms` the address of the terms that were accepted for it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=_NO_NULL)
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
    """The models in `directory`, by name: a name of the registry, or a hub id.

    `directory` is the value of `models.directory`; "" is the user's own folder.
    """

    def __init__(self, directory: str | Path = "") -> None:
        self.directory = directory if isinstance(directory, Path) else directory_of(directory)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the library that the settings name, with its absolute path."""
        return cls(directory_of(settings.models.directory).absolute())

    @cached_property
    def known(self) -> Mapping[str, Model]:
        """The registry's models by name, with the church's own. Raises ModelError."""
        # Read once per library: a changed registry affects only libraries made later.
        with reading(self.directory, ModelError, "models-unreadable", _FIX):
            return read_registry(self.directory)

    def folder(self, name: str) -> Path:
        """Return the model's folder, which may not exist. Raises ModelError for an invalid name."""
        return self.directory / _folder_name(name)

    def partial(self, name: str) -> Path:
        """Return the folder of an unfinished pull, which may not exist. Raises ModelError."""
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
        """Return the names of all pulled models, including those with a broken manifest."""
        return [found.name if found else folder for folder, found in self._manifests()]

    def has_accepted(self, terms: str) -> bool:
        """Return whether these terms were accepted for any pulled model."""
        return any(found and found.accepted_terms == terms for _, found in self._manifests())

    def _manifests(self) -> Iterator[tuple[str, Manifest | None]]:
        """Yield the folder of each pulled model and its manifest, None if that is broken."""
        for file in sorted(self.directory.glob(f"*/{MANIFEST}")):
            try:
                yield file.parent.name, Manifest.model_validate_json(file.read_bytes())
            except (OSError, ValidationError):
                yield file.parent.name, None

    def halves(self) -> list[str]:
        """Return the names of unfinished pulls."""
        folders = [file for file in (self.directory / _PARTIAL).glob("*") if file.is_dir()]
        # A hub id, `owner/name`, cannot be a folder's name: there "--" replaces the slash.
        return sorted(folder.name.replace("--", "/") for folder in folders)

    def path(self, manifest: Manifest) -> Path:
        """Return what an engine loads: the .gguf file if there is one, else the folder."""
        folder = self.folder(manifest.name)
        # A .gguf model has only one file.
        return folder / manifest.files[0].path if manifest.role in GGUF_ROLES else folder

    def faults(
        self, manifest: Manifest, *, hashes: bool = False, on_bytes: Callable[[int], None] = nobody
    ) -> list[str]:
        """Return descriptions of what is wrong with a model's files, as `StoredFile.fault` does."""
        folder = self.folder(manifest.name)
        said = (
            file.fault(folder / file.path, hashes=hashes, on_bytes=on_bytes)
            for file in manifest.files
        )
        return [fault for fault in said if fault]

    def require_place(self, name: str) -> None:
        """Check that no folder without our manifest is in the way. Raises ModelError."""
        folder = self.folder(name)
        if folder.exists() and not (folder / MANIFEST).exists():
            raise ModelError(
                "models-unwritable",
                f"{folder} was not made by `models pull`, and is in the way.",
                "Move it elsewhere, or give its path in the settings.",
            )

    def adopt(self, source: Path, manifest: Manifest) -> None:
        """Move the filled folder `source` to the model's place, and replace an older one.

        Raises ModelError, OSError.
        """
        self.require_place(manifest.name)
        # The manifest comes last: a folder without one does not count as ours.
        # It is on disk before the rename: otherwise a power cut could leave an empty manifest.
        write_whole(source / MANIFEST, f"{manifest.model_dump_json(indent=2)}\n".encode())
        # The old model is moved aside and deleted last, so a kill always leaves complete folders.
        self._set_aside(manifest.name)
        source.rename(self.folder(manifest.name))
        # The rename is on disk before the old files are deleted: a power cut leaves one of the two.
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
                # The model becomes an unfinished pull before it is deleted: an interrupted removal
                # could leave a folder without a manifest, which `require_place` would refuse.
                half.mkdir(exist_ok=True)
                self._set_aside(name)
            shutil.rmtree(half)

    def _set_aside(self, name: str) -> None:
        """Move a model, if there is one, to the unfinished pulls, in one step."""
        old = self.partial(name) / "old"
        # Left by an earlier kill: a folder cannot be renamed to one that is not empty.
        shutil.rmtree(old, ignore_errors=True)
        if self.folder(name).exists():
            self.folder(name).rename(old)

    def _writing(self) -> AbstractContextManager[None]:
        return writing(self.directory, ModelError, "models-unwritable", _FIX)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Lock this model against other processes. Raises ModelError (model-busy)."""
        file = self.partial(name).with_name(f"{self.partial(name).name}.lock")
        with self._writing():
            file.parent.mkdir(parents=True, exist_ok=True)
            # Never deleted: otherwise two processes could lock two files of the same name.
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                is_locked = try_lock(handle)
            except OSError as error:  # a network file system may not support locks
                log.warning("not locked", file=str(file), error=error.strerror)
                is_locked = True
            if not is_locked:
                message = f"{name} is being pulled by another program."
                raise ModelError("model-busy", message, "Wait until it is done.")
            yield
        finally:
            # This also releases the lock.
            os.close(handle)


def directory_of(setting: str) -> Path:
    """Return the folder for pulled models that `models.directory` names; "" is the user's own."""
    if setting:
        return Path(setting).expanduser()
    data = os.environ.get("XDG_DATA_HOME", "")
    # By the XDG specification a relative path counts as not set.
    home = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return home / "stark-translate" / "models"


def digest(file: Path, algorithm: str, on_bytes: Callable[[int], None], head: bytes = b"") -> str:
    """Return the hash of `head` and a file's content, in hexadecimal."""
    # Where FIPS is enforced, SHA-1 (git's) is only allowed if it is not used for security.
    hasher = hashlib.new(algorithm, head, usedforsecurity=False)
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            hasher.update(chunk)
            on_bytes(len(chunk))
    return hasher.hexdigest()


def link_or_copy(old: Path, target: Path) -> None:
    """Make `target` a hard link to `old`, or a copy. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # A link cannot replace a file.
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(old)
    except OSError:  # not every disk supports links
        shutil.copyfile(old, target)


def again(name: str) -> str:
    """Return a sentence with the command that fetches a model."""
    return f"Fetch it with: stark-translate models pull {name}"


def _folder_name(name: str) -> str:
    # `..` would lead out of the directory, and `.partial` contains unfinished pulls.
    if not name or name.startswith("."):
        raise ModelError("model-unknown", f"{name!r} is no name of a model.")
    return name.replace("/", "--")

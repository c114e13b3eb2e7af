"""Pulled models for tests without a hub: the files that a pull leaves behind."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.resources import bundled
from pipeline.models.library import Manifest, ModelLibrary, StoredFile, digest, nobody
from pipeline.models.registry import Role
from tests.support.needs import needs_file

REVISION = "0123456789abcdef0123456789abcdef01234567"


def pulled(directory: Path, name: str, role: Role, content: dict[str, bytes]) -> Manifest:
    """Put a model with these files into the store at `directory`."""
    store = ModelLibrary(directory)
    source = store.partial(name) / REVISION
    for path, data in content.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(data)
    files = tuple(
        StoredFile(path=p, size_bytes=len(d), sha256=digest(source / p, "sha256", nobody))
        for p, d in content.items()
    )
    manifest = Manifest(
        name=name,
        role=role,
        repository="owner/name",
        revision=REVISION,
        pulled_utc="2026-11-20T12:00:00+00:00",
        files=files,
    )
    store.adopt(source, manifest)
    return manifest


def starter_files(role: Role) -> dict[str, bytes]:
    """Return the files of a model that ships, by name."""
    folder = bundled("models", "tiny" if role == "gemma" else "starter", role)
    needs_file(folder)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def damage(file: Path) -> None:
    """Change one byte in the middle of a file; its size stays."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)

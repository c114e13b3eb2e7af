"""Fetches models from the hub: whole and checked, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pipeline.core.errors import ModelError
from pipeline.models import hub_errors
from pipeline.models.hub_client import TIMEOUT_S, HubFile, Watch, get
from pipeline.models.registry import Role, hub_id, near, read_registry
from pipeline.models.store import Manifest, Store

_SPARE_BYTES = 50_000_000
"""Left on the disk for the rest of the system."""
_WHISPER = ("config.json", "model.bin", "preprocessor_config.json", "tokenizer.json")
_MARIAN = ("config.json", "model.bin", "source.spm", "target.spm")
_VOCABULARIES = {
    f"{which}vocabulary.{form}"
    for which in ("", "shared_", "source_", "target_")
    for form in ("json", "txt")
}


@dataclass(frozen=True, slots=True)
class Order:
    """What a pull will fetch, as the hub says; `commit` is what the revision means now."""

    name: str
    role: Role
    repository: str
    commit: str
    licence: str
    files: tuple[HubFile, ...]

    @property
    def size_bytes(self) -> int:
        """Size of all files together."""
        return sum(file.size_bytes for file in self.files)


def order(name: str, store: Store, revision: str = "") -> Order:
    """Ask the hub what belongs to a model of the registry, or to a hub id. Raises ModelError.

    `revision` takes the place of the registry's.
    """
    known = read_registry(store.directory)
    model = known.get(name)
    parts = (model.repository, "") if model else hub_id(name)
    if parts is None:
        message = f"{name} is no name of a model, nor a hub id such as owner/name."
        raise ModelError("model-unknown", message, near(name, known))
    repository, file = parts
    asked = revision or (model.revision if model else "main")
    from huggingface_hub import HfApi  # noqa: PLC0415 - heavy

    try:
        info = HfApi(endpoint=hub_errors.endpoint()).model_info(
            repository, revision=asked, files_metadata=True, timeout=TIMEOUT_S
        )
    except Exception as error:
        if said := hub_errors.explain(error, repository, asked):
            raise said from error
        raise
    there = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    if model:
        role, wanted = model.role, model.files
    else:
        role, wanted = _choose(repository, file, there)
    for path in wanted:
        if path not in there:
            raise hub_errors.missing_file(repository, asked, path)
    card: Any = info.card_data
    commit = info.sha or asked
    base = f"{hub_errors.endpoint()}/{repository}/resolve/{commit}"
    return Order(
        name=name,
        role=role,
        repository=repository,
        commit=commit,
        licence=str(getattr(card, "license", None) or (model.licence if model else "not stated")),
        files=tuple(_described(there[path], base) for path in wanted),
    )


def pull(ordered: Order, store: Store, watch: Watch | None = None) -> Manifest:
    """Fetch what is missing, check it all, put it in its place. Raises ModelError."""
    with store.lock(ordered.name):
        folder = store.partial(ordered.name) / ordered.commit
        try:
            store.require_place(ordered.name)
            folder.mkdir(parents=True, exist_ok=True)
            _check_space(ordered, folder, store)
            here = store.folder(ordered.name)
            files = tuple(get(file, folder, here, watch or Watch()) for file in ordered.files)
            manifest = Manifest(
                name=ordered.name,
                role=ordered.role,
                repository=ordered.repository,
                revision=ordered.commit,
                pulled_utc=datetime.now(UTC).isoformat(timespec="seconds"),
                files=files,
            )
            store.adopt(folder, manifest)
        except ModelError:
            raise
        except Exception as error:
            if said := hub_errors.explain(error, ordered.repository, ordered.commit):
                raise said from error
            raise
    return manifest


def _choose(repository: str, file: str, there: Iterable[str]) -> tuple[Role, tuple[str, ...]]:
    """Return the role of a repository by the files it has, and those that are needed."""
    names = set(there)
    if file:
        return "gemma", (file,)
    if "model.bin" in names and "source.spm" in names:
        return "marian", tuple(sorted(names & {*_MARIAN, *_VOCABULARIES}))
    if "model.bin" in names and "tokenizer.json" in names:
        return "stt", tuple(sorted(names & {*_WHISPER, *_VOCABULARIES}))
    if found := sorted(name for name in names if name.endswith(".gguf")):
        message = f"{repository} has several models."
        fix = f"Name one: {', '.join(f'{repository}/{name}' for name in found)}"
        raise ModelError("model-unknown", message, fix)
    raise ModelError(
        "model-wrong-kind",
        f"{repository} has neither a CTranslate2 model (model.bin with tokenizer.json, or with "
        "source.spm) nor a .gguf file.",
        "docs/MODELS.md says how a model is converted.",
    )


def _described(sibling: Any, base: str) -> HubFile:
    lfs = sibling.lfs
    return HubFile(
        url=f"{base}/{quote(sibling.rfilename)}",
        path=sibling.rfilename,
        size_bytes=sibling.size or 0,
        sha256=lfs.sha256 if lfs else "",
        blob="" if lfs else sibling.blob_id or "",
    )


def _check_space(ordered: Order, folder: Path, store: Store) -> None:
    here = [
        file.stat().st_size
        for wanted in ordered.files
        for file in (folder / wanted.path, store.folder(ordered.name) / wanted.path)
        if file.is_file()
    ]
    need, free = ordered.size_bytes - sum(here) + _SPARE_BYTES, shutil.disk_usage(folder).free
    if need > free:
        raise ModelError(
            "disk-short",
            f"{ordered.name} needs {need / 1e9:.2f} GB more in {store.directory}, "
            f"where {free / 1e9:.2f} GB are free.",
            "Make room, or set models.directory to another disk.",
        )

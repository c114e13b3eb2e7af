"""Fetches models from the hub: resumed after a cut, checked against its hashes, whole or not.

huggingface_hub asks, logs in and names what is refused. The bytes are fetched here, because its
own download forgets what a stopped program has fetched, and a model may take a church's night.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import structlog

from pipeline import hub_errors
from pipeline.errors import ModelError
from pipeline.model_store import Manifest, Store, StoredFile, digest, nobody
from pipeline.registry import Role, hub_id, near, read_registry

log = structlog.get_logger()

_WAITS_S = (1.0, 2.0, 4.0)
"""Before each new try of a connection that was lost; counted anew whenever something came."""
_TIMEOUT_S = 30.0
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
class HubFile:
    """A file as the hub describes it: `sha256` of a large one, else "" and git's `blob` hash."""

    path: str
    size_bytes: int
    sha256: str
    blob: str


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
        info = HfApi(endpoint=_endpoint()).model_info(
            repository, revision=asked, files_metadata=True, timeout=_TIMEOUT_S
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
    return Order(
        name=name,
        role=role,
        repository=repository,
        commit=info.sha or asked,
        licence=str(getattr(card, "license", None) or (model.licence if model else "not stated")),
        files=tuple(_described(there[path]) for path in wanted),
    )


def pull(
    ordered: Order,
    store: Store,
    on_bytes: Callable[[int], None] = nobody,
    on_checked: Callable[[int], None] = nobody,
) -> Manifest:
    """Fetch what is missing, check it all, put it in its place. Raises ModelError.

    `on_bytes` is told how many bytes more are here, less than 0 if some had to be given up;
    `on_checked` how many more were read again to be checked.
    """
    with store.lock(ordered.name):
        folder = store.partial(ordered.name) / ordered.commit
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _check_space(ordered, folder)
            files = tuple(
                _fetch(ordered, file, folder, on_bytes, on_checked) for file in ordered.files
            )
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


def _fetch(
    ordered: Order,
    file: HubFile,
    folder: Path,
    on_bytes: Callable[[int], None],
    on_checked: Callable[[int], None],
) -> StoredFile:
    """Fetch what is missing of a file, and check it."""
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch()
    on_bytes(have := target.stat().st_size)
    tries = 0
    while have < file.size_bytes:
        lost = None
        try:
            _stream(ordered, file, target, on_bytes)
        except Exception as error:
            if not hub_errors.may_pass(error):
                raise
            lost = error
        before, have = have, target.stat().st_size
        if have >= file.size_bytes:
            break
        tries = 1 if have > before else tries + 1
        if tries > len(_WAITS_S):
            raise lost or hub_errors.cut_short(file.path)
        log.info("connection lost, trying again", file=file.path, have=have, error=str(lost))
        time.sleep(_WAITS_S[tries - 1])
    sha256 = digest(target, "sha256", on_checked)
    if not _right(file, target, sha256):
        target.unlink()
        raise ModelError(
            "model-corrupt",
            f"{file.path} of {ordered.repository} came with other content than the hub announced.",
            "Pull again; if it stays so, a proxy or filter on the way changes files.",
        )
    return StoredFile(path=file.path, size_bytes=file.size_bytes, sha256=sha256)


def _stream(ordered: Order, file: HubFile, target: Path, on_bytes: Callable[[int], None]) -> None:
    """Append to `target` what it lacks, as far as the connection lasts."""
    from huggingface_hub import get_session, utils  # noqa: PLC0415 - heavy

    hub: Any = utils  # it exports more than its types say
    base = _endpoint() or "https://huggingface.co"
    url = f"{base}/{ordered.repository}/resolve/{ordered.commit}/{quote(file.path)}"
    headers = hub.build_hf_headers() | {"Accept-Encoding": "identity"}
    with target.open("ab") as out:
        if have := out.tell():
            headers["Range"] = f"bytes={have}-"
        with get_session().stream("GET", url, headers=headers, timeout=_TIMEOUT_S) as answer:
            hub.hf_raise_for_status(answer)
            if have and answer.status_code == 200:  # the whole file, not the rest of it
                out.truncate(0)
                on_bytes(-have)
            try:
                for chunk in answer.iter_bytes():
                    out.write(chunk)
                    on_bytes(len(chunk))
            finally:
                out.flush()
                os.fsync(out.fileno())


def _right(file: HubFile, target: Path, sha256: str) -> bool:
    """Whether a file has the size and the hash that the hub announced."""
    if target.stat().st_size != file.size_bytes:
        return False
    if file.sha256:
        return sha256 == file.sha256
    head = f"blob {file.size_bytes}\0".encode()
    return not file.blob or digest(target, "sha1", nobody, head) == file.blob


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


def _described(sibling: Any) -> HubFile:
    lfs = sibling.lfs
    return HubFile(
        path=sibling.rfilename,
        size_bytes=sibling.size or 0,
        sha256=lfs.sha256 if lfs else "",
        blob="" if lfs else sibling.blob_id or "",
    )


def _check_space(ordered: Order, folder: Path) -> None:
    have = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    need, free = ordered.size_bytes - have + _SPARE_BYTES, shutil.disk_usage(folder).free
    if need > free:
        raise ModelError(
            "disk-short",
            f"{ordered.name} needs {need / 1e9:.2f} GB more in {folder.parents[2]}, "
            f"where {free / 1e9:.2f} GB are free.",
            "Make room, or set models.directory to another disk.",
        )


def _endpoint() -> str | None:
    """Return what HF_ENDPOINT says now; huggingface_hub reads it when it is imported."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None

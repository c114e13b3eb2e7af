"""Download one file from the model hub, resuming what is here, and verify it.

The bytes are fetched here and not by huggingface_hub, whose own download starts over after an
interruption; over a church's line a model may take a night.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from pipeline.core.errors import ModelError
from pipeline.models import hub_errors
from pipeline.models.library import PullProgress, StoredFile, digest, link_or_copy, nobody

log = structlog.get_logger()

TIMEOUT_S = 30.0
_WAITS_S = (1.0, 2.0, 4.0)
"""Waits before the retries of a lost connection; received bytes start the list again."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the hub describes it: a large one has `sha256`, others git's `blob` hash."""

    url: str
    path: str
    size_bytes: int
    sha256: str
    blob: str


def get(file: HubFile, folder: Path, here: Path, watch: PullProgress) -> StoredFile:
    """Put a file into `folder`, from the older model in `here` or from the hub, and verify it.

    Raises ModelError, and what huggingface_hub and the disk raise.
    """
    kept = _keep(file, folder / file.path, here / file.path)
    if not kept:
        return _fetch(file, folder / file.path, watch)
    watch.on_bytes(file.size_bytes)
    watch.on_checked(file.size_bytes)
    return kept


def _keep(file: HubFile, target: Path, old: Path) -> StoredFile | None:
    """Reuse the older model's file if it is the same."""
    # A download that was begun is finished instead.
    if target.exists() or not old.is_file() or old.stat().st_size != file.size_bytes:
        return None
    sha256 = digest(old, "sha256", nobody)
    if not _right(file, old, sha256):
        return None
    link_or_copy(old, target)
    return StoredFile(path=file.path, size_bytes=file.size_bytes, sha256=sha256)


def _fetch(file: HubFile, target: Path, watch: PullProgress) -> StoredFile:
    """Fetch the missing part of a file, and verify the whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch()
    watch.on_bytes(have := target.stat().st_size)
    tries = 0
    while have < file.size_bytes:
        lost = None
        try:
            _stream(file, target, watch)
        except Exception as error:
            if not hub_errors.may_pass(error):
                raise
            lost = error
        before, have = have, target.stat().st_size
        if have >= file.size_bytes:
            break
        # A line that breaks again and again still makes progress: only idle tries count.
        tries = 1 if have > before else tries + 1
        if tries > len(_WAITS_S):
            raise lost or hub_errors.cut_short(file.path)
        log.info("connection lost, trying again", file=file.path, have=have, error=str(lost))
        time.sleep(_WAITS_S[tries - 1])
    sha256 = digest(target, "sha256", watch.on_checked)
    if not _right(file, target, sha256):
        target.unlink()
        raise ModelError(
            "model-corrupt",
            f"{file.path} came with other content than was announced.",
            "Pull again; if it stays so, a proxy or filter on the way changes files.",
        )
    return StoredFile(path=file.path, size_bytes=file.size_bytes, sha256=sha256)


def _stream(file: HubFile, target: Path, watch: PullProgress) -> None:
    """Append the missing bytes to `target`, until the end or the loss of the connection."""
    from huggingface_hub import get_session, utils  # noqa: PLC0415 - heavy

    hub: Any = utils  # it exports more than its types say
    # Uncompressed: the place to resume from is counted in the file's own bytes.
    headers = hub.build_hf_headers() | {"Accept-Encoding": "identity"}
    with target.open("ab") as out:
        if have := out.tell():
            headers["Range"] = f"bytes={have}-"
        with get_session().stream("GET", file.url, headers=headers, timeout=TIMEOUT_S) as answer:
            hub.hf_raise_for_status(answer)
            if have and answer.status_code == 200:  # the whole file, not the rest of it
                out.truncate(0)
                watch.on_bytes(-have)
            try:
                for chunk in answer.iter_bytes():
                    out.write(chunk)
                    watch.on_bytes(len(chunk))
                    if out.tell() > file.size_bytes:
                        break  # too long already: no use in fetching the rest
            finally:
                out.flush()
                os.fsync(out.fileno())  # what is counted as here must be here after a power cut


def _right(file: HubFile, target: Path, sha256: str) -> bool:
    """Return whether a file has the size and the hash that the hub announced."""
    if target.stat().st_size != file.size_bytes:
        return False
    if file.sha256:
        return sha256 == file.sha256
    # For small files the hub gives git's hash only, which has the size in front of the content.
    head = f"blob {file.size_bytes}\0".encode()
    return not file.blob or digest(target, "sha1", nobody, head) == file.blob

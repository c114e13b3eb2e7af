"""Download a file from the model hub, resume a partial download, verify it, explain errors.

This module downloads by itself, since huggingface_hub starts again after an interruption, and a
model may take a night over a church's line.
"""

from __future__ import annotations

import errno
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from pipeline.core.errors import ModelError
from pipeline.models.library import PullProgress, StoredFile, digest, link_or_copy, nobody

log = structlog.get_logger()

# For each wait on the connection; the whole file may take hours.
TIMEOUT_S = 30.0
_WAITS_S = (1.0, 2.0, 4.0)
"""Waits before the retries of a lost connection; received bytes start the list again."""
_LOGIN = "`hf auth login`, or set HF_TOKEN"
CHANGED = "Pull again; if it stays so, a proxy, mirror or filter on the way changes files."
_GOES_ON = "Pull again: it goes on where it stopped."
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the hub describes it: large files have `sha256`, others git's `blob` hash."""

    url: str
    path: str
    size_bytes: int
    sha256: str
    blob: str


def get(file: HubFile, folder: Path, here: Path, watch: PullProgress) -> StoredFile:
    """Put a file into `folder`, from the older model in `here` or from the hub, and verify it.

    Raises ModelError, and the errors of huggingface_hub and the disk.
    """
    kept = _keep(file, folder / file.path, here / file.path)
    if not kept:
        return _fetch(file, folder / file.path, watch)
    watch.on_bytes(file.size_bytes)
    watch.on_checked(file.size_bytes)
    return kept


def _keep(file: HubFile, target: Path, old: Path) -> StoredFile | None:
    """Reuse the older model's file if it is the same."""
    # An unfinished download is resumed instead.
    if target.exists() or not old.is_file() or old.stat().st_size != file.size_bytes:
        return None
    # Only if the sizes are equal, since a hash reads the whole file.
    sha256 = digest(old, "sha256", nobody)
    if not _right(file, old, sha256):
        return None
    link_or_copy(old, target)
    return StoredFile(path=file.path, size_bytes=file.size_bytes, sha256=sha256)


def _fetch(file: HubFile, target: Path, watch: PullProgress) -> StoredFile:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch()
    watch.on_bytes(have := target.stat().st_size)
    tries = 0
    while have < file.size_bytes:
        lost = None
        try:
            _stream(file, target, watch)
        # Any class, since those of the HTTP library cannot be imported here (`_is_network`).
        except Exception as error:
            if not may_pass(error):
                raise
            lost = error
        before, have = have, target.stat().st_size
        if have >= file.size_bytes:
            break
        # Only tries without new bytes count: a line that breaks often still makes progress.
        tries = 1 if have > before else tries + 1
        if tries > len(_WAITS_S):
            message = f"The connection to the hub was lost in the middle of {file.path}."
            raise lost or ModelError("connection-lost", message, _GOES_ON)
        log.info("connection lost, trying again", file=file.path, have=have, error=str(lost))
        time.sleep(_WAITS_S[tries - 1])
    sha256 = digest(target, "sha256", watch.on_checked)
    if not _right(file, target, sha256):
        # A wrong file that stayed would be wrong again at each pull.
        target.unlink()
        message = f"{file.path} came with other content than was announced."
        raise ModelError("model-corrupt", message, CHANGED)
    return StoredFile(path=file.path, size_bytes=file.size_bytes, sha256=sha256)


def _stream(file: HubFile, target: Path, watch: PullProgress) -> None:
    """Append the missing bytes to `target`, until the end or the loss of the connection."""
    from huggingface_hub import get_session, utils  # noqa: PLC0415 - heavy

    hub: Any = utils  # it exports more than its types say
    # Uncompressed, since the position to resume from counts the file's own bytes.
    headers = hub.build_hf_headers() | {"Accept-Encoding": "identity"}
    with target.open("ab") as out:
        if have := out.tell():
            headers["Range"] = f"bytes={have}-"
        with get_session().stream("GET", file.url, headers=headers, timeout=TIMEOUT_S) as answer:
            hub.hf_raise_for_status(answer)
            if have and answer.status_code == 200:  # the whole file, not the rest of it
                out.truncate(0)
                out.seek(0)  # truncate keeps the position, and `tell` serves as the length here
                watch.on_bytes(-have)
            try:
                for chunk in answer.iter_bytes():
                    out.write(chunk)
                    watch.on_bytes(len(chunk))
                    if out.tell() > file.size_bytes:
                        break  # too long already: the rest is useless
            finally:
                out.flush()
                os.fsync(out.fileno())  # counted bytes must still be here after a power cut


def _right(file: HubFile, target: Path, sha256: str) -> bool:
    if target.stat().st_size != file.size_bytes:
        return False
    if file.sha256:
        return sha256 == file.sha256
    # For small files the hub has only git's hash, which covers the size and then the content.
    head = f"blob {file.size_bytes}\0".encode()
    return not file.blob or digest(target, "sha1", nobody, head) == file.blob


def explain(error: Exception, repository: str, revision: str) -> ModelError | None:
    """Return the ModelError for an exception of a pull of `repository`.

    None if it comes neither from the hub nor from the network nor from the disk.
    """
    from huggingface_hub import errors as hub  # noqa: PLC0415 - heavy

    page = f"{endpoint()}/{repository}"
    match error:
        # Subclasses first: a GatedRepoError is a RepositoryNotFoundError, and both are OSErrors.
        case hub.GatedRepoError():
            code = "model-gated"
            message = f"{repository} is given only to those who have accepted its terms."
            fix = f"Sign in at {page} in a browser and accept them; then here: {_LOGIN}."
        case hub.RevisionNotFoundError():
            code, message = "model-missing", f"{repository} has no revision {revision} any more."
            fix = "Try the newest with --revision main."
        case hub.EntryNotFoundError():
            return missing_file(repository, revision, "one of the files")
        case hub.RepositoryNotFoundError():
            code, message, fix = _missing(repository)
        case hub.HfHubHTTPError():
            code, message, fix = _by_status(error.response, repository)
        case hub.HFValidationError():
            code, message = "model-unknown", f"{repository} is no name of a repository."
            fix = "It has the form owner/name."
        case json.JSONDecodeError():
            code, message = "hub-unreachable", f"What answers at {endpoint()} is not the hub."
            fix = "If the network has a login page, open a browser and pass it first."
        case hub.OfflineModeIsEnabled():
            code, message = "hub-unreachable", "HF_HUB_OFFLINE forbids every download."
            fix = "Unset it for the pull."
        case OSError() if error.errno in _FULL:
            code, message = "disk-full", f"The disk is full; {repository} is not whole yet."
            fix = "Make room, or set models.directory to another disk. The next pull goes on."
        case OSError() if error.errno is not None:
            code, fix = "models-unwritable", "Check the disk, and who owns the folder."
            message = f"{error.filename or repository}: {error.strerror}."
        case _ if _is_network(error):
            code, message, fix = _by_network(error)
        case _:
            return None
    return ModelError(code, message, fix)


def may_pass(error: Exception) -> bool:
    """Return whether a retry may help: the connection was lost, or the hub answered 5xx."""
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415 - heavy

    if isinstance(error, HfHubHTTPError):
        return error.response.status_code >= 500
    return _is_network(error)


def missing_file(repository: str, revision: str, file: str) -> ModelError:
    """Return the error for a file that the repository does not have."""
    return ModelError(
        "model-missing",
        f"{repository} at {revision} lacks {file}.",
        f"See what it has at {endpoint()}/{repository}/tree/{revision}; "
        "the newest is pulled with --revision main.",
    )


def _missing(repository: str) -> tuple[str, str, str]:
    message = f"There is no {repository} on the hub, or it is private."
    return "model-missing", message, f"Check the name at {endpoint()}. If it is private: {_LOGIN}."


def _by_status(response: Any, repository: str) -> tuple[str, str, str]:
    """Return code, message and fix for an HTTP error, mainly by its status."""
    status = response.status_code
    if status == 401 and "credentials" not in response.headers.get("X-Error-Message", ""):
        return _missing(repository)  # without a login the hub answers 401 for a missing repository
    if status == 401:
        return "hub-refused", "The hub does not accept your token.", f"Log in again: {_LOGIN}."
    # The token is valid but has no right to read gated models.
    if status == 403:
        message = f"Your token does not allow reading {repository}."
        fix = f"Give it the right to read gated repositories, or log in again: {_LOGIN}."
        return "hub-refused", message, fix
    if status == 429:
        message = "The hub has had too many requests from here."
        return "hub-unreachable", message, f"Wait some minutes, or log in: {_LOGIN}."
    message = f"The hub answered with error {status}."
    return "hub-unreachable", message, "Try again later; the next pull goes on from here."


def _by_network(error: Exception) -> tuple[str, str, str]:
    # By the class's name: it comes from one of several libraries, and none is imported here.
    kind, text = type(error).__name__, " ".join(str(error).split()).rstrip(".")
    if "Proxy" in kind:
        fix = "Check HTTPS_PROXY, or ask whoever looks after the network."
        return "hub-unreachable", f"The proxy refused: {text}.", fix
    if "CERTIFICATE" in text:
        message = f"{endpoint()} shows a certificate that this machine does not trust: {text}."
        fix = "Check the clock; behind a filtering proxy set SSL_CERT_FILE to its certificate."
        return "hub-unreachable", message, fix
    if kind.startswith("Connect"):
        fix = "Is this machine on the internet? Behind a proxy set HTTPS_PROXY."
        return "hub-unreachable", f"{endpoint()} cannot be reached: {text}.", fix
    message = f"The connection to the hub was lost: {text or kind}."
    return "connection-lost", message, _GOES_ON


def _is_network(error: Exception) -> bool:
    # huggingface_hub 1 uses httpx, 2 uses httpx2; neither is a dependency of this project.
    return type(error).__module__.partition(".")[0] in {"httpx", "httpx2", "httpcore", "httpcore2"}


def endpoint() -> str:
    """Return the hub's address, from HF_ENDPOINT if it is set."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"

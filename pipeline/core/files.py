"""Files that survive a crash, a power cut and a full disk.

A file always holds whole pieces: a failed write is undone, and its content waits for the next
attempt. No class here has a mutex: one thread owns each file.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import structlog

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

log = structlog.get_logger()

_WAITING = 5_000
"""Lines kept while the disk cannot be written: about one service."""
_IS_POSIX: Final = fcntl is not None
"""Whether an open file can be renamed and a folder can be opened: not on Windows."""
_FAR = 1 << 40
"""The locked position on Windows: after the file's end, because others cannot read locked bytes."""


Stamp: TypeAlias = tuple[int, int, int]
"""A file's inode, size and time."""


def write_whole(path: Path, content: bytes, *, like: os.stat_result | None = None) -> None:
    """Replace a file atomically and durably (fsync, then rename). Raises OSError.

    After an error the old file is unchanged. With `like` the new one gets that mode and owner.
    """
    os.close(_replace(path, (content,), like=like)[0])


def read_at_most(path: Path, most_bytes: int) -> bytes | None:
    """Return a file's content, None if it has more than `most_bytes`. Raises OSError."""
    with path.open("rb") as file:  # not by its size: a device or a pipe has none
        content = file.read(most_bytes + 1)
    return content if len(content) <= most_bytes else None


def size_bytes(path: Path) -> int:
    """Return the size of a file, or of the files in a folder, without inaccessible ones."""
    total = 0
    with suppress(OSError):
        for file in path.iterdir() if path.is_dir() else [path]:
            with suppress(OSError):
                total += file.stat().st_size
    return total


def stamp_of(path: Path) -> Stamp | None:
    """Return what changes when a file is changed or replaced; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    # The inode too: another file in its place may have the same size and time.
    return found.st_ino, found.st_size, found.st_mtime_ns


def sync(path: Path) -> None:
    """Flush a file, or a folder's list of names, to the disk. Raises OSError."""
    if not _IS_POSIX and path.is_dir():
        return  # NTFS has its own journal for names
    # Windows flushes only a file that is open for writing.
    fd = os.open(path, os.O_RDONLY if _IS_POSIX else os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def do_all(steps: Iterable[Callable[[], None]]) -> None:
    """Do every step, also after one fails; then raise the first OSError."""
    failed: OSError | None = None
    for step in steps:
        try:
            step()
        except OSError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def try_lock(fd: int) -> bool:
    """Lock an open file until it is closed; return False if another program has locked it.

    Raises OSError on a file system without locks.
    """
    try:
        if _IS_POSIX:
            # flock, because a lockf lock is lost when this process closes any descriptor of the
            # file, as `lines` does.
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            # msvcrt locks from the current position. Later writes still go to the end (O_APPEND).
            os.lseek(fd, _FAR, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except BlockingIOError:
        return False
    # Windows raises this for a range that another process has locked.
    except PermissionError:
        if _IS_POSIX:
            raise
        return False
    return True


class GrowingFile:
    """A file open for appending; each write is done as a whole or not at all."""

    def __init__(self, path: Path, *, sync: bool = False, keep: bool = False) -> None:
        """Create the file, or with `keep` continue an existing one after its last whole line.

        With `sync`, each append is flushed to the disk. Raises OSError.
        """
        self._path = path
        self._sync = sync
        self._locked = False
        # A power cut can leave half a line at the end, which would corrupt the next line.
        self._size = _whole_lines(path) if keep else 0
        self._fd = _open(path, keep=keep)
        os.ftruncate(self._fd, self._size)

    def append(self, piece: bytes) -> None:
        """Write a piece at the end. Raises OSError; then no part of it is in the file."""
        try:
            # A write to a deleted file gives no error, and is lost.
            if not os.fstat(self._fd).st_nlink:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._path))
            _write(self._fd, piece)
            if self._sync:
                # Not fsync: only content and length matter, and the modification time would cost a
                # second write.
                getattr(os, "fdatasync", os.fsync)(self._fd)
        except OSError:
            # Back to the last whole piece. Truncating needs no space, so it works on a full disk.
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise
        self._size += len(piece)

    def replace(self, content: bytes) -> None:
        """Replace the content atomically. Raises OSError; then the old content stays."""
        self.rewrite((content,))

    def rewrite(self, pieces: Iterable[bytes]) -> None:
        """Replace the content by pieces that need not be in memory at once. Raises OSError."""
        # The lock is on the file, not on its name: lock the new file before it gets the name.
        if _IS_POSIX:
            fd, size = _replace(self._path, pieces, lock=self._locked)
            # Only now, so that after an error the old file is still open and keeps its name.
            os.close(self._fd)
            self._fd, self._size = fd, size
            return
        os.close(self._fd)  # Windows does not replace an open file
        self._fd = -1
        try:
            self._fd, self._size = _replace(self._path, pieces, lock=self._locked)
        finally:
            if self._fd < 0:
                self._fd = _open(self._path, keep=True)
                # If another process has locked the file meanwhile, write it without the lock.
                self._locked = self._locked and try_lock(self._fd)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that are in the file. Raises OSError."""
        # Opened again by name: the descriptor is only for writing.
        with self._path.open("rb") as file:
            yield from file

    def lock(self) -> None:
        """Lock the file against other daemons until this process ends, even by a crash.

        Raises BlockingIOError if another process has it.
        """
        try:
            self._locked = try_lock(self._fd)
        except OSError as error:  # a file system without locks
            log.warning("not locked", file=str(self._path), error=error.strerror)
            return
        if not self._locked:
            raise BlockingIOError(errno.EWOULDBLOCK, "another program writes it", str(self._path))

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


class WholeFile:
    """A file whose content is replaced as a whole, or never written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.content: bytes | None = None
        """The content to write at the next `flush`; None if there is none."""

    def flush(self) -> None:
        """Write `content`, if any. Raises OSError; then it is kept for the next attempt."""
        if self.content is not None:
            write_whole(self._path, self.content)
            # Only after success, so that a failed write is tried again.
            self.content = None

    def close(self) -> None:
        """Do nothing: the file is open only while it is written."""


class LineFile:
    """A file that grows by lines, with a queue for lines that could not be written yet."""

    def __init__(self, path: Path, *, sync: bool = False, keep: bool = False) -> None:
        self._file = GrowingFile(path, sync=sync, keep=keep)
        self._waiting: deque[bytes] = deque()
        self.lost = 0
        """Lines dropped because the queue was full."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, line: bytes) -> None:
        """Queue a line, with its line feed, for `flush`. A full queue loses its oldest line."""
        if len(self._waiting) == _WAITING:
            self._waiting.popleft()
            self.lost += 1
        self._waiting.append(line)

    def flush(self) -> None:
        """Write the queued lines. Raises OSError; lines not written stay queued."""
        while self._waiting:
            # Removed from the queue only after it is written: append may raise.
            self._file.append(self._waiting[0])
            self._waiting.popleft()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file, then the queued ones. Raises OSError."""
        yield from self._file.lines()
        yield from self._waiting

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to every line in one atomic step; b"" removes the line.

        Raises OSError; then nothing has changed.
        """
        # Checked first, because replacing costs a copy of the whole file and a sync.
        if any(change(line) != line for line in self.lines()):
            # The new file includes the queued lines, so that none is written twice.
            self._file.rewrite(changed for line in self.lines() if (changed := change(line)))
            self._waiting.clear()

    def sift(self, change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to the queued lines only; the file stays as it is."""
        self._waiting = deque(changed for line in self._waiting if (changed := change(line)))

    def lock(self) -> None:
        """Lock the file; see GrowingFile.lock."""
        self._file.lock()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _open(path: Path, *, keep: bool = False) -> int:
    # O_APPEND: after an undone write the next one begins at the new end, without a hole.
    # O_BINARY: otherwise Windows changes the line ends.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    return os.open(path, flags if keep else flags | os.O_TRUNC, 0o644)


def _whole_lines(path: Path) -> int:
    """Return the length of a file up to its last line feed, 0 if there is no file."""
    try:
        return path.read_bytes().rfind(b"\n") + 1
    except FileNotFoundError:
        return 0


def _replace(
    path: Path, pieces: Iterable[bytes], *, lock: bool = False, like: os.stat_result | None = None
) -> tuple[int, int]:
    """Replace a file atomically; return the new one's descriptor and size. Raises OSError.

    With `lock` it is locked before it gets its name; with `like` it has that mode and owner.
    """
    # In the same folder: a rename is atomic only within one file system. A fixed name is enough,
    # because one thread owns the file.
    temporary = path.with_name(f"{path.name}.tmp")
    fd, size = -1, 0
    try:
        fd = _open(temporary)
        if lock:
            # This cannot fail: the file is new.
            try_lock(fd)
        if like is not None and _IS_POSIX:  # before the content: it may be a secret
            os.fchown(fd, like.st_uid, like.st_gid)
            os.fchmod(fd, stat.S_IMODE(like.st_mode))
        for piece in pieces:
            _write(fd, piece)
            size += len(piece)
        os.fsync(fd)  # before the rename, else a power cut can leave an empty file with this name
        if not _IS_POSIX:  # Windows cannot rename an open file
            os.close(fd)
            fd = -1
        temporary.replace(path)
        if not _IS_POSIX:
            fd = _open(path, keep=True)
            if lock:
                try_lock(fd)
    except OSError:
        if fd >= 0:
            os.close(fd)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    # Without this sync a power cut can bring the old file back. The new file is already in place,
    # so the write does not fail if the file system cannot sync a folder.
    with suppress(OSError):
        sync(path.parent)
    return fd, size


def _write(fd: int, data: bytes) -> None:
    # os.write may write only a part: on a disk that fills up, or after a signal.
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]

"""Files: whole pieces or nothing, whatever the disk does."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pipeline.core import files
from pipeline.core.files import GrowingFile, LineFile, WholeFile, write_whole


def no_room(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_grows_and_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = GrowingFile(path, sync=True)
    file.append(b"one\n")
    reader = path.open("rb")  # has the old file open, as a player would
    file.replace(b"two\n")
    file.append(b"three\n")
    assert reader.read() == b"one\n"
    reader.close()
    assert path.read_bytes() == b"two\nthree\n"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    file.close()


def test_where_an_open_file_keeps_its_name_it_is_closed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, whose refusal to rename is simulated here."""
    path, replace = tmp_path / "file", Path.replace

    def as_windows(old: Path, new: Path) -> Path:
        opened = {os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()}
        if {str(old), str(new)} & opened:
            raise PermissionError(13, "The process cannot access the file")
        return replace(old, new)

    monkeypatch.setattr(files, "_IS_POSIX", False)
    monkeypatch.setattr(Path, "replace", as_windows)
    file = GrowingFile(path, sync=True)
    file.append(b"one\n")
    file.replace(b"two\n")
    file.append(b"three\n")
    assert path.read_bytes() == b"two\nthree\n"
    write_whole(tmp_path / "other", b"x")  # Windows cannot flush folders
    assert (tmp_path / "other").read_bytes() == b"x"

    def broken(old: Path, new: Path) -> Path:
        raise OSError(5, f"broken: {old}, {new}")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="broken"):
        file.replace(b"four\n")
    file.append(b"five\n")
    file.close()
    assert path.read_bytes() == b"two\nthree\nfive\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "other"]


def test_a_piece_that_does_not_fit_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    file = GrowingFile(path)
    file.append(b"whole\n")
    write = os.write

    def three_bytes_only(fd: int, data: memoryview) -> int:
        if path.stat().st_size >= 9:
            raise OSError(28, "No space left on device")
        return write(fd, data[:3])

    monkeypatch.setattr("os.write", three_bytes_only)
    with pytest.raises(OSError, match="No space left"):
        file.append(b"torn apart\n")
    assert path.read_bytes() == b"whole\n"
    monkeypatch.undo()
    file.append(b"next\n")
    assert path.read_bytes() == b"whole\nnext\n"
    file.close()


def test_a_deleted_file_is_not_written_to_in_silence(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "a")
    file.append(b"one")
    (tmp_path / "a").unlink()
    with pytest.raises(FileNotFoundError):
        file.append(b"two")
    file.replace(b"onetwo")
    file.append(b"three")
    file.close()
    assert (tmp_path / "a").read_bytes() == b"onetwothree"


def test_a_replacement_that_fails_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = GrowingFile(path)
    file.append(b"old\n")
    (tmp_path / "file.tmp").mkdir()  # in the way
    with pytest.raises(OSError, match="Is a directory"):
        file.replace(b"new\n")
    assert path.read_bytes() == b"old\n"
    file.append(b"more\n")
    assert path.read_bytes() == b"old\nmore\n"
    file.close()


def test_lines_wait_and_the_oldest_of_too_many_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_WAITING", 3)
    file = LineFile(tmp_path / "lines")
    for number in range(5):
        file.add(b"%d\n" % number)
    assert (len(file), file.lost) == (3, 2)
    assert (tmp_path / "lines").read_bytes() == b""
    file.flush()
    assert (tmp_path / "lines").read_bytes() == b"2\n3\n4\n"
    assert len(file) == 0
    file.close()


def test_a_whole_file_is_there_at_once_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "summary.json"
    file = WholeFile(path)
    file.flush()
    assert not path.exists()
    file.content = b"{}\n"
    with monkeypatch.context() as full:
        full.setattr(os, "write", no_room)
        with pytest.raises(OSError, match="No space left"):
            file.flush()
    assert list(tmp_path.iterdir()) == []
    file.flush()
    file.close()
    assert path.read_bytes() == b"{}\n"
    assert file.content is None


def test_a_file_written_whole_takes_over_mode_and_owner(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"token\n")
    path.chmod(0o600)
    write_whole(path, b"another\n", like=path.stat())
    write_whole(tmp_path / "new", b"one\n")
    assert path.read_bytes() == b"another\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").read_bytes() == b"one\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["config.toml", "new"]


def test_a_secret_is_never_readable_by_others_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"")
    path.chmod(0o600)
    write, modes = os.write, []

    def watched(fd: int, data: bytes) -> int:
        modes.append(os.fstat(fd).st_mode & 0o777)
        return write(fd, data)

    monkeypatch.setattr(os, "write", watched)
    write_whole(path, b"token\n", like=path.stat())
    assert modes == [0o600]


def test_a_folder_that_cannot_be_synced_fails_no_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def of_files_only(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(22, "Invalid argument")
        fsync(fd)

    monkeypatch.setattr(os, "fsync", of_files_only)
    write_whole(tmp_path / "file", b"one\n")
    assert (tmp_path / "file").read_bytes() == b"one\n"


def test_lines_are_rewritten_at_once_with_those_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines"
    file = LineFile(path)
    file.lock()
    for line in (b"one\n", b"two\n", b"three\n"):
        file.add(line)
        if line != b"three\n":
            file.flush()

    def without_two(line: bytes) -> bytes:
        return b"" if line == b"two\n" else line.replace(b"three", b"3")

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", no_room)
        with pytest.raises(OSError, match="No space"):
            file.rewrite(without_two)
    assert list(file.lines()) == [b"one\n", b"two\n", b"three\n"]
    assert [each.name for each in tmp_path.iterdir()] == ["lines"]
    file.rewrite(without_two)
    assert path.read_bytes() == b"one\n3\n"
    assert len(file) == 0
    inode = path.stat().st_ino
    file.rewrite(without_two)  # changes nothing
    assert path.stat().st_ino == inode
    other = LineFile(path, keep=True)
    with pytest.raises(BlockingIOError):
        other.lock()  # the new file is locked like the old one
    other.close()
    file.add(b"four\n")
    file.sift(lambda _: b"")
    file.flush()
    assert path.read_bytes() == b"one\n3\n"
    file.close()

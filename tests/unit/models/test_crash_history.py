"""Models that crash while they are loaded, remembered from one run to the next."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from pipeline.core.files import write_whole
from pipeline.models import crash_history
from pipeline.models.crash_history import CrashHistory


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    return file


def crashes(file: Path, model: Path) -> int:
    found = CrashHistory(file).of(model)
    return found.count if found else 0


def test_crashes_are_counted_and_outlive_the_program(tmp_path: Path, model: Path) -> None:
    file = tmp_path / "sessions" / "crashes.json"
    assert crashes(file, model) == 0
    for _ in range(3):
        CrashHistory(file).note(model, "crashed (SIGSEGV)")
    found = CrashHistory(file).of(model)
    assert found is not None
    assert (found.count, found.reason) == (3, "crashed (SIGSEGV)")
    assert found.utc.startswith("20")


def test_a_changed_file_is_another_model(tmp_path: Path, model: Path) -> None:
    file = tmp_path / "crashes.json"
    CrashHistory(file).note(model, "crashed")
    os.utime(model, (1, 1))
    assert crashes(file, model) == 0
    CrashHistory(file).note(model, "crashed")
    assert crashes(file, model) == 1
    model.write_bytes(b"GGUF more")
    os.utime(model, (1, 1))
    assert crashes(file, model) == 0


def test_a_folder_changes_with_any_file_in_it(tmp_path: Path) -> None:
    folder, file = tmp_path / "model", tmp_path / "crashes.json"
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"1")
    CrashHistory(file).note(folder, "crashed")
    assert crashes(file, folder) == 1
    (folder / "vocabulary.json").write_bytes(b"[]")
    assert crashes(file, folder) == 0


def test_a_model_that_loads_is_forgotten_and_no_other(tmp_path: Path, model: Path) -> None:
    file, other = tmp_path / "crashes.json", tmp_path / "other.gguf"
    for each in (model, other):
        CrashHistory(file).note(each, "crashed")
    CrashHistory(file).forget(model)
    assert (crashes(file, model), crashes(file, other)) == (0, 1)


def test_the_machines_next_boot_is_a_new_chance(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "crashes.json"
    CrashHistory(file).note(model, "crashed")
    (tmp_path / "boot").write_text("another")
    monkeypatch.setattr("pipeline.models.crash_history._BOOT", tmp_path / "boot")
    assert crashes(file, model) == 0


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b"{", b'{"%s": {"crashes": 3}}'])
def test_a_file_that_is_none_of_ours_remembers_nothing_and_is_replaced(
    content: bytes, tmp_path: Path, model: Path
) -> None:
    file = tmp_path / "crashes.json"
    file.write_bytes(content.replace(b"%s", str(model).encode()))
    assert crashes(file, model) == 0
    CrashHistory(file).note(model, "crashed")
    assert crashes(file, model) == 1


def test_where_nothing_can_be_written_or_read_nothing_breaks(tmp_path: Path, model: Path) -> None:
    (tmp_path / "file").touch()
    file = tmp_path / "file" / "crashes.json"
    CrashHistory(file).note(model, "crashed")
    assert crashes(file, model) == 0
    unreadable = tmp_path / ("m" * 300)  # as a folder of another user
    CrashHistory(tmp_path / "crashes.json").note(unreadable, "crashed")
    assert crashes(tmp_path / "crashes.json", unreadable) == 1


def test_two_engines_that_crash_at_once_are_both_remembered(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each engine has its own history object over the same file."""
    file, other = tmp_path / "crashes.json", tmp_path / "other.gguf"
    other.write_bytes(b"GGUF")

    def write_slowly(path: Path, content: bytes) -> None:
        time.sleep(0.05)
        write_whole(path, content)

    monkeypatch.setattr(crash_history, "write_whole", write_slowly)
    threads = [
        threading.Thread(target=CrashHistory(file).note, args=(each, "crashed"))
        for each in (model, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (crashes(file, model), crashes(file, other)) == (1, 1)

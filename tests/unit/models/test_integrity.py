"""Whether a model's files are those that were shipped or pulled."""

from __future__ import annotations

import hashlib
import shutil
import threading
from pathlib import Path

import pytest

from pipeline.models.integrity import (
    BackgroundHashing,
    loading_limit_s,
    wrong_files,
)
from pipeline.models.library import MANIFEST, Manifest, StoredFile
from pipeline.models.resolve import resolve


@pytest.fixture
def pulled(tmp_path: Path) -> Path:
    """A model of two files, as `models pull` leaves it."""
    folder = tmp_path / "model"
    folder.mkdir()
    files = {"model.bin": bytes(range(256)) * 4, "config.json": b"{}"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    stored = tuple(
        StoredFile(path=n, size_bytes=len(c), sha256=hashlib.sha256(c).hexdigest())
        for n, c in files.items()
    )
    manifest = Manifest(
        name="m", role="marian", repository="", revision="", pulled_utc="", files=stored
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json())
    return folder


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_a_whole_model_has_nothing_wrong(pulled: Path) -> None:
    read: list[int] = []
    assert wrong_files(pulled) == wrong_files(pulled, hashes=True, on_bytes=read.append) == []
    assert sum(read) == 1026


def test_a_bit_that_has_flipped_is_seen_by_the_hash_alone(pulled: Path) -> None:
    flip(pulled / "model.bin")
    assert wrong_files(pulled) == []
    (said,) = wrong_files(pulled, hashes=True)
    assert said == f"{pulled / 'model.bin'} has other content than it was made with"


def test_what_is_cut_or_gone_is_seen_by_its_size(pulled: Path) -> None:
    (pulled / "model.bin").write_bytes(b"x")
    (pulled / "config.json").unlink()
    assert (
        wrong_files(pulled)
        == wrong_files(pulled, hashes=True)
        == [
            f"{pulled / 'model.bin'} has 1 of 1024 bytes",
            f"{pulled / 'config.json'} is missing",
        ]
    )


def test_of_a_model_of_ones_own_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"x")
    assert wrong_files(tmp_path) == wrong_files(tmp_path / "a.gguf") == []


def unexpected(error: BaseException) -> None:
    raise error


def test_in_the_background_each_wrong_file_is_told(pulled: Path) -> None:
    flip(pulled / "model.bin")
    messages: list[str] = []
    hashing = BackgroundHashing([pulled, pulled, Path("/nowhere")], messages.append, unexpected)
    hashing.start()
    hashing._thread.join(20)
    hashing.stop()
    assert len(messages) == 1
    assert "Fetch or install it again" in messages[0]


def test_the_end_waits_for_one_piece_at_most(pulled: Path) -> None:
    """The second file is larger than one read and is not read to its end."""
    shutil.copyfile("/dev/null", pulled / "config.json")
    messages: list[str] = []
    begun = threading.Event()

    def tell(message: str) -> None:
        messages.append(message)
        begun.set()

    hashing = BackgroundHashing([pulled] * 2 + [pulled.parent], tell, unexpected)
    hashing.start()
    assert begun.wait(20)
    hashing.stop()
    assert not hashing._thread.is_alive()


def test_what_nobody_knows_has_the_time_that_a_slow_disk_needs(tmp_path: Path) -> None:
    own = tmp_path / "ours.gguf"
    own.write_bytes(b"x" * 1_000_000)
    assert loading_limit_s(resolve("gemma", "tiny")) == 600
    assert loading_limit_s(own) == pytest.approx(120.1)
    assert loading_limit_s(tmp_path) == pytest.approx(120.1), "a folder is all of its files"
    assert loading_limit_s(tmp_path / "gone.gguf") == 120

"""Whether a model's files are those that were shipped or pulled."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from pipeline.models.integrity import BackgroundHashing, loading_limit_s, wrong_files
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve
from tests.support.model_fixtures import damage, pulled


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of two files, as `models pull` leaves it."""
    pulled(tmp_path, "model", "marian", {"model.bin": bytes(1024), "config.json": b"{}"})
    return tmp_path / "model"


def test_a_flipped_bit_is_seen_by_the_hash_alone_and_what_is_gone_by_its_size(model: Path) -> None:
    read: list[int] = []
    assert wrong_files(model) == wrong_files(model, hashes=True, on_bytes=read.append) == []
    assert sum(read) == 1026
    damage(model / "model.bin")
    assert wrong_files(model) == []
    assert len(wrong_files(model, hashes=True)) == 1
    (model / "config.json").unlink()
    assert wrong_files(model) == [f"{model / 'config.json'} is missing"]


def test_a_file_in_a_folder_of_its_repository_is_known_as_well(tmp_path: Path) -> None:
    name = "owner/name/Q4/model.gguf"
    manifest = pulled(tmp_path, name, "gemma", {"Q4/model.gguf": b"1234"})
    file = ModelLibrary(tmp_path).path(manifest)
    assert loading_limit_s(file) == 600
    damage(file)
    (said,) = wrong_files(file, hashes=True)
    assert said.startswith(f"{file} has other content")
    own = file.with_name("own.gguf")
    own.touch()
    assert wrong_files(own, hashes=True) == []


def test_of_a_model_of_ones_own_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"x")
    assert wrong_files(tmp_path) == wrong_files(tmp_path / "a.gguf") == []


def unexpected(error: BaseException) -> None:
    raise error


def test_in_the_background_each_wrong_file_is_told(model: Path) -> None:
    damage(model / "model.bin")
    messages: list[str] = []
    hashing = BackgroundHashing([model, model, Path("/nowhere")], messages.append, unexpected)
    hashing.start()
    hashing._thread.join(20)
    hashing.stop()
    assert len(messages) == 1
    assert "Fetch or install it again" in messages[0]


def test_the_end_waits_for_one_piece_at_most(model: Path) -> None:
    """The second file is larger than one read and is not read to its end."""
    shutil.copyfile("/dev/null", model / "config.json")
    messages: list[str] = []
    begun = threading.Event()

    def tell(message: str) -> None:
        messages.append(message)
        begun.set()

    hashing = BackgroundHashing([model] * 2 + [model.parent], tell, unexpected)
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

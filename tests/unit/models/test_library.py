"""What a pull leaves on disk: manifests, faults, locks."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.models import library
from pipeline.models.library import ModelLibrary, digest, directory_of, nobody
from tests.support.model_fixtures import REVISION, damage, pulled


def test_a_manifest_says_what_must_be_there(tmp_path: Path) -> None:
    manifest = pulled(tmp_path, "ours", "stt", {"model.bin": b"1234", "config.json": b"{}"})
    assert ModelLibrary(tmp_path).manifest("ours") == manifest
    assert manifest.size_bytes == 6
    written = json.loads((tmp_path / "ours" / "manifest.json").read_text())
    assert written["revision"] == REVISION
    assert written["files"][0] == {
        "path": "model.bin",
        "size_bytes": 4,
        "sha256": "03ac674216f3e15c761ee1a5e255f067953623c8b388b4459e13f978d7c846f4",
    }
    assert ModelLibrary(tmp_path).names() == ["ours"]
    assert ModelLibrary(tmp_path).halves() == []


def test_nothing_there_is_nothing(tmp_path: Path) -> None:
    store = ModelLibrary(tmp_path / "none")
    assert store.manifest("ours") is None
    assert store.names() == store.halves() == []


@pytest.mark.parametrize("name", ["", "\\u0000"])
def test_a_broken_manifest_still_has_a_name(tmp_path: Path, name: str) -> None:
    pulled(tmp_path, "ours", "stt", {"model.bin": b"1234"})
    file = tmp_path / "ours" / "manifest.json"
    file.write_text(file.read_text().replace('"ours"', f'"{name}"') if name else "[]")
    assert ModelLibrary(tmp_path).names() == ["ours"]
    with pytest.raises(ModelError, match=r"\[model-broken\]"):
        ModelLibrary(tmp_path).manifest("ours")


def test_faults(tmp_path: Path) -> None:
    content = {"model.bin": b"x" * 3_000_000, "b": b"12", "c": b"12"}
    manifest = pulled(tmp_path, "ours", "stt", content)
    store, folder = ModelLibrary(tmp_path), tmp_path / "ours"
    read: list[int] = []
    assert store.faults(manifest, hashes=True, on_bytes=read.append) == []
    assert sum(read) == manifest.size_bytes
    assert len(read) > 3, "a big file is reported piece by piece"
    damage(folder / "model.bin")
    (folder / "b").write_bytes(b"123")
    (folder / "c").unlink()
    assert store.faults(manifest) == [
        f"{folder / 'b'} has 3 of 2 bytes",
        f"{folder / 'c'} is missing",
    ]
    changed = store.faults(manifest, hashes=True)[0]
    assert changed == f"{folder / 'model.bin'} has other content than it was made with"


def test_a_file_that_the_disk_does_not_give_back_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = pulled(tmp_path, "ours", "stt", {"model.bin": b"1", "b": b"2"})

    def unreadable(*_: object) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(library, "digest", unreadable)
    faults = ModelLibrary(tmp_path).faults(manifest, hashes=True)
    assert len(faults) == 2
    assert all(fault.endswith("cannot be read: Input/output error") for fault in faults)


def test_a_new_one_takes_the_old_ones_place(tmp_path: Path) -> None:
    pulled(tmp_path, "ours", "stt", {"model.bin": b"old", "gone": b""})
    with (tmp_path / "ours" / "model.bin").open("rb") as in_use:
        pulled(tmp_path, "ours", "stt", {"model.bin": b"new"})
        assert in_use.read() == b"old", "whoever has the old files open keeps them"
    assert sorted(f.name for f in (tmp_path / "ours").iterdir()) == ["manifest.json", "model.bin"]
    assert (tmp_path / "ours" / "model.bin").read_bytes() == b"new"
    assert ModelLibrary(tmp_path).halves() == []


def test_remove(tmp_path: Path) -> None:
    pulled(tmp_path, "ours", "stt", {"model.bin": b"1"})
    store = ModelLibrary(tmp_path)
    (store.partial("ours") / REVISION).mkdir(parents=True)
    assert store.halves() == ["ours"]
    store.remove("ours")
    assert store.names() == store.halves() == []
    with pytest.raises(ModelError, match=r"There is no ours in .*\[model-not-pulled\]"):
        store.remove("ours")


@pytest.mark.parametrize("name", ["..", ".", "", ".partial", "../x", "./x"])
def test_what_can_be_no_name_deletes_nothing(tmp_path: Path, name: str) -> None:
    pulled(tmp_path / "models", "ours", "stt", {"model.bin": b"1"})
    (tmp_path / "manifest.json").touch()
    with pytest.raises(ModelError, match=r"is no name of a model"):
        ModelLibrary(tmp_path / "models").remove(name)
    assert ModelLibrary(tmp_path / "models").names() == ["ours"]


def test_a_folder_of_ones_own_is_neither_replaced_nor_deleted(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "model.bin").write_bytes(b"trained for weeks")
    with pytest.raises(ModelError, match=r"is in the way.*\[models-unwritable\]"):
        pulled(tmp_path, "ours", "stt", {"model.bin": b"1"})
    with pytest.raises(ModelError, match=r"There is no another"):
        ModelLibrary(tmp_path).remove("another")
    ModelLibrary(tmp_path).remove("ours")  # removes what the pull had begun
    with pytest.raises(ModelError, match=r"There is no ours"):
        ModelLibrary(tmp_path).remove("ours")
    assert (tmp_path / "ours" / "model.bin").read_bytes() == b"trained for weeks"


def test_one_at_a_time(tmp_path: Path) -> None:
    store = ModelLibrary(tmp_path)
    with (
        store.lock("ours"),
        store.lock("another"),
        pytest.raises(ModelError, match=r"\[model-busy\]"),
        store.lock("ours"),
    ):
        pytest.fail("locked twice")
    with store.lock("ours"):
        pass


def test_a_place_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    closed = ModelLibrary(tmp_path / ("m" * 300))  # as a folder in another user's
    with pytest.raises(ModelError, match=r"cannot be read.*\[models-unreadable\]"):
        _ = closed.known
    (tmp_path / "file").touch()
    with (
        pytest.raises(ModelError, match=r"models\.directory.*\[models-unwritable\]"),
        ModelLibrary(tmp_path / "file").lock("ours"),
    ):
        pytest.fail("locked a folder inside a file")


def test_where_models_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    usual = tmp_path / ".local" / "share" / "stark-translate" / "models"
    assert directory_of("") == usual
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    assert directory_of("") == usual
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert directory_of("") == Path("/data/stark-translate/models")
    assert directory_of("/var/lib/models") == Path("/var/lib/models")
    assert directory_of("~/m") == tmp_path / "m"


def test_hashes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello\n")
    assert digest(tmp_path / "a", "sha1", nobody, b"blob 6\0") == (
        "ce013625030ba8dba906f756967f9e9ca394464a"
    ), "as `git hash-object` says"


def test_a_removal_that_is_cut_off_leaves_nothing_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled(tmp_path, "ours", "stt", {"model.bin": b"1"})
    store = ModelLibrary(tmp_path)

    def interrupted(folder: Path, **_: object) -> None:
        for manifest in folder.rglob("manifest.json"):
            manifest.unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr("shutil.rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.remove("ours")
    store.require_place("ours")
    store.remove("ours")
    assert store.names() == store.halves() == []


def test_a_disk_that_knows_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(library, "try_lock", refuse)
    pulled(tmp_path, "ours", "stt", {"model.bin": b"1"})
    ModelLibrary(tmp_path).remove("ours")
    assert ModelLibrary(tmp_path).names() == []


def test_a_manifest_is_on_the_disk_before_its_model_is_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []

    def fsync(fd: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{fd}").readlink().name)

    monkeypatch.setattr(os, "fsync", fsync)
    pulled(tmp_path, "ours", "stt", {"model.bin": b"1"})
    assert flushed[0] == "manifest.json.tmp"

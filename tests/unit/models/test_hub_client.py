"""One file over real sockets: cut off, resumed, wrong, endless."""

from __future__ import annotations

import errno
import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.models import hub_client
from pipeline.models.hub_client import HubFile, explain, get, may_pass, missing_file
from pipeline.models.library import PullProgress
from tests.support.hf_hub import COMMIT, Fault, Hub, hub_here, sha256

LARGE = random.Random(2).randbytes(1_000_000)
SMALL = b'{"a": 1}\n' * 100


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    files = {"model.bin": LARGE, "config.json": SMALL, "empty.txt": b"", "ä b/ñ.bin": b"12"}
    with hub_here({"church/model": files}) as hub:
        monkeypatch.setattr(hub_client, "_WAITS_S", (0.01, 0.01))
        yield hub


def described(hub: Hub, path: str) -> HubFile:
    """Return what the hub reports of a file: a large one's SHA-256, a small one's git hash."""
    data = hub.repositories["church/model"][path]
    url = f"{hub.endpoint}/church/model/resolve/{COMMIT}/{path}"
    if path.endswith(".bin"):
        return HubFile(url, path, len(data), sha256(data), "")
    blob = hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()
    return HubFile(url, path, len(data), "", blob)


class Counts:
    """The progress that a pull reports."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self.checked: list[int] = []
        self.watch = PullProgress(self.bytes.append, self.checked.append)


def asked(hub: Hub, name: str) -> list[str]:
    """Return the ranges requested from the storage or, for a small file, from the hub."""
    server = "storage" if name.endswith(".bin") else "hub"
    return [request.range for request in hub.asked(name) if request.server == server]


@pytest.mark.parametrize("path", ["model.bin", "config.json", "empty.txt", "ä b/ñ.bin"])
def test_a_file(hub: Hub, tmp_path: Path, path: str) -> None:
    counts, data = Counts(), hub.repositories["church/model"][path]
    stored = get(described(hub, path), tmp_path, tmp_path / "none", counts.watch)
    assert (stored.path, stored.size_bytes, stored.sha256) == (path, len(data), sha256(data))
    assert (tmp_path / path).read_bytes() == data
    assert sum(counts.bytes) == sum(counts.checked) == len(data)


def test_a_cut_connection_is_taken_up_where_it_was(hub: Hub, tmp_path: Path) -> None:
    hub.fault = Fault(file="model.bin", cut_after=300_000, cuts=2)
    counts = Counts()
    get(described(hub, "model.bin"), tmp_path, tmp_path / "none", counts.watch)
    assert (tmp_path / "model.bin").read_bytes() == LARGE
    assert sum(counts.bytes) == len(LARGE)
    first, *later = asked(hub, "model.bin")
    starts = [int(asked.removeprefix("bytes=").rstrip("-")) for asked in later]
    assert first == ""
    assert len(starts) == 2
    assert 300_000 <= starts[0] < starts[1]


@pytest.mark.slow
def test_as_long_as_something_comes_it_goes_on(hub: Hub, tmp_path: Path) -> None:
    hub.fault = Fault(file="model.bin", cut_after=1, cuts=9)
    get(described(hub, "model.bin"), tmp_path, tmp_path / "none", PullProgress())
    assert len(asked(hub, "model.bin")) == 10


def test_when_nothing_comes_any_more_it_gives_up_and_keeps_what_came(
    hub: Hub, tmp_path: Path
) -> None:
    (tmp_path / "model.bin").write_bytes(LARGE[:500])
    hub.fault = Fault(file="model.bin", cut_after=0, cuts=100)
    with pytest.raises(Exception, match="peer closed"):
        get(described(hub, "model.bin"), tmp_path, tmp_path / "none", PullProgress())
    assert asked(hub, "model.bin") == ["bytes=500-"] * 3
    assert (tmp_path / "model.bin").read_bytes() == LARGE[:500]


def test_a_server_that_knows_no_ranges_starts_anew(hub: Hub, tmp_path: Path) -> None:
    hub.fault = Fault(file="model.bin", cut_after=300_000, cuts=1, no_ranges=True)
    counts = Counts()
    get(described(hub, "model.bin"), tmp_path, tmp_path / "none", counts.watch)
    assert (tmp_path / "model.bin").read_bytes() == LARGE
    assert min(counts.bytes) < 0
    assert sum(counts.bytes) == len(LARGE)


def test_an_answer_that_only_claims_to_be_whole(hub: Hub, tmp_path: Path) -> None:
    hub.fault = Fault(file="config.json", short=True, no_ranges=True)
    with pytest.raises(ModelError, match=r"in the middle of config\.json.*\[connection-lost\]"):
        get(described(hub, "config.json"), tmp_path, tmp_path / "none", PullProgress())


@pytest.mark.parametrize("half", [b"x" * 500, b"x" * 2_000_000], ids=["shorter", "longer"])
def test_what_is_here_of_another_file(hub: Hub, tmp_path: Path, half: bytes) -> None:
    (tmp_path / "model.bin").write_bytes(half)
    with pytest.raises(ModelError, match=r"\[model-corrupt\]"):
        get(described(hub, "model.bin"), tmp_path, tmp_path / "none", PullProgress())
    get(described(hub, "model.bin"), tmp_path, tmp_path / "none", PullProgress())
    assert (tmp_path / "model.bin").read_bytes() == LARGE


@pytest.mark.slow
def test_an_answer_that_does_not_end_cannot_fill_the_disk(hub: Hub, tmp_path: Path) -> None:
    file, counts = described(hub, "config.json"), Counts()
    hub.repositories["church/model"]["config.json"] = b"x" * 20_000_000
    with pytest.raises(ModelError, match=r"config\.json.*\[model-corrupt\]"):
        get(file, tmp_path, tmp_path / "none", counts.watch)
    assert sum(counts.bytes) < 5_000_000


class TestWhatIsHere:
    def test_a_right_file_is_taken_over(self, hub: Hub, tmp_path: Path) -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "model.bin").write_bytes(LARGE)
        (tmp_path / "new").mkdir()
        counts = Counts()
        get(described(hub, "model.bin"), tmp_path / "new", tmp_path / "here", counts.watch)
        assert (tmp_path / "new" / "model.bin").read_bytes() == LARGE
        assert hub.requests == []
        assert sum(counts.bytes) == sum(counts.checked) == len(LARGE)

    @pytest.mark.parametrize("data", [LARGE[:-1], LARGE[:-1] + b"?"])
    def test_any_other_is_not(self, hub: Hub, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "model.bin").write_bytes(data)
        get(described(hub, "model.bin"), tmp_path, tmp_path / "here", PullProgress())
        assert (tmp_path / "model.bin").read_bytes() == LARGE
        assert (tmp_path / "here" / "model.bin").read_bytes() == data, "left as it is"

    def test_a_disk_without_links_copies(
        self, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(Path, "hardlink_to", refuse)
        self.test_a_right_file_is_taken_over(hub, tmp_path)


class ConnectError(Exception):
    """Like httpx2's error, for failures that no test can cause here."""

    __module__ = "httpx2"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk-full", "Make room"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk-full", "Make room"),
        (PermissionError(13, "Permission denied", "/models/x"), "models-unwritable", "/models/x"),
        (OSError(errno.EIO, "Input/output error"), "models-unwritable", "Check the disk"),
        (ConnectError("CERTIFICATE_VERIFY_FAILED"), "hub-unreachable", "SSL_CERT_FILE"),
        (ConnectError("Name or service not known"), "hub-unreachable", "HTTPS_PROXY"),
    ],
)
def test_every_error_gets_its_code_and_fix(error: Exception, code: str, says: str) -> None:
    explained = explain(error, "owner/name", "main")
    assert explained is not None
    assert explained.code == code
    assert says in f"{explained.message} {explained.fix}"


def test_our_own_mistakes_are_not_explained_away_nor_tried_again() -> None:
    assert explain(KeyError("x"), "owner/name", "main") is None
    assert not may_pass(KeyError("x"))
    assert not may_pass(OSError(errno.ENOSPC, "full"))


def test_the_page_is_that_of_the_hub_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert "https://huggingface.co/o/n/tree/main" in missing_file("o/n", "main", "f").fix
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror/")
    assert "http://mirror/o/n/tree/main" in missing_file("o/n", "main", "f").fix


class Answering:
    """A session whose server ignores the range and sends the whole file, a few bytes first.

    The session is also the response.
    """

    status_code = 200

    @contextmanager
    def stream(self, *_: object, **__: object) -> Iterator[Answering]:
        yield self

    def raise_for_status(self) -> None:
        pass

    def iter_bytes(self) -> Iterator[bytes]:
        yield LARGE[:100]
        yield LARGE[100:]


def test_starting_anew_near_the_end_is_not_taken_for_too_much(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.bin").write_bytes(LARGE[:-1])
    monkeypatch.setattr("huggingface_hub.get_session", Answering)
    # The first try must succeed: the connection has lost nothing.
    monkeypatch.setattr(hub_client, "_WAITS_S", ())
    get(described(hub, "model.bin"), tmp_path, tmp_path / "none", PullProgress())
    assert (tmp_path / "model.bin").read_bytes() == LARGE

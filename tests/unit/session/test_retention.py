"""Old sessions go by age and by room; the running one and what is not ours stay."""

from __future__ import annotations

import fcntl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.session.retention import prune

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
NAMES = ["2025-11-23T09-30-00", "2026-11-01T09-30-00", "2026-11-15T09-30-00", "2026-11-22T09-30-00"]


def session(directory: Path, name: str, size: int = 400_000) -> Path:
    folder = directory / name
    folder.mkdir(parents=True)
    (folder / "captions.jsonl").write_bytes(b"x" * size)
    return folder


@pytest.fixture
def four(tmp_path: Path) -> list[Path]:
    return [session(tmp_path, name) for name in NAMES]


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir())


def run(tmp_path: Path, *, keep_days: int = 0, keep_mb: int = 0, running: str = "") -> list[str]:
    gone = prune(
        tmp_path,
        keep_days=keep_days,
        keep_mb=keep_mb,
        running=tmp_path / (running or NAMES[-1]),
        now_utc=NOW,
    )
    return [path.name for path in gone]


def test_without_limits_everything_stays(tmp_path: Path, four: list[Path]) -> None:
    assert run(tmp_path) == []
    assert left(tmp_path) == NAMES


def test_what_is_past_its_age_goes(tmp_path: Path, four: list[Path]) -> None:
    assert run(tmp_path, keep_days=14) == NAMES[:2]
    assert left(tmp_path) == NAMES[2:]


def test_the_oldest_go_until_there_is_room(tmp_path: Path, four: list[Path]) -> None:
    assert run(tmp_path, keep_mb=1) == NAMES[:2]
    assert left(tmp_path) == NAMES[2:]


def test_the_running_session_never_goes(tmp_path: Path, four: list[Path]) -> None:
    assert run(tmp_path, keep_days=1, keep_mb=1, running=NAMES[0]) == NAMES[1:3]
    assert left(tmp_path) == [NAMES[0], NAMES[3]]


def test_what_another_daemon_writes_never_goes(tmp_path: Path, four: list[Path]) -> None:
    with (four[0] / "captions.jsonl").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert run(tmp_path, keep_days=14) == [NAMES[1]]


@pytest.mark.parametrize(
    "name", ["Christmas 2020", "2020-13-40T00-00-00", "2020-01-01T00-00-00.old"]
)
def test_what_is_not_named_as_ours_stays(tmp_path: Path, four: list[Path], name: str) -> None:
    session(tmp_path, name)
    run(tmp_path, keep_days=1, keep_mb=1)
    assert name in left(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = session(tmp_path / "elsewhere", "2020-01-01T00-00-00")
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    (sessions / "2020-01-01T00-00-00").symlink_to(precious)
    assert run(sessions, keep_days=1) == []
    assert (precious / "captions.jsonl").exists()


def test_without_a_folder_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert run(tmp_path / "none", keep_days=1, keep_mb=1) == []

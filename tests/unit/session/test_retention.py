"""Old sessions are removed by age and disk space; the running one and foreign files stay."""

from __future__ import annotations

import fcntl
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.church.notes.notes import Notes, written
from pipeline.church.notes.notes_files import read_notes
from pipeline.config.section import Session as SessionSettings
from pipeline.session.reader import session_name, start_utc
from pipeline.session.retention import discard_failed_start, discard_if_empty, prune
from tests.support.recorder import recorder, spoken

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
NAMES = ["2025-11-23T09-30-00", "2026-11-01T09-30-00", "2026-11-15T09-30-00", "2026-11-22T09-30-00"]


def session(directory: Path, name: str, size: int = 400_000) -> Path:
    folder = directory / name
    folder.mkdir(parents=True)
    (folder / "captions.jsonl").write_bytes(b"x" * size)
    written_s = NOW.timestamp() if (began := start_utc(name)) is None else began.timestamp()
    os.utime(folder / "captions.jsonl", (written_s, written_s))
    return folder


@pytest.fixture
def four(tmp_path: Path) -> list[Path]:
    return [session(tmp_path, name) for name in NAMES]


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir())


def run(
    tmp_path: Path,
    *,
    keep_days: int = 0,
    keep_mb: int = 0,
    running: str = "",
    now_utc: datetime = NOW,
) -> list[str]:
    keeping = SessionSettings(keep_days=keep_days, keep_mb=keep_mb)
    gone = prune(keeping, tmp_path / (running or NAMES[-1]), now_utc)
    return [path.name for path in gone]


@pytest.mark.parametrize(
    ("limits", "count"), [({}, 0), ({"keep_days": 14}, 2), ({"keep_mb": 1}, 2)]
)
def test_the_oldest_go_that_are_past_their_age_or_take_too_much_room(
    tmp_path: Path, four: list[Path], limits: dict[str, Any], count: int
) -> None:
    assert run(tmp_path, **limits) == NAMES[:count]
    assert left(tmp_path) == NAMES[count:]


def test_a_clock_that_is_years_ahead_removes_nothing_by_age(
    tmp_path: Path, four: list[Path]
) -> None:
    ahead = NOW + timedelta(days=3650)
    wrong = session(tmp_path, session_name(ahead))
    assert run(tmp_path, keep_days=365, running=wrong.name, now_utc=ahead) == []
    # Nor at the second start with the wrong clock.
    later = ahead + timedelta(hours=1)
    assert run(tmp_path, keep_days=365, running=session_name(later), now_utc=later) == []
    assert left(tmp_path) == [*NAMES, wrong.name]


def test_after_years_without_a_service_the_old_ones_go_when_the_new_ones_are_old_enough(
    tmp_path: Path, four: list[Path]
) -> None:
    again = NOW + timedelta(days=800)
    first = session(tmp_path, session_name(again))
    second = again + timedelta(days=14)
    assert run(tmp_path, keep_days=7, running=session_name(again), now_utc=again) == []
    gone = run(tmp_path, keep_days=7, running=session_name(second), now_utc=second)
    assert gone == [*NAMES, first.name]


def test_a_session_begun_before_the_clock_was_set_is_as_old_as_its_journal(tmp_path: Path) -> None:
    unset = session(tmp_path, "1970-01-01T00-00-12")
    os.utime(unset / "captions.jsonl", (NOW.timestamp() - 60, NOW.timestamp() - 60))
    session(tmp_path, NAMES[-1])
    assert run(tmp_path, keep_days=365) == []


def test_the_running_session_never_goes(tmp_path: Path, four: list[Path]) -> None:
    assert run(tmp_path, keep_days=1, keep_mb=1, running=NAMES[0]) == NAMES[1:3]
    assert left(tmp_path) == [NAMES[0], NAMES[3]]


def test_what_another_daemon_writes_never_goes(tmp_path: Path, four: list[Path]) -> None:
    with (four[0] / "captions.jsonl").open("ab") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        assert run(tmp_path, keep_days=14) == [NAMES[1]]


@pytest.mark.parametrize(
    "name", ["Christmas 2020", "2020-13-40T00-00-00", "2020-01-01T00-00-00.old"]
)
def test_what_is_not_named_as_ours_stays(tmp_path: Path, four: list[Path], name: str) -> None:
    session(tmp_path, name)
    run(tmp_path, keep_days=1, keep_mb=1)
    assert name in left(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = session(tmp_path / "elsewhere", "2020-01-01T00-00-00")
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    (sessions / "2020-01-01T00-00-00").symlink_to(target)
    assert run(sessions, keep_days=1) == []
    assert (target / "captions.jsonl").exists()


def test_without_a_folder_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert run(tmp_path / "none", keep_days=1, keep_mb=1) == []


def with_notes(folder: Path, name: str) -> Path:
    (folder / "notes.toml").write_text(written(Notes(names=(name,)), "a.txt"), "utf-8")
    return folder


def test_a_day_on_which_nothing_happened_gives_its_notes_back(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    assert made.close(60)
    with_notes(made.folder, "Bonhoeffer")
    with_notes(tmp_path, "Barth")  # added later
    assert discard_if_empty(made.folder)
    assert not made.folder.exists()
    assert read_notes(tmp_path / "notes.toml").names == ("Bonhoeffer", "Barth")


def test_notes_that_cannot_be_given_back_keep_their_session(tmp_path: Path) -> None:
    made = recorder(tmp_path)
    assert made.close(60)
    with_notes(made.folder, "Bonhoeffer")
    (tmp_path / "notes.toml").write_text("names = [", "utf-8")  # somebody is editing it
    assert not discard_if_empty(made.folder)
    assert read_notes(made.folder / "notes.toml").names == ("Bonhoeffer",)


def test_a_failed_start_goes_unless_somebody_spoke_or_its_record_is_still_written(
    tmp_path: Path,
) -> None:
    failed = recorder(tmp_path / "failed")
    discard_failed_start(failed.folder)
    assert failed.folder.exists(), "its recorder has it"
    assert failed.close(60)
    discard_failed_start(failed.folder)
    assert not failed.folder.exists()
    used = recorder(tmp_path / "used")
    used.record(spoken(1))
    assert used.close(60)
    discard_failed_start(used.folder)
    assert used.folder.exists()

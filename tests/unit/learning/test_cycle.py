"""The schedule: which commands are due, when they wait, and what ends them."""

from __future__ import annotations

import fcntl
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.core.errors import LearningError
from pipeline.learning import cycle
from pipeline.learning.cycle import QUIET_S, Step, is_serving, keep_focus, plan, read_focus, run
from pipeline.learning.data.folder import DataFolder
from pipeline.session.reader import JOURNAL
from tests.support.services import GOOD, STARTED, hold


def due(train: str, *, monthly: bool) -> list[tuple[str, ...]]:
    settings = load(flags={"learn.train": train}).settings
    return [step.words for step in plan(settings, Path("learning"), train=monthly)]


def test_every_week_it_collects_and_every_month_it_trains_what_the_user_chose() -> None:
    weekly = due("both", monthly=False)
    assert [words[1] for words in weekly] == ["collect", "focus"]
    assert due("", monthly=True) == weekly
    names = [words[1] for words in due("both", monthly=True)[2:]]
    assert names == ["mix", "translate", "compare", "hear", "compare"]
    assert [words[1] for words in due("stt", monthly=True)[2:]] == ["hear", "compare"]
    assert not any("deploy" in words for words in due("both", monthly=True))


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def test_it_waits_while_a_service_is_going_on(sessions: Path) -> None:
    journal = hold(sessions, [GOOD]) / JOURNAL
    assert not is_serving(sessions), "it is over"
    with journal.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert is_serving(sessions)
        with pytest.raises(LearningError) as raised:
            run([Step(("learn", "focus"))], [], directory=sessions, on_step=print)
        assert raised.value.code == "service-running"
        hold(sessions, [GOOD], started=STARTED + timedelta(hours=1))
        assert is_serving(sessions), "a rehearsal has begun and ended meanwhile"
        os.utime(journal, (0, time.time() - QUIET_S - 1))
        assert not is_serving(sessions), "the machine is on, but nobody has spoken for long"


def test_without_sessions_nothing_is_going_on(sessions: Path) -> None:
    assert not is_serving(sessions)
    (sessions / "2026-11-22T09-30-00").mkdir(parents=True)
    assert not is_serving(sessions)


@pytest.mark.slow
def test_a_step_that_fails_leaves_the_others(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands are real and end at once; `reload` finds no token and exits with 1."""
    monkeypatch.chdir(sessions.parent)
    steps = [
        Step(("config", "--no-such-option")),
        Step(("reload", "--sessions", "none", "--port", "1"), may_say_no=True),
        Step(("config",)),
    ]
    begun: list[Step] = []
    failed = run(steps, [], directory=sessions, on_step=begun.append)
    assert begun == steps
    assert failed == steps[:1]


@pytest.mark.slow
def test_a_service_that_begins_ends_the_step(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is real and serves until SIGTERM."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cycle, "_LOOK_S", 0.5)
    hold(tmp_path / "elsewhere", [GOOD])
    journal = hold(sessions, [GOOD]) / JOURNAL
    with journal.open("rb+") as file, pytest.raises(LearningError) as raised:
        run(
            [Step(("replay", "last", "--sessions", "elsewhere", "--port", "0"))],
            [],
            directory=sessions,
            on_step=lambda _: fcntl.flock(file, fcntl.LOCK_EX),
        )
    assert raised.value.code == "service-running"


def test_the_focus_is_kept_for_the_dashboard(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    assert read_focus(data) is None
    assert keep_focus(data, tmp_path) == read_focus(data)
    (tmp_path / "focus.json").write_text("{")
    with pytest.raises(LearningError) as raised:
        read_focus(data)
    assert raised.value.code == "focus-unreadable"

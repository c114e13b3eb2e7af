"""`run` and `dry-run`, as far as they go without a second process."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
import structlog
from websockets.asyncio.client import connect
from websockets.sync.client import connect as at_desk

from pipeline.cli.commands.run import TRIAL, _finish, _hold_sessions, _say_models
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core.types import Mode
from pipeline.daemon.life.app import App
from pipeline.daemon.life.supervisor import NewDay
from scripts.support.journal import session
from tests.support.cli import Cli
from tests.support.daemon import DURATION_S, SCRIPT, Service, all_finals
from tests.support.fakes import FakeSource, pcm_of
from tests.support.model_fixtures import pulled, starter_files
from tests.support.patience import wait_for

pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.fixture(autouse=True)
def _engines_may_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an engine still loads at the end, the program ends this process with os._exit."""
    monkeypatch.setenv("STARK_TRANSLATE__SESSION__DRAIN_S", "300")


@pytest.mark.slow
def test_a_service_is_not_compared_and_says_so(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE", "marian")
    for command, warns in (("run", True), ("dry-run", False)):
        output = cli(f"{command} --input nowhere.wav --port 0", code=1).err
        assert ("translate.compare is for rehearsals" in output) is warns


def test_a_second_translator_that_is_not_there_is_named_by_its_own_key(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE", "gemma")
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__MODEL", "/nowhere/other.gguf")
    output = cli("dry-run --input nowhere.wav --port 0", code=1).err
    assert "translate.compare.model" in output
    assert "translate.final" not in output


@pytest.mark.slow
def test_run_says_what_it_runs_on_and_what_would_be_better_and_nothing_where_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("STARK_TRANSLATE__MODELS__DIRECTORY", str(tmp_path))
    output = cli("run --input nowhere.wav --port 0", code=1).err
    assert '"recognizer":"starter"' in output
    (advice,) = [line for line in output.splitlines() if "models pull whisper-base" in line]
    assert "synthetic voices" in advice
    pulled(tmp_path, "whisper-base", "stt", starter_files("stt"))
    output = cli("run --input nowhere.wav --port 0", code=1).err
    assert '"recognizer":"whisper-base"' in output
    assert "models pull" not in output


@pytest.mark.usefixtures("own_final_model")
@pytest.mark.parametrize(
    ("mode", "recording", "warned"),
    [("live", "", 1), ("live", "sermon.wav", 0), ("dry-run", "", 0)],
)
def test_a_service_on_the_translator_that_ships_is_warned_of(
    mode: Mode, recording: str, warned: int
) -> None:
    settings = load(flags={"audio.input": recording, "stt.model": "whisper-base"}).settings
    with structlog.testing.capture_logs() as logs:
        _say_models(settings, mode)
    assert [each["reason"] for each in logs if each["event"] == "starter"] == [TRIAL] * warned


def watch_until_a_second_session(
    port: int, seen: list[dict[str, Any]], strike: Callable[[], None]
) -> None:
    """Act as a display that reconnects whenever it is cut off, as the pages do.

    Call `strike` after the first session's last final.
    """

    async def watch() -> None:
        while len({each["session"] for each in seen if each["type"] == "hello"}) < 2:
            try:
                async with connect(f"ws://127.0.0.1:{port}/ws", compression=None) as display:
                    async for raw in display:
                        seen.append(orjson.loads(raw))
                        if seen[-1].get("id") == len(SCRIPT) and seen[-1]["final"]:
                            strike()
                        if seen[-1].get("state") == "listening" and len(sessions_of(seen)) == 2:
                            break
            except OSError:
                await asyncio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    asyncio.run(watch())


def sessions_of(seen: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(each["session"] for each in seen if each["type"] == "hello"))


def ask_for_a_new_session(port: int) -> None:
    """Act as a desk whose button somebody holds."""
    messages = ({"type": "auth", "token": "secret"}, {"type": "command", "name": "new-session"})
    with at_desk(f"ws://127.0.0.1:{port}/ws?kind=operator", compression=None) as desk:
        for message in messages:
            desk.send(orjson.dumps(message).decode())
        while orjson.loads(desk.recv(timeout=20)).get("name") != "new-session":
            pass


@pytest.mark.slow
@pytest.mark.parametrize("is_asked", [False, True], ids=["", "asked"])
def test_at_the_quiet_hour_a_new_session_begins_and_the_old_one_gets_its_report(
    is_asked: bool, tmp_path: Path
) -> None:
    """The real daemon's day began two days ago, or an operator asks. Displays reconnect."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    held: list[Service] = []

    def begin(_: Settings) -> App:
        source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=20, hold=True)
        held.append(Service(tmp_path, source=source, fast=False, flags={"server.port": port}))
        return held[-1].app

    def strike() -> None:
        if is_asked:
            ask_for_a_new_session(port)
            return
        begun = datetime.now().astimezone() - timedelta(days=2)
        held[0].app._supervisor._day = NewDay(begun, quiet_s=0.5)

    seen: list[dict[str, Any]] = []
    display = threading.Thread(target=watch_until_a_second_session, args=(port, seen, strike))
    display.start()
    app, code = _hold_sessions(begin, load(flags={"server.port": port}).settings)
    display.join(30)
    first, second = held
    assert (app, code) == (second.app, 0)
    assert sessions_of(seen) == [first.app.folder.name, second.app.folder.name]
    joined = next(i for i, m in enumerate(seen) if m.get("session") == sessions_of(seen)[1])
    assert "ended" not in {m.get("state") for m in seen[:joined]}
    assert first.finals() == all_finals("gemma"), "nothing of the old one is lost"
    assert first.records("event")[-1]["event"] == "end"
    report = first.app.folder / "report.html"
    wait_for(report.exists)
    assert "sentence number one" in report.read_text(encoding="utf-8")


def test_a_session_of_a_silent_day_leaves_nothing(tmp_path: Path) -> None:
    """The one of a day with speech has its report: above."""
    silent = session(tmp_path, [], records=[])
    _finish(silent)
    assert not silent.exists()

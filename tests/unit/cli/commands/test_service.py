"""`status`, `stop`, `logs` and `open` beside a running program."""

from __future__ import annotations

import errno
import signal
import socket
import time
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import psutil
import pytest

from pipeline.cli.commands.service import UNIT, lines
from pipeline.cli.main import main
from pipeline.config.schema import Server
from pipeline.core.files import try_lock
from pipeline.records.events import EndEvent
from pipeline.server.addresses import unbound
from pipeline.session.reader import JOURNAL
from scripts.support.journal import message, session
from scripts.support.program import Program, started
from tests.support.cli import Cli
from tests.support.programs import put_program

HEALTH = {
    "state": "no-audio",
    "reason": "the microphone is gone",
    "mode": "dry-run",
    "session": "2026-11-22T09-30-00",
    "uptime_s": 90.0,
    "source": "Mixer",
    "recognizer": "whisper:whisper-base",
    "lag_s": 0.44,
    "setback": "the final translator is replaced",
    "clients": {"audience": 12, "projector": 1, "operator": 0},
}
SYSTEMCTL = """\
[ "$1" = show ] && exec printf 'LoadState=loaded\\nActiveState=active\\nMainPID=%s\\n' "$UNIT_PID"
echo "$@" >> asked
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ended = EndEvent(utc="2026-11-22T09:31:00.000Z", unfinished=2, audio_s=60.0)
    session(tmp_path / "sessions", [message(1, "Grace", "Gracia")], records=[ended])
    (tmp_path / "sessions" / "operator-token").write_text("se-cret\n")
    return tmp_path


def port_of(program: Program) -> str:
    program.wait_for("serving")
    return program.address.rpartition(":")[2]


def test_status_says_what_matters() -> None:
    first, *others = lines(HEALTH, "http://127.0.0.1:1/", None)
    assert first.startswith("no-audio the microphone is gone (dry-run): session 2026-11-22T09-30")
    assert others == [
        "hears Mixer with whisper:whisper-base, 0.4 s behind",
        "setback: the final translator is replaced",
        "pages: http://127.0.0.1:1/ (12 audience, 1 projector)",
    ]


@pytest.mark.slow
def test_a_running_program_is_described_opened_and_ended(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    with started("replay", cwd=folder) as program:
        port = port_of(program)
        output = cli("status --port", port).out
        assert f"process {program.process.pid}" in output
        assert "session replay-2026-11-22T09-30-00" in output
        cli("open wall --port", port, "--browser")
        cli("open --port", port, "--browser")
        assert pages[0] == f"http://127.0.0.1:{port}/projector"
        assert pages[1].endswith("/open-operator.html"), "no token on the browser's command line"
        # As after Ctrl-Z: the program answers nobody, and `stop` still ends it.
        program.process.send_signal(signal.SIGSTOP)
        suspended = psutil.Process(program.process.pid)
        program.until(lambda: suspended.status() == psutil.STATUS_STOPPED)
        taken = unbound(Server(port=int(port)), OSError(errno.EADDRINUSE, "taken"))
        assert "Ctrl-Z" in taken.message
        cli("stop --port", port)
        assert program.end() == 0
    assert "`stark-translate run` starts one." in cli("status --port", port, code=1).err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "ends"),
    [
        ("status", (1, "`stark-translate run` starts one.")),
        ("terminate", (0, "Ended: session replay-2026-11-22T09-30-00.")),
    ],
)
def test_a_program_that_ends_by_itself_meanwhile_needs_no_stop(
    moment: str,
    ends: tuple[int, str],
    folder: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, says = ends
    with started("replay", cwd=folder) as program:
        port = port_of(program)
        act = getattr(psutil.Process, moment)

        def ends_first(process: psutil.Process) -> object:
            program.process.kill()
            program.end()
            return act(process)

        monkeypatch.setattr(psutil.Process, moment, ends_first)
        assert says in "".join(cli("stop --port", port, code=code))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "commands"),
    [
        ("", [f"stop {UNIT}", f"-u {UNIT} -e"]),
        # `stark-translate install` makes a unit of the user's own systemd.
        (
            "[ \"$1$2\" = show-p ] && exec printf 'LoadState=not-found\\n'\n",
            [f"stop --user {UNIT}", f"--user -u {UNIT} -e"],
        ),
    ],
    ids=["the machine's", "the user's"],
)
def test_what_systemd_has_started_systemd_ends(
    before: str, commands: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """After a signal systemd would start it again."""
    put_program(folder, before + SYSTEMCTL, monkeypatch, "systemctl", "journalctl")
    with started("replay", cwd=folder) as program:
        port = port_of(program)
        monkeypatch.setenv("UNIT_PID", str(program.process.pid))
        cli("stop --port", port)
        assert program.process.poll() is None
        monkeypatch.setenv("UNIT_PID", "1")
        cli("stop --port", port)
        assert program.end() == 0
    cli("logs")
    assert (folder / "asked").read_text().splitlines() == commands


@pytest.mark.parametrize("active", ["machine", "user"])
def test_of_two_services_the_running_one_is_meant(
    active: str, folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`logs` showed the machine's, which had not run for weeks; `status` advised to start it."""
    shows = """\
case "$1$2" in
  show--user) is=$USERS ;;
  show*) is=$MACHINES ;;
  *) echo "$@" >> asked; exit ;;
esac
printf 'LoadState=loaded\\nActiveState=%s\\nMainPID=1\\n' $is
"""
    put_program(folder, shows, monkeypatch, "systemctl", "journalctl")
    monkeypatch.setenv("MACHINES", "active" if active == "machine" else "inactive")
    monkeypatch.setenv("USERS", "active" if active == "user" else "inactive")
    output = cli("logs").err
    scope, whose = ("", "the machine's") if active == "machine" else ("--user ", "this user's")
    assert (folder / "asked").read_text() == f"{scope}-u {UNIT} -e\n"
    assert f"this is {whose}" in output
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    assert "systemctl" not in cli("status --port", port, code=1).err


def test_without_systemd_the_events_of_a_session_are_shown(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    assert "end        unfinished=2 audio_s=60.0" in cli("logs").out


def test_the_events_of_a_session_are_followed_until_it_ends(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that goes off the record meanwhile hides no later one."""
    monkeypatch.setenv("PATH", str(folder))
    parts: list[str] = []
    (going_on,) = (folder / "sessions").glob("2*")
    with (going_on / JOURNAL).open("rb") as held, ThreadPoolExecutor(1) as aside:
        assert try_lock(held.fileno())
        following = aside.submit(main, ["logs", "-f"])
        while "audio_s=60.0" not in "".join(parts):
            parts.append(capsys.readouterr().out)
            time.sleep(0.01)
        again = EndEvent(utc="2026-11-22T09:41:00.000Z", unfinished=0, audio_s=90.0)
        (folder / "filtered").write_bytes(orjson.dumps(again) + b"\n")
        (folder / "filtered").replace(going_on / "diagnostics.jsonl")
        held.close()
        assert following.result(30) == 0
    parts.append(capsys.readouterr().out)
    assert "".join(parts).count("audio_s=60.0") == "".join(parts).count("audio_s=90.0") == 1

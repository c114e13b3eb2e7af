"""`install`: the files that start the service, read by each system's own parser."""

from __future__ import annotations

import os
import plistlib
import shlex
import subprocess
import sys
from pathlib import Path, PureWindowsPath
from xml.etree import ElementTree as ET

import pytest

from pipeline.cli.commands import install
from pipeline.cli.commands.install import entry_for
from tests.support.cli import Cli
from tests.support.needs import needs_program
from tests.support.programs import put_program

CONFIG = Path("/home/a b/100% church/config.toml")
RUN = ["-P", "-m", "pipeline", "run", "--config"]


@pytest.fixture
def church(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with settings, its own home, and a systemctl that records its arguments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "config.toml").write_text("")
    (tmp_path / "bin").mkdir()
    put_program(tmp_path / "bin", f'echo "$@" >>{tmp_path}/asked', monkeypatch, "systemctl")
    monkeypatch.setattr(install, "SYSTEM_UNIT", tmp_path / "none")
    return tmp_path


def test_a_systemd_unit(church: Path, cli: Cli) -> None:
    cli("install")
    unit = church / "home" / ".config" / "systemd" / "user" / "stark-translate.service"
    (start,) = (
        line.partition("=")[2]
        for line in unit.read_text("utf-8").splitlines()
        if line.startswith("ExecStart=")
    )
    assert shlex.split(start) == [sys.executable, *RUN, str(church / "config.toml")]
    commands = "--user daemon-reload\n--user enable --now stark-translate\n"
    assert (church / "asked").read_text() == commands
    cli("uninstall")
    assert not unit.exists()
    assert (church / "asked").read_text() == f"{commands}--user disable --now stark-translate\n"
    assert (church / "config.toml").exists()
    assert cli("uninstall").out == "Nothing was installed.\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["100% a church", "St.Mary's", 'the"best"one'])
def test_systemd_finds_no_fault_in_it(tmp_path: Path, name: str) -> None:
    needs_program("systemd-analyze")
    folder = tmp_path / name
    folder.mkdir()
    entry = entry_for("linux", folder / "config.toml", python=Path(sys.executable), home=tmp_path)
    unit = tmp_path / entry.file.name
    unit.write_bytes(entry.content)
    verify = ["systemd-analyze", "--user", "verify", str(unit)]
    # Without this folder it reads nothing, and finds no fault in anything.
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(verify, capture_output=True, text=True, check=False, env=env)
    assert [line for line in done.stderr.splitlines() if unit.name in line] == []


def test_a_launchd_agent() -> None:
    python = Path("/opt/py/bin/python3")
    entry = entry_for("macos", CONFIG, python=python, home=Path("/Users/ann"))
    agent = plistlib.loads(entry.content)
    assert entry.file == Path("/Users/ann/Library/LaunchAgents/org.stark-translate.plist")
    assert agent["ProgramArguments"] == [str(python), *RUN, str(CONFIG)]
    assert agent["WorkingDirectory"] == str(CONFIG.parent)
    assert agent["RunAtLoad"] is True
    assert f"{agent['Label']}.plist" == entry.file.name
    assert entry.off[0][-1].endswith(agent["Label"])


def test_a_task_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    entry = entry_for("windows", CONFIG, python=Path("/py/python.exe"), home=Path("/Users/ann"))
    assert entry.content.startswith((b"\xff\xfe", b"\xfe\xff")), "as schtasks wants it"
    task = ET.fromstring(entry.content)
    names = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}
    read = {
        name: task.findtext(f"t:Actions/t:Exec/t:{name}", "", names)
        for name in ("Command", "Arguments", "WorkingDirectory")
    }
    assert PureWindowsPath(read["Command"]).name == "pythonw.exe"
    assert read["Arguments"] == f'{" ".join(RUN)} "{CONFIG}"'
    assert read["WorkingDirectory"] == str(CONFIG.parent)
    assert task.find("t:Triggers/t:LogonTrigger", names) is not None
    assert task.findtext("t:Settings/t:ExecutionTimeLimit", "", names) == "PT0S"
    order = [each.tag.partition("}")[2] for each in task]
    assert order == ["RegistrationInfo", "Triggers", "Principals", "Settings", "Actions"]


@pytest.mark.parametrize("system", ["linux", "macos", "windows"])
def test_it_can_be_looked_at_first(church: Path, cli: Cli, system: str) -> None:
    output = cli("install --print --system", system)
    assert str(church / "config.toml") in output.out
    config, home = church / "config.toml", church / "home"
    entry = entry_for(system, config, python=Path(sys.executable), home=home)
    assert entry.file.name in output.err
    assert not (church / "home").exists()


def test_what_cannot_be_installed_is_refused(
    church: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    assert "--print" in cli("install --system macos", code=2).err
    (church / "none").touch()  # the system-wide service
    assert "all users" in cli("install", code=2).err
    (church / "config.toml").write_text("[server]\nport = 0.5\n")
    assert "server.port" in cli("install", code=78).err
    (church / "config.toml").unlink()
    monkeypatch.setattr("pipeline.config.loader.SYSTEM_FILE", church / "none-either")
    assert "setup" in cli("install", code=2).err


def test_a_system_that_does_not_take_it_is_named(church: Path, cli: Cli) -> None:
    (church / "bin" / "systemctl").write_text("#!/bin/sh\necho no bus >&2; exit 1\n")
    output = cli("install", code=1)
    assert "no bus" in output.err
    assert "not started" in output.out

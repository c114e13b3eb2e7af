"""`install`, `uninstall`: start the service automatically when the user logs in.

The file depends on the system: a systemd user unit, a launchd agent or a Windows task.
`scripts/install.sh` installs a service for the whole machine, on Linux.
"""

from __future__ import annotations

import argparse
import os
import plistlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from pipeline.cli.options import Commands, add_command, settings_of
from pipeline.config.loader import file_in_force
from pipeline.core.errors import SessionError, UsageError, writing

_NAME = "stark-translate"
_LABEL = "org.stark-translate"
SYSTEM_UNIT = Path("/etc/systemd/system") / f"{_NAME}.service"
"""Where scripts/install.sh puts the service of the whole machine."""
_SAYS = "Start the service by itself when you log in to this computer (--print shows how)."
_MORE = """\
Run it in the folder of config.toml, where `stark-translate run` works. What it writes is one file:
  Linux     ~/.config/systemd/user/stark-translate.service
  macOS     ~/Library/LaunchAgents/org.stark-translate.plist
  Windows   a task of the Task Scheduler, from %LOCALAPPDATA%\\stark-translate\\task.xml
`stark-translate uninstall` takes it away; settings, models and sessions stay.
exit codes: 0 done, 1 written, but the system does not take it
"""
_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}
_TASK = "http://schemas.microsoft.com/windows/2004/02/mit/task"
_UNIT = """\
# Written by `stark-translate install`.
[Unit]
Description=Live sermon captions (stark-translate)
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
WorkingDirectory={folder}
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
# Models are loaded first, from a slow disk perhaps.
TimeoutStartSec=10min
TimeoutStopSec=30s
WatchdogSec=30s
Restart=always
RestartSec=2s
# Wrong settings, or a model that crashes: starting again mends neither.
RestartPreventExitStatus=70 78
KillMode=mixed
OOMPolicy=continue
LimitCORE=0
SuccessExitStatus=0 SIGTERM
Environment=PYTHONUNBUFFERED=1

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What starts the service on one system."""

    file: Path
    content: bytes
    """The content of the file, in the system's own format."""
    on: tuple[tuple[str, ...], ...]
    """Commands that register the file with the system."""
    off: tuple[tuple[str, ...], ...]
    """Commands that unregister the file."""
    hint: str = ""
    """What else the user may want to do."""


def add(commands: Commands) -> None:
    for name, run, says in (
        ("install", _install, _SAYS),
        ("uninstall", _uninstall, "Take away what `install` has written; all else stays."),
    ):
        parser = add_command(commands, name, run, says, _MORE if name == "install" else "")
        only = "show the file and the commands, and change nothing"
        parser.add_argument("--print", "--dry-run", dest="only", action="store_true", help=only)
        of = "another system's file, for --print"
        parser.add_argument("--system", choices=sorted(_SYSTEMS.values()), help=of)


def _install(arguments: argparse.Namespace) -> int:
    settings_of(arguments)  # a service with wrong settings would not start
    file = arguments.config or file_in_force()
    if file is None:
        raise UsageError(
            "config-missing",
            "There is no config.toml here.",
            "Make it first: stark-translate setup. Or name it with --config.",
        )
    entry = _entry(arguments, Path(file).absolute())
    if arguments.only:
        sys.stdout.write(entry.content.decode("utf-16" if entry.file.suffix == ".xml" else "utf-8"))
        return _show(entry.file, entry.on)
    # Checked after --print, which changes nothing and is always allowed.
    if SYSTEM_UNIT.exists():
        raise UsageError(
            "service-installed",
            "This machine has the service already, for all users (scripts/install.sh).",
            "Two would want the same port and microphone. End that one first: sudo "
            "scripts/install.sh --uninstall.",
        )
    with writing(entry.file, SessionError, "file-unwritable"):
        entry.file.parent.mkdir(parents=True, exist_ok=True)
        entry.file.write_bytes(entry.content)
    print(f"wrote {entry.file}")
    done = _do(entry.on)
    print(entry.hint if done else "The service is not started.")
    return 0 if done else 1


def _uninstall(arguments: argparse.Namespace) -> int:
    entry = _entry(arguments, Path("config.toml").absolute())
    if arguments.only:
        return _show(entry.file, entry.off)
    if not entry.file.exists():
        print("Nothing was installed.")
        return 0
    # Before the file is removed: systemd disables a unit only while it can read it.
    done = _do(entry.off)
    entry.file.unlink()
    print(f"removed {entry.file}")
    return 0 if done else 1


def _entry(arguments: argparse.Namespace, config: Path) -> Entry:
    here = _SYSTEMS.get(sys.platform, "")
    system = arguments.system or here
    if not system or (system != here and not arguments.only):
        raise UsageError(
            "other-system",
            f"This computer is {sys.platform}, and no file for {system or 'it'} can be installed.",
            "--print shows that of another system.",
        )
    return entry_for(system, config, python=Path(sys.executable), home=Path.home())


def entry_for(system: str, config: Path, *, python: Path, home: Path) -> Entry:
    """Return what starts `run --config CONFIG` with this Python on linux, macos or windows."""
    if system == "windows" and python.name == "python.exe":
        python = python.with_name("pythonw.exe")  # without a window
    # -P: the current folder is for settings, and no modules are loaded from it.
    command = [str(python), "-P", "-m", "pipeline", "run", "--config", str(config)]
    make = {"linux": _systemd, "macos": _launchd, "windows": _task}[system]
    return make(command, config.parent, home)


def _systemd(command: Sequence[str], folder: Path, home: Path) -> Entry:
    # systemd reads % as the beginning of a specifier, also in a path.
    content = _UNIT.format(
        folder=str(folder).replace("%", "%%"), command=" ".join(map(_quoted, command))
    )
    control = ("systemctl", "--user")
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return Entry(
        settings / "systemd" / "user" / f"{_NAME}.service",
        content.encode(),
        on=((*control, "daemon-reload"), (*control, "enable", "--now", _NAME)),
        off=((*control, "disable", "--now", _NAME),),
        hint="It runs, and starts when you log in. From power-on, without a login: "
        "loginctl enable-linger",
    )


def _quoted(word: str) -> str:
    for letter, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(letter, escaped)
    return f'"{word}"' if " " in word or "'" in word else word


def _launchd(command: Sequence[str], folder: Path, home: Path) -> Entry:
    file = home / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    log = str(home / "Library" / "Logs" / f"{_NAME}.log")
    content = plistlib.dumps(
        {
            "Label": _LABEL,
            "ProgramArguments": list(command),
            "WorkingDirectory": str(folder),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,
            "ProcessType": "Interactive",  # else macOS slows it down
            "StandardOutPath": log,
            "StandardErrorPath": log,
        }
    )
    # --print also shows a Mac's file on Windows, which has no user ids: 501 is a Mac's first.
    of_user = f"gui/{os.getuid()}" if hasattr(os, "getuid") else "gui/501"
    return Entry(
        file,
        content,
        on=(("launchctl", "bootstrap", of_user, str(file)),),
        off=(("launchctl", "bootout", f"{of_user}/{_LABEL}"),),
        hint=f"It runs, and starts when you log in. Its log: {log}. Allow it the microphone once, "
        "when macOS asks.",
    )


def _task(command: Sequence[str], folder: Path, home: Path) -> Entry:
    local = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    file = local / _NAME / "task.xml"
    task = ET.Element("Task", version="1.2", xmlns=_TASK)
    parts: tuple[tuple[str, str], ...] = (
        ("RegistrationInfo/Description", "Live sermon captions"),
        ("Triggers/LogonTrigger/Enabled", "true"),
        ("Principals/Principal/LogonType", "InteractiveToken"),
        ("Settings/MultipleInstancesPolicy", "IgnoreNew"),
        ("Settings/DisallowStartIfOnBatteries", "false"),
        ("Settings/StopIfGoingOnBatteries", "false"),
        ("Settings/ExecutionTimeLimit", "PT0S"),  # no limit: the default is three days
        ("Settings/Priority", "5"),  # the default is 7, below normal
        ("Settings/RestartOnFailure/Interval", "PT1M"),
        ("Settings/RestartOnFailure/Count", "255"),  # the maximum
        ("Actions/Exec/Command", command[0]),
        ("Actions/Exec/Arguments", subprocess.list2cmdline(command[1:])),
        ("Actions/Exec/WorkingDirectory", str(folder)),
    )
    for path, text in parts:
        at = task
        for tag in path.split("/"):
            found = at.find(tag)
            at = ET.SubElement(at, tag) if found is None else found
        at.text = text
    ET.indent(task)
    named = ("/TN", _NAME)
    return Entry(
        file,
        ET.tostring(task, encoding="utf-16", xml_declaration=True),
        on=(("schtasks", "/Create", *named, "/XML", str(file), "/F"), ("schtasks", "/Run", *named)),
        off=(("schtasks", "/End", *named), ("schtasks", "/Delete", *named, "/F")),
        hint="It runs, and starts when you log in. `stark-translate desk` opens its page.",
    )


def _show(file: Path, commands: Sequence[Sequence[str]]) -> int:
    # On standard error: with --print, standard output is the file and can be redirected.
    print(f"# {file}", file=sys.stderr)
    for command in commands:
        print(f"# {subprocess.list2cmdline(command)}", file=sys.stderr)
    return 0


def _do(commands: Sequence[Sequence[str]]) -> bool:
    """Run system commands; say which one failed."""
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            fault = "" if not done.returncode else (done.stderr or done.stdout).strip() or "failed"
        except OSError as error:
            fault = error.strerror or str(error)
        if fault:
            line = subprocess.list2cmdline(command)
            print(f"`{line}`: {fault}\nTry it again by hand.", file=sys.stderr)
            return False
    return True

"""`status`, `stop`, `logs` and `open`: the service that runs on this machine."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from pipeline.cli.browser import add_browser, link_with, open_page, open_with_token
from pipeline.cli.control_client import require_port
from pipeline.cli.options import (
    SESSION,
    Commands,
    add_command,
    add_reaching,
    add_sessions,
    print_json,
    session_of,
    settings_of,
)
from pipeline.config.schema import Settings
from pipeline.core.errors import ServerError
from pipeline.records.events import EventRecord
from pipeline.server.addresses import health_at, own_address, owner
from pipeline.server.operator_token import kept_token
from pipeline.server.routes import DOWN
from pipeline.session.reader import JOURNAL, Session, sessions
from pipeline.session.resume import in_use

UNIT = "stark-translate.service"
_PAGES = {
    **dict.fromkeys(("desk", "operator"), "operator"),
    **dict.fromkeys(("wall", "projector"), "projector"),
    **dict.fromkeys(("phone", "audience"), ""),
    **{name: name for name in ("join", "obs", "services", "dashboard")},
}
"""The names of each page, and its path."""
_WITH_TOKEN = ("operator", "services", "dashboard")
_LAST_WORDS_S = 20.0
"""Time for a stop beyond session.drain_s: the record, the displays, the engines."""
_FOLLOW_S = 1.0
_KNOWN = ("type", "utc", "event")


def add(commands: Commands) -> None:
    says = "Say what the running service does; exit code 1 where none captions."
    status = add_command(commands, "status", _status, says)
    status.add_argument("--json", action="store_true", help="print /healthz as it is")
    says = "End the running service; what is being said becomes a last caption."
    stop = add_command(commands, "stop", _stop, says)
    says = "Show what happened: systemd's log of the service, or the events of a session."
    logs = add_command(commands, "logs", _logs, says)
    logs.add_argument("session", nargs="?", default="", help=SESSION)
    says = "go on with new lines, until the service ends"
    logs.add_argument("--follow", "-f", action="store_true", help=says)
    add_sessions(logs)
    says = "Open a page of the running service in the browser."
    opening = add_command(commands, "open", _open, says)
    says = f"{', '.join(_PAGES)} (%(default)s)"
    opening.add_argument("page", nargs="?", default="desk", choices=_PAGES, help=says)
    add_browser(opening)
    for parser in (status, stop, opening):
        add_reaching(parser)


def _status(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    health = _health(settings)
    if arguments.json:
        print_json(health)
    else:
        print("\n".join(lines(health, own_address(settings.server), owner(settings.server.port))))
    return int(health["state"] in DOWN)


def lines(health: dict[str, Any], address: str, process: psutil.Process | None) -> list[str]:
    """Return the answer of /healthz as lines for people."""
    began = datetime.now(UTC).astimezone() - timedelta(seconds=health.get("uptime_s", 0))
    state = " ".join(filter(None, (health["state"], health.get("reason"))))
    rehearsal = "" if health.get("mode") == "live" else f" ({health.get('mode')})"
    by = f", process {process.pid}" if process else ""
    rows = [f"{state}{rehearsal}: session {health['session']}, since {began:%a %H:%M}{by}"]
    if heard := health.get("source"):
        late = health.get("lag_s") or 0
        by = f" with {recognizer}" if (recognizer := health.get("recognizer")) else ""
        rows.append(f"hears {heard}{by}, {late:.1f} s behind")
    if setback := health.get("setback"):
        rows.append(f"setback: {setback}")
    there = [f"{count} {kind}" for kind, count in health.get("clients", {}).items() if count]
    return [*rows, f"pages: {address} ({', '.join(there) or 'nobody reads'})"]


def _health(settings: Settings) -> dict[str, Any]:
    """Return /healthz of the running service. Raises ServerError (daemon-unreachable)."""
    server = settings.server
    require_port(server)
    if health := health_at(server):
        return health
    message = f"No stark-translate answers on {server.host}:{server.port}."
    fix = "`stark-translate run` starts one."
    # The user's next question is why nobody answers, so the reason is looked up here.
    there = sessions(Path(settings.session.directory))[-1:]
    try:
        if there and in_use(there[0] / JOURNAL):
            fix = f"{there[0].name} is running, at another port or suspended: give its --port."
        else:
            units = _units()
            scope, unit = next(iter(units.items()), ((), {"ActiveState": "active"}))
            # One that is active is the service, wherever it answers: another is not to be started.
            if unit["ActiveState"] != "active":
                start = " ".join(("systemctl" if scope else "sudo systemctl", *scope, "start"))
                fix = f"{UNIT} is {unit['ActiveState']}: {start} {UNIT}."
    except OSError:
        pass  # another user's files: the reason is unknown
    raise ServerError("daemon-unreachable", message, fix)


def _units() -> dict[tuple[str, ...], dict[str, str]]:
    """Return systemd's properties of our units, by the option that selects the manager.

    An active one comes first, then the machine's (scripts/install.sh), then this user's
    (`stark-translate install`).
    """
    found = {}
    scopes: tuple[tuple[str, ...], ...] = ((), ("--user",))
    for scope in scopes if shutil.which("systemctl") else ():
        command = ["systemctl", "show", *scope, "-p", "LoadState,ActiveState,MainPID", UNIT]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        # systemctl also answers for an unknown unit: LoadState is "not-found" then.
        unit = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        if unit.get("LoadState") == "loaded":
            found[scope] = unit
    return dict(sorted(found.items(), key=lambda each: each[1]["ActiveState"] != "active"))


def _stop(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    require_port(settings.server)
    # The owner of the port, not a number in a file: that may be another process by now.
    process = owner(settings.server.port)
    # A process that Ctrl-Z has suspended does not answer, but can be ended.
    session = "" if process and _is_suspended(process) else _health(settings)["session"]
    for scope, unit in _units().items():
        # This user's own process would be known: an unknown one is the machine's.
        ours = unit["MainPID"] == str(process.pid) if process else not scope
        if unit["ActiveState"] == "active" and ours:
            # Through systemd: it restarts a service that ends in another way.
            return _pass_on("systemctl", "stop", *scope, UNIT)
    if process is None:
        message = "The service belongs to another user."
        raise ServerError("not-ours", message, "Run this as that user, or with sudo.")
    print("Ending; what is being said becomes the last caption.", file=sys.stderr)
    try:
        process.terminate()
        # A suspended process handles the signal above only when it resumes.
        process.resume()
        # The daemon may take all of drain_s for the last captions.
        process.wait(settings.session.drain_s + _LAST_WORDS_S)
    except psutil.NoSuchProcess:
        pass  # it ended before the signal or before it resumed
    except psutil.AccessDenied:
        message = f"Process {process.pid} belongs to another user."
        raise ServerError("not-ours", message, "Run this as that user, or with sudo.") from None
    except psutil.TimeoutExpired:
        fix = f"kill -9 {process.pid} ends it; captions are kept."
        raise ServerError("not-ended", f"Process {process.pid} has not ended.", fix) from None
    print(f"Ended{f': session {session}' if session else ''}.")
    return 0


def _pass_on(*command: str) -> int:
    return subprocess.run(command, check=False).returncode  # noqa: S603


def _is_suspended(process: psutil.Process) -> bool:
    # It may end meanwhile, or belong to another user.
    with suppress(psutil.Error):
        return process.status() == psutil.STATUS_STOPPED and any(
            "stark-translate" in word or word == "pipeline" for word in process.cmdline()
        )
    return False


def _logs(arguments: argparse.Namespace) -> int:
    if not arguments.session and (units := _units()):
        # -e: at the end, where the last events are; the journal of a year is long.
        following = ["-f"] if arguments.follow else ["-e"]
        scope, *others = units
        if others:
            which = "this user's" if scope else "the machine's"
            print(f"There are two {UNIT}; this is {which}.", file=sys.stderr)
        return _pass_on("journalctl", *scope, "-u", UNIT, *following)
    arguments.session = arguments.session or "last"
    folder = session_of(arguments)
    print(f"Events of {folder.name}; the log is in the window of `run`.", file=sys.stderr)
    shown: Counter[str] = Counter()
    while True:
        # Checked before reading, so that events written at the end are not missed.
        is_over = not arguments.follow or not in_use(folder / JOURNAL)
        # The whole file each time: events are few. By their content, not their place: what is off
        # the record leaves the file, and later events move up.
        left = shown.copy()
        for event in Session(folder).events:
            left[repr(event)] -= 1
            if left[repr(event)] < 0:
                shown[repr(event)] += 1
                _tell(event)
        if is_over:
            return 0
        time.sleep(_FOLLOW_S)


def _tell(event: EventRecord) -> None:
    if event.event == "models":  # `models list` says it better
        return
    at = datetime.fromisoformat(event.utc).astimezone()
    fields = asdict(event).items()
    parts = [f"{key}={value}" for key, value in fields if key not in _KNOWN and value]
    print(f"{at:%H:%M:%S}  {event.event:<10}", *parts, flush=True)


def _open(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    _health(settings)
    path = _PAGES[arguments.page]
    page = f"{own_address(settings.server)}{path}"
    # The others are for everybody, so their addresses may be on the browser's command line.
    if path not in _WITH_TOKEN:
        print(page)
        open_page(page, arguments.browser)
        return 0
    directory = Path(settings.session.directory)
    token = settings.operator.token or kept_token(directory)
    print(link_with(token, page))
    open_with_token(token, page, directory, arguments.browser)
    return 0

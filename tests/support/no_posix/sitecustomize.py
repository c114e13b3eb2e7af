"""Hide from `pipeline` what Windows lacks. Each process reads this file through PYTHONPATH.

It hides only what `pipeline` itself imports; libraries see the real system. Files also behave as
on Windows: an open file cannot be renamed or removed, and there is no /proc.
"""

from __future__ import annotations

import asyncio
import builtins
import ctypes
import errno
import fcntl
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

MISSING: Final = frozenset(
    ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
)
GONE: Final[dict[ModuleType, tuple[str, ...]]] = {
    ctypes: (),
    os: (
        *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "PRIO_PROCESS", "chown"),
        *("fchmod", "fchown", "fdatasync", "fork", "forkpty", "getegid", "geteuid", "getgid"),
        *("getloadavg", "getpgid", "getuid", "killpg", "mkfifo", "nice", "openpty", "setpriority"),
        *("setsid", "statvfs", "sched_getaffinity", "sync", "ttyname", "uname"),
    ),
    select: ("epoll", "poll"),
    selectors: ("EpollSelector", "PollSelector"),
    signal: (
        *("SIGALRM", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGSTOP", "SIGUSR1", "SIGUSR2", "SIGXCPU"),
        *("alarm", "setitimer", "pthread_sigmask"),
    ),
    socket: ("AF_UNIX", "SCM_RIGHTS", "send_fds", "recv_fds", "SO_REUSEPORT"),
    subprocess: (),
}


def _socketpair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        there = socket.create_connection(door.getsockname())
        return door.accept()[0], there


def _library(name: str | None, *arguments: Any, **options: Any) -> ctypes.CDLL:
    if name is None:
        raise TypeError("bad argument type for built-in operation")
    return ctypes.CDLL(name, *arguments, **options)


def _locking(descriptor: int, _mode: int, _bytes: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None


def _modules() -> dict[str, ModuleType]:
    made = {}
    for real, gone in GONE.items():
        view = ModuleType(real.__name__)
        view.__dict__.update({name: x for name, x in vars(real).items() if name not in gone})
        made[real.__name__] = view
    vars(made["ctypes"])["CDLL"] = _library
    vars(made["socket"])["socketpair"] = _socketpair
    made["msvcrt"] = ModuleType("msvcrt")
    vars(made["msvcrt"]).update(LK_NBLCK=2, locking=_locking)
    return made


_import = builtins.__import__
_modules_seen = _modules()


def _importing(
    name: str,
    globals: Mapping[str, object] | None = None,  # noqa: A002 - as Python calls it
    locals: Mapping[str, object] | None = None,  # noqa: A002
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> ModuleType:
    asking = str((globals or {}).get("__name__", ""))
    if asking.startswith("pipeline."):
        if name in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in _modules_seen:
            return _modules_seen[name]
    return _import(name, globals, locals, fromlist, level)


def _is_ours() -> bool:
    """Whether `pipeline` makes the call, itself or through pathlib."""
    frame = sys._getframe(2)
    while frame.f_back and frame.f_globals.get("__name__") in {"pathlib", "shutil", "tempfile"}:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")).startswith("pipeline.")


def _files(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and str(arguments[0]).startswith(("/proc/", "/sys/")) and _is_ours():
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", arguments[0])
    if event in {"os.rename", "os.remove"} and _is_ours():
        named = {str(Path(str(each)).absolute()) for each in arguments[:2] if each != -1}
        for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - it is quick
            try:
                target = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
            except OSError:
                continue
            if target in named:
                raise PermissionError(errno.EACCES, "The process cannot access the file", target)


def _no_signal_handler(*_: object) -> NoReturn:
    raise NotImplementedError


def _start(self: Any, *arguments: Any, **options: Any) -> None:
    assert not options.get("pass_fds"), "Windows passes no descriptors on"
    options.pop("creationflags", None)
    _popen(self, *arguments, **options)


_popen = subprocess.Popen.__init__
subprocess.Popen.__init__ = _start  # type: ignore[method-assign]
asyncio.SelectorEventLoop.add_signal_handler = _no_signal_handler  # type: ignore[assignment]
builtins.__import__ = _importing  # type: ignore[assignment]
sys.addaudithook(_files)

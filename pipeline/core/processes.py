"""Processes of this program's own, on Linux, macOS and Windows."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_ROOT = str(Path(__file__).parents[2])
"""Where the package `pipeline` lies."""
# systemd gives them to the daemon: a child must not speak in its name.
_OWN_NOTICES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
# On Windows a virtual environment's Python is a starter for the real one, whose memory and end the
# parent would not see; the variable in `own_environment` tells that one where it is at home.
_PYTHON: Final[str] = getattr(sys, "_base_executable", "") if os.name == "nt" else sys.executable
_ALONE: Final = 0x0800_0200
"""CREATE_NO_WINDOW and CREATE_NEW_PROCESS_GROUP, of which only Windows's Python has the names."""
APART: Final[dict[str, Any]] = (
    {"process_group": 0}
    if hasattr(os, "killpg")
    # Windows: without a window either, where the program itself has none.
    else {"creationflags": _ALONE}
)
"""Options of a process that Ctrl-C does not reach: that is for the parent."""


def own_python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `main` of a module of this program; arguments from argv[2]."""
    # -P and a path instead of -m: the child imports the same package as this process, never one
    # that lies in the current folder.
    boot = (
        "import sys; sys.argv[1] in sys.path or sys.path.insert(0, sys.argv[1]); "
        f"from {module} import main; main()"
    )
    return [_PYTHON, "-P", "-c", boot, _ROOT, *arguments]


def own_environment() -> dict[str, str]:
    """Return this process's environment without what systemd says to the daemon alone."""
    own = {name: value for name, value in os.environ.items() if name not in _OWN_NOTICES}
    return own if sys.executable == _PYTHON else {**own, "__PYVENV_LAUNCHER__": sys.executable}


def lower_priority(niceness: int) -> None:
    """Let other programs go first; where that cannot be set nothing happens."""
    if not niceness:
        return
    if hasattr(os, "nice"):
        with suppress(OSError):
            # Relative to what the process has: two calls add up.
            os.nice(niceness)
        return
    import psutil  # noqa: PLC0415 - on Windows only, which has classes and no numbers

    with suppress(psutil.Error, OSError):
        psutil.Process().nice(getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", niceness))

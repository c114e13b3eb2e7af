"""A private machine for the service: systemd as process 1 of new namespaces.

/etc, /opt, /run, /srv, /tmp and /var are its own and vanish with it. The rest is the host's,
only read.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.support.patience import PATIENCE_S

SYSTEMD = Path("/usr/lib/systemd/systemd")
CHECKOUT = "/mnt/checkout"
UNITS = "/etc/systemd/system"
_ENV = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "SYSTEMD_UNIT_PATH": UNITS,  # none of the host's units starts
    "SYSTEMD_OFFLINE": "0",
    "container": "test",
}
_TARGETS = ("sysinit", "basic", "multi-user", "timers", "network-online", "shutdown", "rescue")
_PYTHON = r"""#!/bin/bash
# A Python whose environments are made at once, of what the tests have.
export LD_LIBRARY_PATH=/mnt/python/lib PYTHONPATH=$PYTHONS_PATH
case "$1 $2" in
  "-m venv")
    mkdir -p "$3/bin" "$3/lib/python3.99/site-packages/base-1.dist-info"
    touch "$3/pyvenv.cfg" "$3/lib/python3.99/site-packages/base-1.dist-info/RECORD"
    cp "$0" "$3/bin/python"
    cat >"$3/bin/stark-translate" <<SCRIPT
#!/bin/bash
# $3
$STARTS
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH PYTHONPATH=$PYTHONPATH
exec /mnt/python/bin/$PYTHON -m pipeline "\$@"
SCRIPT
    chmod +x "$3/bin/stark-translate" ;;
  "-m pip") mkdir -p "$(dirname "$0")/../../wheels" ;;
  *) exec "/mnt/python/bin/$PYTHON" "$@" ;;
esac
"""


class Machine:
    """Runs commands in the machine as root."""

    def __init__(self, pid: int, python_path: str) -> None:
        """`pid`: systemd's process ID on the host."""
        self._pid = pid
        self._env = _ENV | {
            "PYTHONS_PATH": python_path,
            "PYTHON": Path(sys.executable).resolve().name,
            "HOME": "/tmp",
        }

    def run(self, command: str, **env: str) -> subprocess.CompletedProcess[str]:
        spaces = ["nsenter", "-t", str(self._pid), "-m", "-p", "-u", "-i", "-C", "--"]
        return subprocess.run(
            [*spaces, "bash", "-c", command], env=self._env | env, capture_output=True, text=True,
            timeout=4 * PATIENCE_S, check=False,
        )  # fmt: skip

    def ok(self, command: str, **env: str) -> str:
        done = self.run(command, **env)
        if done.returncode != 0:
            command += self.run(
                "systemctl status -n 0 '*.service'; tail -n 9 /mnt/test/*.log"
            ).stdout
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def write(self, path: str, text: str) -> None:
        self.ok(f"mkdir -p $(dirname {path}) && cat >{path} <<'TEXT'\n{text}\nTEXT")

    def show(self, name: str, unit: str = "stark-translate.service") -> str:
        """Return a property of a unit."""
        return self.ok(f"systemctl show -P {name} {unit}").strip()

    def until(self, condition: Callable[[], Any], what: str) -> None:
        until_s = time.monotonic() + 2 * PATIENCE_S
        while not condition():
            assert time.monotonic() < until_s, f"{what}: {self.run('systemctl status').stdout}"
            time.sleep(0.1)


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """Boot a machine; skip the test where the host does not allow it."""
    if os.geteuid() != 0 or not SYSTEMD.exists():
        pytest.skip("systemd was not started: that needs root and the package systemd")
    (folder / "python").write_text(_PYTHON)
    (folder / "python").chmod(0o755)
    sites = [path for path in sys.path if path.endswith("-packages")]
    inside = [CHECKOUT, *(f"/mnt/site{at}" for at in range(len(sites)))]
    binds = [(str(ROOT), CHECKOUT), (sys.base_prefix, "/mnt/python"), (str(folder), "/mnt/test")]
    binds += list(zip(sites, inside[1:], strict=True))
    script = "\n".join(
        [
            "set -e",
            "mount -t tmpfs -o mode=755 tmpfs /mnt",
            *(f"mkdir -p {to}; mount --bind {shlex.quote(at)} {to}" for at, to in binds),
            "cp -a /etc /usr/lib/sysusers.d /mnt; rm -rf /mnt/etc/systemd/system",
            *(f"mount -t tmpfs -o mode=755 tmpfs {at}" for at in ("/run", "/var", "/opt", "/srv")),
            "mount -t tmpfs -o mode=1777 tmpfs /tmp; mkdir -p /var/{lib,log,cache,tmp}",
            "mount --bind /mnt/etc /etc; mkdir -p " + UNITS,
            "mount --bind /mnt/sysusers.d /usr/lib/sysusers.d",
            *(f"echo '[Unit]' >{UNITS}/{name}.target" for name in _TARGETS),
            "mount -t proc proc /proc; mount --bind /proc/sys /proc/sys",
            "mount -o remount,bind,ro /proc/sys",
            "mount --bind /sys /sys; mount -o remount,bind,ro /sys",
            "mount -t cgroup2 cgroup2 /sys/fs/cgroup",
            f"exec {SYSTEMD} --unit=multi-user.target --log-target=console --show-status=0",
        ]
    )
    cgroup = _cgroup()
    log = folder / "systemd.log"
    with log.open("wb") as out:
        # It has its own cgroup, which a namespace then treats as the root of all cgroups.
        joined = f"echo $$ >{cgroup}/cgroup.procs && exec unshare -m -p -C -u -i -f --kill-child "
        process = subprocess.Popen(
            ["bash", "-c", joined + "--propagation private bash -c " + shlex.quote(script)],
            env=_ENV, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        booted = Machine(_child(process, log), ":".join(inside))
        until_s = time.monotonic() + PATIENCE_S
        while booted.run("systemctl is-active multi-user.target").returncode != 0:
            if process.poll() is not None or time.monotonic() > until_s:
                _not_here(log)
            time.sleep(0.1)
        yield booted
    finally:
        process.kill()  # this also kills process 1 and everything that it has started
        process.wait()
        _remove(cgroup)


def _cgroup() -> Path:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    roots = [Path(line.split()[1]) for line in lines if line.split()[2] == "cgroup2"]
    own = [
        line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line[:3] == "0::"
    ]
    try:
        made = Path(f"{roots[0]}{own[0]}") / f"stark-translate-test-{os.getpid()}"
        made.mkdir()
    except (IndexError, OSError) as error:
        pytest.skip(f"systemd was not started: no control group of its own here ({error})")
    return made


def _child(process: subprocess.Popen[bytes], log: Path) -> int:
    """Return the child of `process` that is process 1 of the namespace."""
    until_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until_s:
        with suppress(OSError):
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            if children and Path(f"/proc/{children[0]}/comm").read_text() == "systemd\n":
                return int(children[0])
        time.sleep(0.05)
    _not_here(log)
    raise AssertionError


def _not_here(log: Path) -> None:
    last = " ".join(log.read_text(errors="replace").splitlines()[-2:])
    pytest.skip(f"systemd was not started: this machine allows no namespace for it ({last})")


def _remove(cgroup: Path) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        try:
            for each in sorted(cgroup.glob("**/"), key=lambda path: -len(path.parts)):
                each.rmdir()
        except OSError:  # its processes are still ending
            for pid in (cgroup / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.1)
        else:
            return

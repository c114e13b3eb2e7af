"""The installed service under a real systemd: install, READY, crashes, upgrade, timers, end."""

from __future__ import annotations

from pathlib import Path

import pytest
import soundfile

from scripts.support.program import SERMON
from tests.support.needs import needs_program
from tests.support.systemd_machine import CHECKOUT, Machine, machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

INSTALL = f"bash {CHECKOUT}/scripts/install.sh --python /mnt/test/python"
DROP_IN = "/etc/systemd/system/stark-translate.service.d/test.conf"


def main_pid(machine: Machine) -> str:
    """Return the service's process ID once systemd has its READY, "" before that."""
    pid = machine.show("MainPID")
    # It is 0 after a process ends until systemd reacts.
    return pid if pid != "0" and machine.show("ActiveState") == "active" else ""


def learn_by_timer(machine: Machine, name: str, soon: str, leaves: str) -> None:
    """Let one of the timers start learning; its start time is moved to now."""
    timer, service = (f"stark-translate-{name}.{kind}" for kind in ("timer", "service"))
    machine.write(f"/etc/systemd/system/{timer}.d/test.conf", f"{soon}\nRandomizedDelaySec=0")
    # At the lowest priority it would wait for everything else on this machine.
    hurry = "[Service]\nCPUSchedulingPolicy=other\nNice=0\nCPUWeight=100\n"
    hurry += f"StandardOutput=append:/mnt/test/{name}.log\nStandardError=inherit"
    machine.write(f"/etc/systemd/system/{service}.d/test.conf", hurry)
    machine.ok(f"rm -f {leaves}; systemctl daemon-reload && systemctl start {timer}")
    machine.until(lambda: machine.run(f"ls {leaves}").returncode == 0, f"{name} by its timer")
    machine.ok(f"systemctl stop {timer}")
    machine.until(lambda: machine.show("ActiveState", service) == "inactive", f"the end of {name}")
    assert machine.show("Result", service) == "success"


def test_a_service_from_its_installation_to_its_end(tmp_path: Path) -> None:
    needs_program("unshare", "nsenter", "systemd-sysusers")
    spoken, rate = soundfile.read(SERMON, dtype="int16")
    with soundfile.SoundFile(tmp_path / "long.wav", "w", rate, 1) as long:
        for _ in range(10):
            long.write(spoken)
    tmp_path.chmod(0o755)  # the service's user must read it
    with machine(tmp_path) as church:
        # A file replaces the microphone; the watchdog is short enough for a test.
        church.write(
            "/etc/stark-translate/environment",
            "STARK_TRANSLATE__AUDIO__INPUT=/mnt/test/long.wav\n"
            "STARK_TRANSLATE__TRANSLATE__FINAL__MODEL=tiny\n"
            "STARK_TRANSLATE__SESSION__DRAIN_S=1",
        )
        church.write(
            DROP_IN, "[Service]\nWatchdogSec=10s\nStandardError=append:/mnt/test/service.log"
        )

        assert "Installed. Next:" in church.ok(INSTALL)
        first = main_pid(church)
        assert first, "READY came before install.sh went on"
        assert church.show("UnitFileState") == "enabled"
        assert church.ok(f"stat -c %U /proc/{first}").strip() == "stark-translate"
        captions = "cat /var/lib/stark-translate/sessions/*/captions.jsonl"
        church.until(lambda: "final" in church.run(captions).stdout, "a caption")

        church.ok(f"kill -KILL {first}")
        church.until(lambda: main_pid(church) not in {"", first}, "a restart after SIGKILL")
        second = main_pid(church)
        church.ok(f"kill -STOP {second}")
        church.until(lambda: main_pid(church) not in {"", second}, "a restart by the watchdog")
        assert int(church.show("NRestarts")) >= 2

        # An upgrade that does not start: the previous version comes back automatically.
        church.ok(f"mkdir /mnt/newer; ln -s {CHECKOUT}/* /mnt/newer; rm /mnt/newer/languages.toml")
        church.ok(f"(cat {CHECKOUT}/languages.toml; echo '# newer') >/mnt/newer/languages.toml")
        newer = INSTALL.replace(CHECKOUT, "/mnt/newer") + " --now"
        broken = church.run(newer, STARTS="exit 1\n")
        assert broken.returncode == 1
        assert "the new version does not start, and the one before is back" in broken.stderr
        church.until(lambda: main_pid(church), "the version before")
        third = main_pid(church)
        # An upgrade that starts, and the rollback.
        stamp = church.ok("cat /opt/stark-translate/stamp")
        assert "Installed. Next:" in church.ok(newer)
        assert church.ok("cat /opt/stark-translate/stamp") != stamp
        assert main_pid(church) not in {"", third}
        assert "The other version is in" in church.ok(f"{newer} --rollback")
        assert church.ok("cat /opt/stark-translate/stamp") == stamp
        assert main_pid(church)

        # By timers: the service is off at power-on, and timers start and stop it.
        fourth = main_pid(church)
        church.ok(f"{newer} --timers")
        assert main_pid(church) not in {"", fourth}  # it was running: now it is the new version
        church.ok(newer)  # an upgrade keeps the timers
        assert church.show("UnitFileState") == "disabled"
        start, stop = (f"stark-translate-{name}.timer" for name in ("start", "stop"))
        assert church.show("NextElapseUSecRealtime", start).startswith("Sun ")
        assert church.show("NextElapseUSecRealtime", start).split()[2] == "09:30:00"
        soon = "[Timer]\nOnCalendar=\nOnCalendar=*:*:*"
        church.write(f"/etc/systemd/system/{stop}.d/test.conf", soon)
        church.ok(f"systemctl daemon-reload && systemctl restart {stop}")
        church.until(lambda: church.show("ActiveState") == "inactive", "the end by a timer")
        church.ok(f"systemctl stop {stop}")

        # Learning runs on Mondays, training once a month.
        learn, train = (f"stark-translate-{name}.timer" for name in ("learn", "train"))
        church.ok(f"systemctl enable --now {learn} {train}")
        assert church.show("NextElapseUSecRealtime", learn).startswith("Mon ")
        assert church.show("NextElapseUSecRealtime", train).startswith("Tue ")
        church.ok(f"systemctl stop {learn} {train}")
        kept, venv = "/var/lib/stark-translate", "/srv/stark-translate/.venv/bin"
        learn_by_timer(church, "learn", soon, f"{kept}/sessions/dashboard.html")
        assert church.ok(f"cat {kept}/learning/ledger.jsonl")
        church.ok(f"mkdir -p {venv} && ln -s /opt/stark-translate/venv/bin/stark-translate {venv}")
        learn_by_timer(church, "train", soon, f"{kept}/learning/focus.json")

        church.write(f"/etc/systemd/system/{start}.d/test.conf", soon)
        church.ok(f"systemctl daemon-reload && systemctl restart {start}")
        church.until(lambda: main_pid(church), "the start by a timer")
        church.ok(f"systemctl stop {start}")

        # Wrong settings: the start fails with its reason and is not tried again.
        church.write(DROP_IN, "[Service]\nEnvironment=STARK_TRANSLATE__SERVER__PORT=high")
        assert church.run("systemctl daemon-reload; systemctl restart stark-translate").returncode
        church.until(lambda: church.show("ActiveState") == "failed", "no second try")
        assert church.show("ExecMainStatus") == "78"

        church.ok(f"{INSTALL} --uninstall")
        assert church.show("LoadState") == "not-found"
        assert church.run("ls /opt/stark-translate").returncode != 0
        assert church.ok("ls /etc/stark-translate/config.toml /var/lib/stark-translate/sessions")

"""The installer in a scratch root, and the units as systemd sees them."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from pipeline.config.loader import load
from tests.support.needs import needs_program
from tests.support.paths import ROOT

UNITS = ROOT / "systemd"
NAME = "stark-translate"


def install(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "scripts" / "install.sh"), "--root", str(root), *options],
        capture_output=True, text=True, check=False, timeout=1200,
        # Without the bytecode of all packages, which takes long; pip wants a "no" for that.
        env={**os.environ, "PIP_NO_COMPILE": "no"},
    )  # fmt: skip


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Return a root in which every program that the units name is there."""
    needs_program("systemd-analyze")
    named = ("opt", NAME, "venv", "bin", NAME), ("srv", NAME, ".venv", "bin", NAME)
    for parts in (*named, ("usr", "bin", "rsync")):
        program = tmp_path.joinpath(*parts)
        program.parent.mkdir(parents=True)
        program.symlink_to("/bin/true")
    folder = tmp_path / "etc" / "systemd" / "system"
    folder.mkdir(parents=True)
    for unit in UNITS.iterdir():
        if unit.suffix in {".service", ".timer"}:
            text = unit.read_text("utf-8")
            for place in ("/opt/", "/srv/", "/usr/bin/rsync"):
                text = text.replace(place, f"{tmp_path}{place}")
            (folder / unit.name).write_text(text)
    return folder


def test_systemd_has_nothing_to_say_against_the_units(units: Path) -> None:
    files = [str(unit) for unit in sorted(units.iterdir())]
    done = subprocess.run(
        ["systemd-analyze", "verify", *files], capture_output=True, text=True, check=False
    )
    ours = [line for line in (done.stdout + done.stderr).splitlines() if NAME in line]
    assert (done.returncode, ours) == (0, [])


def test_the_service_is_hardened(units: Path) -> None:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20",
         str(units / f"{NAME}.service")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = re.search(r"exposure level for .*: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= 2.0
    assert done.returncode == 0


def test_the_service_says_what_it_must() -> None:
    lines = (UNITS / f"{NAME}.service").read_text("utf-8").splitlines()
    for line in (
        "Type=notify",
        "Restart=always",
        "RestartPreventExitStatus=70 78",
        "KillMode=mixed",
        "OOMPolicy=continue",
        "WatchdogSec=30s",
        "User=stark-translate",
        "SupplementaryGroups=audio video render",
        "StateDirectory=stark-translate",
        "EnvironmentFile=-/etc/stark-translate/environment",
    ):
        assert line in lines


def test_wrong_use_is_told(tmp_path: Path) -> None:
    done = install(tmp_path, "--frobnicate")
    assert done.returncode == 2
    assert "unknown option --frobnicate" in done.stderr
    done = install(tmp_path, "--python", "/bin/false")
    assert done.returncode == 1
    assert "is not Python 3.11 or newer" in done.stderr
    assert "sudo scripts/install.sh" in install(tmp_path, "--help").stdout


def test_a_change_of_anything_that_is_packaged_is_installed(tmp_path: Path) -> None:
    """The installer compares stamps: here its own command, on a checkout of a few words."""
    script = (ROOT / "scripts" / "install.sh").read_text("utf-8")
    command = re.search(r"^stamp=.*?cut -d' ' -f1\)$", script, re.DOTALL | re.MULTILINE)
    assert command
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    packaged = [*wheel["force-include"], *wheel["packages"]]
    files = []
    for name in (*packaged, "pyproject.toml", "requirements.lock", "requirements-build.lock"):
        file = tmp_path / name if (ROOT / name).is_file() else tmp_path / name / "deeper" / "file"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("first")
        files.append(file)

    def stamp() -> str:
        lines = f"set -euo pipefail; source={tmp_path}; python=true\n{command[0]}\necho $stamp"
        return subprocess.run(
            ["bash", "-c", lines], capture_output=True, text=True, check=True
        ).stdout

    stamps = [stamp()]
    for file in files:
        file.write_text("second")
        stamps.append(stamp())
    assert len(set(stamps)) == len(files) + 1


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_it_upgrades_changes_nothing_twice_keeps_settings_and_leaves(tmp_path: Path) -> None:
    needs_program("systemd-sysusers")
    etc, opt = tmp_path / "etc" / NAME, tmp_path / "opt" / NAME
    (opt / "venv").mkdir(parents=True)
    for name in ("stamp", "venv/older"):
        (opt / name).write_text("an older version\n")
    first = install(tmp_path)
    assert first.returncode == 0, first.stdout + first.stderr
    assert not (opt / "venv" / "older").exists()
    assert not (tmp_path / "opt" / f"{NAME}.old").exists()
    assert (etc / "environment").stat().st_mode & 0o777 == 0o600
    # The stream's key may be in it: for root and the group of the service.
    assert (etc / "config.toml").stat().st_mode & 0o777 == 0o640
    if os.geteuid() == 0:
        group = re.search(
            rf"^{NAME}:[^:]*:(\d+)", (tmp_path / "etc" / "group").read_text(), re.MULTILINE
        )
        assert group
        assert (etc / "config.toml").stat().st_gid == int(group[1])
    assert not (opt / "build").exists()
    assert not (opt / "wheels").exists()
    assert f"{NAME}:x:" in (tmp_path / "etc" / "passwd").read_text()
    settings = load(etc / "config.toml").settings
    assert settings.session.directory == f"/var/lib/{NAME}/sessions"
    shebang = (opt / "venv" / "bin" / NAME).read_text().splitlines()[0]
    assert re.fullmatch(rf"#!/opt/{NAME}/venv/bin/python[\d.]*", shebang)
    command = [str(opt / "venv" / "bin" / "python"), "-m", "pipeline", "check", "--no-audio"]
    said = subprocess.run(
        [*command, "--json", "--sessions", str(tmp_path / "sessions"), "--port", "0"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr

    assert install(tmp_path).stdout == "Nothing has changed.\n"

    own = (etc / "config.toml").read_text().replace('device = ""', 'device = "Mixer"', 1)
    (etc / "config.toml").write_text(own)
    (tmp_path / "usr" / "lib" / "sysusers.d" / f"{NAME}.conf").unlink()
    assert f"Kept {etc}/config.toml as it is" in install(tmp_path).stdout
    assert tomllib.loads((etc / "config.toml").read_text())["audio"]["device"] == "Mixer"

    (tmp_path / "var" / "lib" / NAME).mkdir(parents=True)
    gone = install(tmp_path, "--uninstall")
    assert gone.returncode == 0
    assert "Kept: settings" in gone.stdout
    assert not opt.exists()
    assert (etc / "config.toml").exists()
    install(tmp_path, "--uninstall", "--purge")
    assert not etc.exists()
    assert not (tmp_path / "var" / "lib" / NAME).exists()
    assert not list((tmp_path / "etc" / "systemd" / "system").glob(f"{NAME}*"))

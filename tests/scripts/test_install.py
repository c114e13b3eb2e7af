"""The installer in a scratch root, and the units as systemd sees them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from pipeline.config.loader import load
from tests.support.needs import needs_program
from tests.support.paths import ROOT

UNITS = ROOT / "systemd"
PYTHON = r"""#!/bin/bash
# A Python whose environments are made at once: what pip does is proved by the slow test.
packages() { echo "$1/venv/lib/python3.99/site-packages"; }
case "$1 $2 $3" in
  "-m venv "*)
    mkdir -p "$3/bin" "$3/lib/python3.99/site-packages/base-1.dist-info"
    touch "$3/pyvenv.cfg" "$3/lib/python3.99/site-packages/base-1.dist-info/RECORD"
    cp "$0" "$3/bin/python" && echo "#!$3/bin/python" >"$3/bin/stark-translate" ;;
  "-m pip "*) mkdir -p "$(dirname "$0")/../../wheels" ;;
  "-m pipeline config") [[ $0 != *.new/* || ! -e $REFUSES ]] || exit 78 ;;
esac
"""
NAME = "stark-translate"


def install(
    root: Path, *options: str, checkout: Path = ROOT, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(checkout / "scripts" / "install.sh"), "--root", str(root), *options],
        capture_output=True, text=True, check=False, timeout=1200,
        # Without the bytecode of all packages, which takes long; pip wants a "no" for that.
        env={**os.environ, "PIP_NO_COMPILE": "no", **env},
    )  # fmt: skip


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Return a root that has every program that the units name."""
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
    """The installer compares stamps; this runs its command on a checkout of a few words."""
    script = (ROOT / "scripts" / "install.sh").read_text("utf-8")
    command = re.search(r"^stamp=.*?cut -d' ' -f1\)$", script, re.DOTALL | re.MULTILINE)
    assert command
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    packaged = wheel["only-include"]
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


@pytest.fixture(scope="module")
def installed_twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root in which a small checkout was installed twice, as two versions."""
    root = tmp_path_factory.mktemp("root")
    checkout = root / "checkout"
    for name in ("config.toml", "scripts/install.sh", "systemd"):
        place = checkout / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place)
    folders = ("pipeline", "displays", "dictionary", "demo", "languages", "models", "verses")
    words = ("scripts/bench/meaning/sentences.toml", "scripts/quality/sentences.toml")
    files = ("requirements.lock", "requirements-build.lock", "pyproject.toml", "languages.toml")
    others = ("training/data/sermon_test.tsv", "scripts/llama_build.sh", "docs/any.md")
    for name in (*(f"{each}/any" for each in folders), *words, *files, *others):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    python = root / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    etc = root / "etc"
    etc.mkdir()
    (etc / "passwd").write_text(f"{NAME}:x:0:0::/:/bin/false\n")
    (etc / "group").write_text(f"{NAME}:x:0:\n")
    for _ in range(2):
        done = upgrade(root)
        assert done.returncode == 0, done.stdout + done.stderr
        stamp = root / "opt" / NAME / "stamp"
        last, _ = stamp.read_text(), stamp.write_text("the first")
    stamp.write_text(last)
    return root


@pytest.fixture
def church(installed_twice: Path, tmp_path: Path) -> Path:
    """Return a root of the test's own with both versions."""
    return shutil.copytree(installed_twice, tmp_path, symlinks=True, dirs_exist_ok=True)


def upgrade(root: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    python = str(root / "python")
    return install(root, "--python", python, *options, checkout=root / "checkout", **env)


def test_one_goes_back_and_forward_between_two_versions(church: Path) -> None:
    opt = church / "opt" / NAME
    new = (opt / "stamp").read_text()
    unit = church / "etc" / "systemd" / "system" / f"{NAME}.service"
    (church / "opt" / f"{NAME}.old" / "systemd" / unit.name).write_text("the first unit")
    assert upgrade(church, "--rollback").returncode == 0
    assert (opt / "stamp").read_text() == "the first"
    assert unit.read_text() == "the first unit"
    assert upgrade(church, "--rollback").returncode == 0
    assert (opt / "stamp").read_text() == new
    assert unit.read_text() == (UNITS / unit.name).read_text()
    assert upgrade(church).stdout == "Nothing has changed.\n"


def test_the_command_is_on_the_path_and_leaves_another_s_alone(church: Path) -> None:
    command = church / "usr" / "local" / "bin" / NAME
    assert os.access(command, os.X_OK)
    assert upgrade(church, "--uninstall").returncode == 0
    assert not command.exists()
    command.write_text("another program")
    assert f"Left alone: {command}" in upgrade(church).stdout
    upgrade(church, "--uninstall")
    assert command.read_text() == "another program"


def test_a_version_that_refuses_the_settings_is_not_put_in_force(church: Path) -> None:
    opt, refuses = church / "opt" / NAME, church / "refuses"
    refuses.touch()
    (opt / "stamp").write_text("the second")
    done = upgrade(church, REFUSES=str(refuses))
    assert done.returncode == 1
    assert "does not accept" in done.stderr
    assert (opt / "stamp").read_text() == "the second"
    assert not (church / "opt" / f"{NAME}.new").exists()


@pytest.mark.slow
def test_nothing_is_changed_while_somebody_speaks(church: Path) -> None:
    sermons = church / "srv" / "sermons"
    settings = church / "etc" / NAME / "config.toml"
    settings.write_text('[session]\ndirectory = "/srv/sermons"\n')
    (sermons / "2026-11-22T09-30-00").mkdir(parents=True)
    journal = sermons / "2026-11-22T09-30-00" / "captions.jsonl"
    journal.touch()
    (church / "python").write_text(PYTHON.replace('case "$1', 'export PATH; [[ $1 != -c ]] || '
        'exec /usr/bin/env python3 "$@"\ncase "$1'))  # fmt: skip
    for options in ((), ("--rollback",)):
        done = upgrade(church, *options)
        assert (done.returncode, "somebody is speaking" in done.stderr) == (1, True)
    assert upgrade(church, "--rollback", "--now").returncode == 0
    os.utime(journal, (0, 0))
    assert upgrade(church, "--rollback").returncode == 0


@pytest.mark.slow
def test_packages_that_were_added_by_hand_are_taken_along(church: Path) -> None:
    opt = church / "opt" / NAME
    packages = opt / "venv" / "lib" / "python3.99" / "site-packages"
    for name, files in (("nats_py-2", ["nats.py"]), ("base-2", ["base.py"])):
        (packages / f"{name}.dist-info").mkdir()
        lines = [f"{file},sha256=x,1\n" for file in (*files, f"{name}.dist-info/RECORD")]
        (packages / f"{name}.dist-info" / "RECORD").write_text("".join(lines))
        for file in files:
            (packages / file).write_text("added")
    for _ in range(2):  # and at the next upgrade
        (opt / "stamp").write_text("the second")
        done = upgrade(church)
        assert "Took nats_py-2 along" in done.stdout
        assert (packages / "nats.py").read_text() == "added"
    assert not (packages / "base.py").exists(), "the new version has another build of its own"


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
    assert (tmp_path / "opt" / f"{NAME}.old" / "venv" / "older").exists()
    assert (etc / "environment").stat().st_mode & 0o777 == 0o600
    # The stream key may be in it: only root and the service's group may read it.
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
    done = subprocess.run(
        [*command, "--json", "--sessions", str(tmp_path / "sessions"), "--port", "0"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr

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


def test_the_command_knows_the_environment_of_the_service(tmp_path: Path) -> None:
    """A token that was set there was unknown to `desk`."""
    text = (UNITS / f"{NAME}.sh").read_text()
    for folder in ("/opt", "/etc", "/var/lib"):
        text = text.replace(f"{folder}/{NAME}", f"{tmp_path}/{NAME}")
    (tmp_path / NAME / "venv" / "bin").mkdir(parents=True)
    environment = """# TOKEN=comment
TOKEN=a $HOME 'b
QUOTED="c d"
bad-name=1
"""
    (tmp_path / NAME / "environment").write_text(environment)
    for name, content in {
        f"{NAME}/venv/bin/{NAME}": 'echo "$TOKEN|$QUOTED|$*"',
        "command": text.removeprefix("#!/bin/sh\n"),
        "id": 'echo "$ME"',
        "sudo": 'echo "sudo $*" >&2\nwhile [ "$1" != -- ]; do shift; done; shift; ME=root "$@"',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{content}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    for me, asks in (("root", 1), ("helper", 2), ("stark-translate", 0)):
        ran = subprocess.run(
            [tmp_path / "command", "desk", "two words"],
            env={"PATH": path, "ME": me},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout == "a $HOME 'b|c d|desk two words\n"
        assert ran.stderr.count("sudo ") == asks
        assert ("--preserve-env=TOKEN,QUOTED -u stark-translate" in ran.stderr) == bool(asks)

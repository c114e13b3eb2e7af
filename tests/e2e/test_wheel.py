"""The built and installed wheel: it contains llama.cpp and every file the program reads."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tomllib
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from pipeline.core.languages import LANGUAGES
from tests.support.needs import needs_program, without
from tests.support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

UV = Path(sys.executable).with_name("uv")
BUNDLE = "pipeline/bundle/"


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel, and a working folder."""

    folder: Path

    def run(self, *command: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment; nothing of the checkout is in reach."""
        own = ("PYTHONPATH", "VIRTUAL_ENV")
        kept = {
            key: value
            for key, value in os.environ.items()
            if key not in own and not key.startswith("STARK_TRANSLATE__")
        }
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        return subprocess.run(
            [self.folder / "venv" / "bin" / command[0], *command[1:]],
            cwd=work,
            # Neither a compiler nor any other program of this machine is in reach.
            env=kept
            | {
                "PATH": str(self.folder / "venv" / "bin"),
                "XDG_DATA_HOME": str(work / "data"),
                "HF_HUB_OFFLINE": "1",
            },
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def ask(self, code: str) -> str:
        """Return the output of a line of Python."""
        done = self.run("python", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as `make wheel` does, with hatchling from the package index."""
    if not list((ROOT / "wheels").glob(f"*linux*_{platform.machine()}.whl")):
        without("llama.cpp has no wheel for this machine")
    needs_program(str(UV))
    into = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "scripts.wheels.build_own", platform.machine(), "--out", into],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode and "hatchling" in built.stderr and "fetch" in built.stderr:
        without("hatchling cannot be had: no package index")
    assert built.returncode == 0, built.stderr
    (made,) = into.glob(f"*manylinux*_{platform.machine()}.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel without dependencies; link those of this environment beside it."""
    folder = tmp_path_factory.mktemp("installed")
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    installing: list[str | Path] = [UV, "pip", "install", "--quiet", "--no-deps", "--offline"]
    subprocess.run([*installing, "--python", venv / "bin" / "python", wheel], check=True)
    (packages,) = (venv / "lib").glob("python*/site-packages")
    # This environment replaces the index, except for llama.cpp, which the wheel contains, and for
    # .pth files, which are the editable installation of the checkout.
    for package in Path(pytest.__file__).parents[1].iterdir():
        if not package.name.startswith("llama_cpp") and package.suffix != ".pth":
            with suppress(FileExistsError):
                (packages / package.name).symlink_to(package)
    made = Installed(folder)
    assert str(venv) in made.ask("import pipeline; print(pipeline.__file__)")
    return made


def test_the_wheel_holds_every_file_that_the_program_finds(wheel: Path) -> None:
    needs_program("git")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tracked = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    built = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    named = {*built["only-include"], *built["force-include"]} - {"pipeline"}
    carried = {name: f"{BUNDLE}{name}" for name in named}
    asked = {
        match[1]
        for name in tracked
        if name.startswith("pipeline/") and name.endswith(".py")
        for match in re.finditer(r'bundled\("([^"]+)"', (ROOT / name).read_text("utf-8"))
    }
    assert asked - {source.split("/")[0] for source in carried} == set()
    wanted = {name: name for name in tracked if name.startswith("pipeline/")}
    for source, place in carried.items():
        wanted |= {
            name: place + name.removeprefix(source)
            for name in tracked
            if name == source or name.startswith(f"{source}/")
        }
    with zipfile.ZipFile(wheel) as archive:
        held = {each.filename: each.file_size for each in archive.infolist()}
        assert [name for name in wanted.values() if name not in held] == []
        changed = [
            name
            for name, place in wanted.items()
            if held[place] != (ROOT / name).stat().st_size
            or archive.read(place) != (ROOT / name).read_bytes()
        ]
    assert changed == []
    assert len(wanted) > 300
    others = {name.split("/")[0] for name in held if ".dist-info/" not in name}
    assert others == {"pipeline"}, "no tests or scripts at the top of site-packages"


def test_it_needs_exactly_what_is_locked(installed: Installed) -> None:
    """All but llama.cpp, which it contains: an index must not supply untested versions."""
    code = "import importlib.metadata as m; print(*m.requires('stark-translate'), sep='\\n')"
    needed = [each for each in installed.ask(code).splitlines() if "extra ==" not in each]
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    locked = set(re.findall(r"^[\w.-]+==[^ \n]+", lock, re.MULTILINE))
    assert {each.split()[0].rstrip(";") for each in needed} == {
        each for each in locked if not each.startswith("llama-cpp-python")
    }
    where = installed.ask("import pipeline, llama_cpp; print(llama_cpp.__file__)")
    assert f"{BUNDLE}packages" in where


def test_what_ships_is_found_in_the_wheel(installed: Installed) -> None:
    models = installed.run("stark-translate", "models", "list", "--json")
    assert models.returncode == 0, models.stderr
    starters = [each for each in orjson.loads(models.stdout) if each["name"] == "starter"]
    assert {each["role"] for each in starters} == {"stt", "marian", "gemma"}
    verses = installed.run("stark-translate", "verses", "list")
    assert verses.returncode == 0, verses.stderr
    assert "the program" in verses.stdout
    output = installed.ask(
        "from pipeline.config.schema import Settings; "
        "from pipeline.core.languages import LANGUAGES; "
        "from pipeline.dictionary.store import Dictionary; "
        "print(len(Dictionary(Settings()).lexicon.rules), *LANGUAGES)"
    )
    rules, *languages = output.split()
    assert int(rules) > 50
    assert languages == list(LANGUAGES), "those of the checkout"


def test_a_service_and_its_report(installed: Installed) -> None:
    sound = installed.ask(
        "from pipeline.core.resources import bundled; print(bundled('demo', 'golden.flac'))"
    )
    assert BUNDLE in sound
    run = installed.run("stark-translate", "run", "--input", sound, "--pace", "fast", "--port", "0")
    assert run.returncode == 0, run.stderr
    (session,) = (installed.folder / "work" / "sessions").glob("2*")
    assert (session / "transcript.es.txt").read_text("utf-8").strip()
    checked = installed.run("stark-translate", "check", "--no-audio", "--port", "0", "--json")
    assert checked.returncode == 0, checked.stdout
    report = installed.run("stark-translate", "report", "last", "--out", "report.html")
    assert report.returncode == 0, report.stderr
    page = (installed.folder / "work" / "report.html").read_text("utf-8")
    assert "<svg" in page

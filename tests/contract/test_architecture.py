"""Check the imports: data flows one way, and nothing heavy loads before it is needed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

PIPELINE = ROOT / "pipeline"
UNIT = ROOT / "tests" / "unit"

PACKAGES = [
    *("core", "config", "text", "dictionary", "church", "records", "protocol", "audio", "models"),
    *("engines", "captions", "session", "workers", "voice", "server", "publish", "outputs"),
    *("evaluation", "tuning", "check"),
    *("review", "learning", "daemon", "cli"),
]
"""In the order of the data flow: each imports only from itself and from those before it."""

NEVER = {"server": {"session", "workers"}}
"""Packages that the order allows but that must not know each other."""

HEAVY = {
    *("torch", "ctranslate2", "faster_whisper", "llama_cpp", "sounddevice", "onnxruntime"),
    *("comet", "huggingface_hub", "moonshine_voice", "sentencepiece", "soundfile"),
}
HEAVY_IN = {"audio", "engines", "models", "evaluation/rescore", "tuning"}
"""Packages and modules that may import a heavy library, when it is needed."""

PURE = re.compile(r'\A"""[^"]*\bPure\b')
FORBIDDEN_IN_PURE = {
    *("asyncio", "http", "multiprocessing", "os", "queue", "random", "socket", "subprocess"),
    *("threading", "time", "psutil", "websockets", *HEAVY),
}

NOT_TESTED_ALONE = {
    "cli/commands/config",  # tested with the settings it prints: config/test_schema.py
    "cli/commands/devices",  # tested with the devices it lists: audio/test_devices.py
    "cli/options",  # tested through each command
    *("audio/protocols", "engines/protocols"),
    *("core/reports", "core/standing", "core/terms", "captions/sink"),
    "protocol/past_services",
    "config/section",  # tested through the sections derived from it
    "daemon/context/screen",
    "daemon/context/context",  # tested through the parts that get it
    # All of these together read a reference: church/scripture/test_references.py
    *(f"church/scripture/{name}" for name in ("reference_reader", "reference_numbers")),
}

MOST_LINES = 450
"""Per module, without comments: explanations must not use up its lines."""
MOST_MODULES = 20
"""Per folder. A folder with more needs subfolders."""
MOST_IMPORTS = 25
"""Of our own modules, per module: one with more does several jobs."""

MODULES = [path for path in sorted(PIPELINE.rglob("*.py")) if path.name != "__init__.py"]


def place(path: Path) -> str:
    """Return `package/module` for a file of the program."""
    return path.relative_to(PIPELINE).with_suffix("").as_posix()


def listed(path: Path, places: set[str]) -> bool:
    """Whether a file or its package is among `places`."""
    return any(place(path) == each or place(path).startswith(f"{each}/") for each in places)


@cache
def source(path: Path) -> str:
    """Return a file's text."""
    return path.read_text(encoding="utf-8")


IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+(\w[\w., \t]*))", re.MULTILINE
)
"""An import; ruff enforces one per line. Parsing all files takes seconds."""


@cache
def imported(path: Path) -> frozenset[str]:
    """Return the dotted names that a file imports anywhere, programs in strings included."""
    found: set[str] = set()
    for module, several in IMPORT.findall(source(path)):
        assert not module.startswith("."), f"{path}: relative import"
        found |= {each.split()[0] for each in (module or several).split(",") if each.strip()}
    return frozenset(found)


def packages_imported(path: Path) -> set[str]:
    """Return our packages that a file imports from, without its own."""
    ours = {name.split(".")[1] for name in imported(path) if name.startswith("pipeline.")}
    return ours - {path.relative_to(PIPELINE).parts[0]}


def test_every_package_has_its_place_in_the_order() -> None:
    found = {path.parent.name for path in PIPELINE.glob("*/__init__.py")}
    assert found == set(PACKAGES)
    assert {path.name for path in PIPELINE.glob("*.py")} == {"__init__.py", "__main__.py"}


def roots_imported(path: Path) -> set[str]:
    """Return the packages that a file imports from, our own and others."""
    return {name.split(".")[0] for name in imported(path)}


def allowed(path: Path) -> set[str]:
    """Return our packages that a file may import from, without its own."""
    package = path.relative_to(PIPELINE).parts[0]
    if package == "__main__.py":
        return set(PACKAGES)
    return set(PACKAGES[: PACKAGES.index(package)]) - NEVER.get(package, set())


def test_imports_follow_the_order() -> None:
    against = {place(path): packages_imported(path) - allowed(path) for path in MODULES}
    assert {name: found for name, found in against.items() if found} == {}


def test_modules_that_say_pure_are_pure() -> None:
    """A module whose docstring says "Pure." has no thread, clock, socket, file or engine."""
    pure = [path for path in MODULES if PURE.search(source(path))]
    assert len(pure) > 70
    against = {place(path): roots_imported(path) & FORBIDDEN_IN_PURE for path in pure}
    assert {name: found for name, found in against.items() if found} == {}


def test_heavy_libraries_stay_in_their_rooms() -> None:
    others = [path for path in MODULES if not listed(path, HEAVY_IN)]
    against = {place(path): roots_imported(path) & HEAVY for path in others}
    assert {name: found for name, found in against.items() if found} == {}


def test_every_name_in_these_lists_exists() -> None:
    there = {place(path) for path in MODULES} | set(PACKAGES)
    assert (HEAVY_IN | NOT_TESTED_ALONE) - there == set()


def test_modules_and_folders_stay_small() -> None:
    lines = {place(path): source(path).splitlines() for path in MODULES}
    sizes = {
        name: sum(not line.lstrip().startswith("#") for line in each)
        for name, each in lines.items()
    }
    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}
    folders = Counter(path.parent.relative_to(PIPELINE).as_posix() for path in MODULES)
    del folders["cli/commands"]  # one module for each command
    assert {name: count for name, count in folders.items() if count > MOST_MODULES} == {}


OURS = re.compile(
    r"^[ \t]*from[ \t]+(pipeline[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE
)


@cache
def modules_imported(path: Path) -> frozenset[str]:
    """Return the places of our modules that a file imports, inside functions too."""
    found = set()
    for package, names in OURS.findall(source(path)):
        within = Path(*package.split("."))
        if (ROOT / within.with_suffix(".py")).exists():
            found.add(within.relative_to("pipeline").as_posix())
            continue
        for name in re.findall(r"\w+", names):
            if (ROOT / within / f"{name}.py").exists():
                found.add((within / name).relative_to("pipeline").as_posix())
    return frozenset(found)


def test_no_module_imports_too_many() -> None:
    counts = {place(path): len(modules_imported(path)) for path in MODULES}
    assert {name: count for name, count in counts.items() if count > MOST_IMPORTS} == {}


def circle(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the modules left after repeatedly removing those that import none of the rest."""
    left = {name: set(others) - {name} for name, others in imports.items()}
    while leaves := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in leaves}
    return sorted(left)


def test_no_modules_import_each_other_in_a_ring() -> None:
    assert circle({place(path): modules_imported(path) for path in MODULES}) == []


def test_no_folders_of_a_package_import_each_other_in_a_ring() -> None:
    """A module outside its package's folders counts as a folder."""
    imports: dict[str, set[str]] = {}
    for path in MODULES:
        package, room = place(path).split("/")[0], "/".join(place(path).split("/")[:2])
        own = {name for name in modules_imported(path) if name.split("/")[0] == package}
        imports.setdefault(room, set()).update("/".join(name.split("/")[:2]) for name in own)
    assert circle(imports) == []


def test_unit_tests_mirror_the_program() -> None:
    """Every module has a test file at its own path; its topics may have test files beside it.

    The test of `P/module.py` is `P/test_module.py`; a topic's is `P/test_module_topic.py`.
    """
    modules = {place(path) for path in MODULES} - {"__main__"}
    tests = {
        f"{path.parent.relative_to(UNIT).as_posix()}/{path.stem.removeprefix('test_')}"
        for path in UNIT.rglob("test_*.py")
    }
    assert (modules - NOT_TESTED_ALONE) - tests == set()
    of_topics = {test for test in tests - modules if any(test.startswith(f"{m}_") for m in modules)}
    assert tests - modules - of_topics == set()


ROOTS = (ROOT / "scripts", ROOT / "training")
ROOT_NAMES = {root.name for root in ROOTS}
OUTSIDE = [*MODULES, *sorted(path for root in ROOTS for path in root.rglob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def of(name: str, package: str) -> bool:
    """Whether a dotted name is a package or is inside it."""
    return name == package or name.startswith(f"{package}.")


def test_nothing_outside_tests_imports_tests() -> None:
    near = [path for path in OUTSIDE if "tests" in source(path)]
    assert [path for path in near if any(of(name, "tests") for name in imported(path))] == []


def test_the_program_needs_no_script() -> None:
    near = [path for path in MODULES if any(name in source(path) for name in ROOT_NAMES)]
    assert [path for path in near if ROOT_NAMES & roots_imported(path)] == []


def test_tests_import_helpers_but_no_other_test() -> None:
    """Code that two tests need is in tests/support, or scripts/support if a script needs it."""
    near = [path for path in TESTS if ".test_" in source(path)]
    assert [path for path in near if any(".test_" in name for name in imported(path))] == []
    written = re.compile(r"from tests\S*\.test_\w+ import")  # in programs for other processes
    assert [path for path in TESTS if written.search(source(path))] == []


def test_scripts_have_one_import_root() -> None:
    """All import a script as `scripts.<package>.<name>`, never by its bare name."""
    every = [path for root in ROOTS for path in root.rglob("*")]
    inside = [path for path in every if path.suffix in ("", ".py") and path.stem not in ROOT_NAMES]
    bare = {path.stem for path in inside if not path.name.startswith("_")}
    first = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)
    near = [path for path in [*OUTSIDE, *TESTS] if bare & set(first.findall(source(path)))]
    assert [path for path in near if bare & roots_imported(path)] == []
    assert [path for path in inside if path.is_file() and "sys.path" in source(path)] == []


def test_importing_the_app_loads_nothing_heavy() -> None:
    code = (
        "import sys, pipeline.daemon.life.app, pipeline.cli.main;"
        f"print([m for m in {sorted(HEAVY - {'soundfile'})} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

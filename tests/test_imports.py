"""Who may import whom: data flows one way, and nothing heavy loads before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "pipeline"

LAYERS = """
errors events bundled level standard_streams
config protocols
attempts captions corrections door drafting exports fields hallucinations judging gibberish \
ladder layout loops markup compare_records messages off_record origins page_scripts phrases \
plots prompts quality records resample rest rules segmenter sentences session_records shapes \
stabilizer subscription subtitles tally undo wire
hub_errors hub_files model_store pulling registry
archive certificate config_edit config_layers descriptors effects portaudio inbox mailbox \
model_list models notify operator_token recording verdicts
tuning tuning_verdicts
devices comparison resume retention
engines hardware
clients diagnostics dictionary endpoints glass incoming last_check listening logs metrics \
operators pages pairs ports purging scoring session_files transcripts golden_sentence \
live_screen stages terminal
broadcast report report_figures report_tables review workers
detecting
assembly controls crew desk preflight rehearsal soundcheck job_timing trial_speech trials tuned
asking health reload
watch
app replay review_server
commands
cli
""".strip().splitlines()
"""Modules and packages of pipeline; each imports from its own line and those above it only."""

# The third line is pure: no thread, clock, socket, file or engine.
PURE = {"errors", "events", "level", *LAYERS[2].split()}
FORBIDDEN_IN_PURE = {
    *("asyncio", "http", "multiprocessing", "os", "queue", "random", "socket", "subprocess"),
    *("threading", "time", "ctranslate2", "faster_whisper", "llama_cpp", "onnxruntime", "psutil"),
    *("sounddevice", "soundfile", "websockets"),
}
HEAVY = [
    *("torch", "ctranslate2", "faster_whisper", "llama_cpp", "sounddevice", "onnxruntime"),
    "huggingface_hub",
]


def modules() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def unit(path: Path) -> str:
    """Return the name under which a file stands in LAYERS: its module or its package."""
    if path == ROOT / "engines" / "__init__.py":
        return "protocols"
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def target(name: str) -> str:
    """Return the name in LAYERS of an imported module of ours."""
    return "protocols" if name == "pipeline.engines" else name.split(".")[1]


def imported(path: Path) -> set[str]:
    """Return the dotted names that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            if node.module == "pipeline":
                found |= {f"pipeline.{alias.name}" for alias in node.names}
    return found


def rank(name: str) -> int:
    return next(index for index, layer in enumerate(LAYERS) if name in layer.split())


def test_every_module_has_its_layer() -> None:
    assert {unit(path) for path in modules()} == set(" ".join(LAYERS).split())


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upward(path: Path) -> None:
    own = rank(unit(path))
    ours = {name for name in imported(path) if name.startswith("pipeline.")}
    assert [n for n in ours if n != "pipeline.__version__" and rank(target(n)) > own] == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pure_modules_are_pure(path: Path) -> None:
    if unit(path) in PURE:
        assert {name.split(".")[0] for name in imported(path)} & FORBIDDEN_IN_PURE == set()


def test_modules_stay_small() -> None:
    sizes = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in modules()}
    assert {name: size for name, size in sizes.items() if size > 330} == {}


def test_every_module_has_its_test_file() -> None:
    tests = {path.name for path in Path(__file__).parent.rglob("test_*.py")}
    untested = [p for p in modules() if p.name != "__init__.py" and f"test_{p.name}" not in tests]
    assert untested == []


def test_importing_the_app_loads_nothing_heavy() -> None:
    code = (
        f"import sys, pipeline.app, pipeline.cli; print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

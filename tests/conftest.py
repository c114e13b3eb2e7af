"""For every test: it must stop what it starts; and which models it gets."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.marks import left_out, marks_of_all
from tests.support.real_models import real_model

os.environ["TZ"] = "UTC"  # session names follow the machine's clock
time.tzset()

_PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
"""An example's duration says more about the machine's other load than about our code."""
settings.register_profile("usual", settings(), **_PATIENT)
settings.register_profile("quick", settings(), max_examples=15, **_PATIENT)
"""For `make check`: `make test` tries 100 examples, or as many as the test says."""
settings.register_profile("long", max_examples=2_000, **_PATIENT)
"""For `pytest --hypothesis-profile=long -o timeout=0 tests/fuzz`, now and then."""
settings.load_profile("usual")

LIBRARY_THREADS = ("tqdm", "asyncio_", "portaudio", "pytest_timeout", "ThreadPoolExecutor")
"""Threads that libraries keep for the whole process."""

GRACE_S = 5.0

FINAL_MODEL = "STARK_TRANSLATE__TRANSLATE__FINAL__MODEL"

FAST_S = 0.3
"""A test that needs more processor time has the mark `slow`."""
MARKS = {"slow", "browser", "sound", "train"}
"""What `make check` leaves out."""
WHOLE = "tests/contract/"
"""Tests here read every file, and still run before every commit."""

BROWSER = Path(__file__).parent / "browser"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not load modules that `-m` excludes as a whole: torch and playwright take seconds to load.

    tests/contract/test_marks.py ensures that such a module has no other test.
    """
    unwanted = left_out(config.option.markexpr)
    if "browser" in unwanted and collection_path == BROWSER:
        return True
    if unwanted and collection_path.suffix == ".py":
        return not unwanted.isdisjoint(marks_of_all(collection_path.read_text("utf-8"))) or None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector off objects that stay: modules and thousands of tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Record the processor time of a test, including the programs that it runs."""
    before_s = sum(os.times()[:4])
    try:
        yield
    finally:
        item.user_properties.append(("cpu_s", sum(os.times()[:4]) - before_s))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests too slow for `make check`; this fails nothing, as machines may be slow."""
    took_s = {
        report.nodeid: dict(report.user_properties).get("cpu_s", 0.0)
        for report in terminalreporter.getreports("passed")
        if MARKS.isdisjoint(report.keywords) and not report.nodeid.startswith(WHOLE)
    }
    slow = sorted((s, name) for name, s in took_s.items() if s > FAST_S)
    if slow:
        terminalreporter.section(f"over {FAST_S} s of the processor, without the mark `slow`")
        for each_s, name in reversed(slow):
            terminalreporter.write_line(f"{each_s:.2f} {name}")


@pytest.fixture(autouse=True)
def _no_leaked_thread() -> Iterator[None]:
    """Fail a test that leaves a thread of ours behind."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + GRACE_S
    while leaked := [
        thread
        for thread in set(threading.enumerate()) - before
        if thread.is_alive() and not thread.name.startswith(LIBRARY_THREADS)
    ]:
        if time.monotonic() > deadline:
            pytest.fail(f"left running: {[thread.name for thread in leaked]}")
        time.sleep(0.02)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder, without a config.toml."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def _no_models_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the user's pulled models from the tests: "auto" is the starter in them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _a_small_final_translator() -> Iterator[None]:
    """Use the tiny one: the starter's has 20 times the weights and tests no more of our code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FINAL_MODEL, "tiny")
        yield


@pytest.fixture
def own_final_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the settings name the final translator: the environment would override the file."""
    monkeypatch.delenv(FINAL_MODEL)


@pytest.fixture(scope="session", autouse=True)
def _no_waits_for_the_disk(request: pytest.FixtureRequest) -> Iterator[None]:
    """Skip `fsync` where slow tests are excluded; `make test` waits for the disk.

    Only a power cut would show the difference, and no test cuts the power.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "slow" in left_out(request.config.option.markexpr):
            patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def whisper_base() -> Path:
    """Return the folder of the real Whisper base."""
    return real_model("whisper-base")


@pytest.fixture(scope="session")
def gemma_270m() -> Path:
    """Return the file of the real Gemma 3 270M."""
    return real_model("gemma-3-270m-q4_k_m")

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pipeline.engines.llama_cpp.llama import has_gpu
from pipeline.tuning import hardware
from pipeline.tuning.hardware import ExternalLoad, gpus, machine, parse_gpus
from pipeline.tuning.plan import Gpu
from tests.support.programs import put_program

LISTED = "NVIDIA GeForce RTX 3090, 24576, 24100\nNVIDIA T4, 15360, 15000\n"


@pytest.fixture
def short_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the machine for 0.05 s; a user waits a whole second."""
    monkeypatch.setattr(hardware, "_LOOK_S", 0.05)


@pytest.mark.usefixtures("short_look")
def test_this_machine() -> None:
    here = machine()
    assert here.cpu
    assert 1 <= here.cores <= (psutil.cpu_count() or 1)
    assert 0 < here.ram_free_bytes <= here.ram_bytes == psutil.virtual_memory().total
    assert 0.0 <= here.busy <= 1.0
    assert here.llama_gpu == has_gpu()


@pytest.mark.slow
def test_what_others_take_of_the_processor() -> None:
    """This process's own work does not count; that of another process does."""
    cores = psutil.cpu_count() or 1
    psutil.cpu_percent()
    others, own_s, began_s = ExternalLoad(), time.process_time(), time.perf_counter()
    while time.perf_counter() < began_s + 0.5:
        pass
    own = (time.process_time() - own_s) / (time.perf_counter() - began_s) / cores
    assert others.share() + own == pytest.approx(psutil.cpu_percent() / 100, abs=0.15)
    others = ExternalLoad()
    spin = "import time; end = time.time() + 0.7\nwhile time.time() < end: pass"
    burning = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(cores)]
    for each in burning:
        each.wait()
    assert others.share() > 0.7
    assert ExternalLoad().share() in (0.0, 1.0), "no time has passed"


@pytest.mark.usefixtures("short_look")
def test_cores_that_this_process_may_not_use_do_not_count() -> None:
    own = psutil.Process()
    before = own.cpu_affinity()
    own.cpu_affinity(before[:1])
    try:
        assert machine().cores == 1
    finally:
        own.cpu_affinity(before)


def test_what_nvidia_smi_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_program(tmp_path, f"printf '{LISTED}'", monkeypatch)
    assert gpus() == (
        Gpu("NVIDIA GeForce RTX 3090", 24576 << 20, 24100 << 20),
        Gpu("NVIDIA T4", 15360 << 20, 15000 << 20),
    )


def test_nvidia_smi_is_asked_for_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, f'echo "$@" > {tmp_path}/asked', monkeypatch)
    assert gpus() == ()
    asked = (tmp_path / "asked").read_text()
    assert "--query-gpu=name,memory.total,memory.free" in asked
    assert "csv,noheader,nounits" in asked


def test_lines_that_do_not_tell_are_left_out() -> None:
    assert parse_gpus("") == ()
    assert parse_gpus("NVIDIA GB10, [N/A], [N/A]\nA, B, 10, 5\nhalf\n") == (
        Gpu("A, B", 10 << 20, 5 << 20),
    )


@pytest.mark.usefixtures("short_look")
def test_a_system_that_tells_no_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    """psutil has no such method on macOS."""
    monkeypatch.delattr(psutil.Process, "cpu_affinity")
    assert machine().cores == (psutil.cpu_count(logical=False) or psutil.cpu_count() or 1)

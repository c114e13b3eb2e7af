"""Processes that die, hang, grow or cannot load: the starter models, real signals, real deaths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from pipeline.core.errors import EngineError, EngineGoneError, ModelCrashError, ModelError
from pipeline.core.threads import watched
from pipeline.engines.process.engine_process import EngineProcess, TranslatorProcess
from pipeline.engines.specification import EngineSpec
from pipeline.models import integrity
from pipeline.models.crash_history import CrashHistory
from tests.support.engine_processes import (
    PATIENT_S,
    Kept,
    ask_in_vain,
    ask_on,
    kept_processes,
    open_files,
    soon,
    spec,
)
from tests.support.failing_engines import (
    CRASHES,
    GPU,
    GPU_ALONE,
    GPU_FAULTS,
    GPU_LOST,
    HOLDS_ITS_OUTPUT,
    hungry,
    put_into_children,
    starve,
)

pytestmark = pytest.mark.slow

PARTS = pytest.mark.parametrize("part", ["stt", "partial", "final"])


@pytest.fixture
def keep() -> Iterator[Callable[..., Kept]]:
    with kept_processes() as make:
        yield make


@PARTS
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGSEGV, "engine-crashed"), (signal.SIGKILL, "engine-killed")],
)
def test_one_that_dies_is_replaced_at_once_and_told(
    keep: Callable[..., Kept], part: str, number: signal.Signals, code: str
) -> None:
    kept = keep(part)
    kept.process.load()
    before, text = kept.pid, kept.ask()
    os.kill(before, number)
    with pytest.raises(EngineGoneError):
        ask_on(kept)
    soon(lambda: kept.process.pid not in {None, before})
    assert kept.ask() == text
    assert kept.codes == [code]
    assert number.name in kept.faults[0][1]
    assert number.name in kept.reasons[0]
    assert kept.process.degraded_reason == ""
    assert not psutil.pid_exists(before)


@PARTS
def test_one_that_hangs_is_replaced_when_patience_ends(
    keep: Callable[..., Kept], part: str
) -> None:
    kept = keep(part)
    kept.process.load()
    before, text = kept.pid, kept.ask()
    kept.process._hang_s = 1.0
    if isinstance(kept.process, TranslatorProcess) and part == "final":
        kept.process.deadline_s = 0.5
    os.kill(before, signal.SIGSTOP)
    with pytest.raises(EngineGoneError):
        kept.ask()
    kept.process._hang_s = PATIENT_S
    if isinstance(kept.process, TranslatorProcess) and part == "final":
        kept.process.deadline_s = PATIENT_S
    soon(lambda: kept.process.pid not in {None, before})
    assert kept.ask() == text
    assert kept.codes == ["engine-hangs"]
    assert not psutil.pid_exists(before)


@PARTS
def test_one_that_the_kernel_kills_for_want_of_memory_is_a_fault_of_its_own(
    keep: Callable[..., Kept], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in hungry(tmp_path / "site", part).items():
        monkeypatch.setenv(name, value)
    kept = keep(part)
    kept.process.load()
    before, text = kept.pid, kept.ask()
    with starve(before, tmp_path / "site"), pytest.raises(EngineGoneError):
        ask_on(kept)
    soon(lambda: kept.process.pid not in {None, before})
    assert kept.ask() == text
    assert kept.codes == ["engine-out-of-memory"]
    assert "for want of memory" in kept.faults[0][1]


def test_one_that_an_allocation_fails_in_is_replaced_as_well(keep: Callable[..., Kept]) -> None:
    kept = keep("stt")
    kept.process.load()
    before = kept.pid
    used = psutil.Process(before).memory_info().vms
    psutil.Process(before).rlimit(psutil.RLIMIT_AS, (used, used))
    minute = np.zeros(16_000 * 1800, np.float32)
    with pytest.raises(EngineGoneError):
        kept.process.recognize(minute, final=True)  # type: ignore[union-attr]
    soon(lambda: kept.process.pid not in {None, before})
    assert kept.codes == ["engine-out-of-memory"]
    assert kept.ask()


@pytest.mark.parametrize("limit_mb", [150, 300, 390, 450, 480])
def test_too_little_memory_to_load_is_named_and_not_held_against_the_model(
    keep: Callable[..., Kept], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit_mb: int
) -> None:
    """The limits hit the interpreter, the loader of shared libraries, OpenMP's threads, and the
    library itself, which says it in other words on each kind of processor or only crashes.
    """
    code = f"import resource as r; r.setrlimit(r.RLIMIT_AS, ({limit_mb} * 10**6,) * 2)"
    text = f"\n    {code}\n"
    for name, value in put_into_children(tmp_path / "site", "stt", text).items():
        monkeypatch.setenv(name, value)
    crashes = CrashHistory(tmp_path / "crashes.json")
    kept = keep("stt", crashes=crashes)
    with pytest.raises(ModelCrashError) as caught:
        kept.process.load()
    assert caught.value.code == "engine-out-of-memory"
    assert f"0.{limit_mb // 10} GB were free" in caught.value.message
    assert "stt.model" in caught.value.message
    assert crashes.of(kept.process.spec.model) is None


def test_a_keeper_that_cannot_go_on_ends_the_service_and_nobody_waits_for_it(
    keep: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.core.threads._AGAIN_S", (0.0,))
    kept = keep("stt")
    kept.process._supervision = None  # type: ignore[assignment]
    ended: list[str] = []
    with watched(lambda name, _: ended.append(name)):
        with pytest.raises(EngineError, match="was not looked after"):
            kept.process.load()
        kept.process.close()
    assert ended == ["stt keeper"]
    assert kept.codes == ["engine-unattended"] * 2


def test_one_that_grows_too_large_is_replaced(
    keep: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.engines.process.keeper._MEMORY_S", 0.05)
    kept = keep("stt", growth_bytes=20_000_000)
    kept.process.load()
    before = kept.pid
    long = np.zeros(16_000 * 600, np.float32)  # 38 MB, and its spectrogram
    with pytest.raises(EngineGoneError):
        ask_on(kept, lambda: kept.process.recognize(long, final=True))  # type: ignore[union-attr]
    soon(lambda: kept.process.pid not in {None, before})
    assert "engine-too-large" in kept.codes
    assert "MB" in kept.faults[0][1]


def test_a_death_while_nobody_asks_is_noticed_and_mended(keep: Callable[..., Kept]) -> None:
    kept = keep("partial")
    kept.process.load()
    for _ in range(2):
        before = kept.pid
        os.kill(before, signal.SIGSEGV)
        soon(lambda pid=before: kept.process.pid not in {None, pid})  # type: ignore[misc]
    assert kept.codes == ["engine-crashed"] * 2
    assert "in 1 s" in kept.faults[1][1]
    assert kept.ask()


def test_no_descriptor_and_no_thread_is_left_of_those_that_died(keep: Callable[..., Kept]) -> None:
    threads, files = threading.active_count(), open_files()
    kept = keep("partial")
    for _ in range(3):
        kept.process.load()
        before = kept.pid
        os.kill(before, signal.SIGKILL)
        soon(lambda pid=before: kept.process.pid not in {None, pid})  # type: ignore[misc]
    kept.process.close()
    assert (threading.active_count(), open_files()) == (threads, files)


def test_a_call_of_the_recognizer_waits_for_its_successor(keep: Callable[..., Kept]) -> None:
    kept = keep("stt")
    kept.process.load()
    os.kill(kept.pid, signal.SIGSEGV)
    soon(lambda: kept.process.pid is None)
    assert kept.ask()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_to_the_whole_service_are_the_daemons(
    keep: Callable[..., Kept], number: signal.Signals
) -> None:
    kept = keep("partial")
    kept.process.load()
    before = kept.pid
    os.kill(before, number)
    assert kept.ask()
    assert kept.pid == before


def test_the_kernel_takes_it_before_the_daemon(keep: Callable[..., Kept]) -> None:
    kept = keep("partial")
    kept.process.load()
    score = int(Path(f"/proc/{kept.pid}/oom_score_adj").read_text())
    assert score > int(Path("/proc/self/oom_score_adj").read_text())
    assert Path(f"/proc/{kept.pid}/comm").read_text().strip() == "stark-partial"


@pytest.mark.parametrize("moment", ["loading", "idle", "stopped"])
def test_a_parent_that_is_killed_leaves_no_orphan(tmp_path: Path, moment: str) -> None:
    code = (
        "import time; from pipeline.engines.process.engine_process import *; "
        "from pipeline.engines.specification import *; "
        "from pipeline.models.resolve import resolve; "
        "p = TranslatorProcess(EngineSpec('gemma', 'g', resolve('gemma', 'starter'), {}), FINAL); "
        f"p.start(); {'p.load();' if moment != 'loading' else ''} print('x', flush=True); "
        "time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        soon(lambda: psutil.Process(parent.pid).children())
        found = psutil.Process(parent.pid).children()
        if moment == "stopped":
            found[0].suspend()
        parent.kill()
    _, alive = psutil.wait_procs(found, 10)
    assert not alive


@pytest.mark.parametrize("moment", ["loading", "idle", "stopped", "asked"])
def test_closed_it_ends_at_once_whatever_it_is_at(keep: Callable[..., Kept], moment: str) -> None:
    kept = keep("final")
    kept.process.start()
    if moment != "loading":
        kept.process.load()
    asker = threading.Thread(target=ask_in_vain, args=(kept,))
    if moment in {"stopped", "asked"}:
        os.kill(kept.pid, signal.SIGSTOP)
    if moment == "asked":
        asker.start()
        time.sleep(0.3)
    began_s = time.monotonic()
    kept.process.close()
    assert time.monotonic() - began_s < 20
    if moment == "asked":
        asker.join(10)
        assert not asker.is_alive()
    assert kept.process.pid is None
    assert kept.faults == []
    with pytest.raises(EngineGoneError):
        kept.ask()


def test_what_the_engine_refuses_comes_back_as_it_is(keep: Callable[..., Kept]) -> None:
    missing = EngineSpec("gemma", "gemma", Path("/nowhere.gguf"), {})
    kept = keep("final", engine=missing)
    with pytest.raises(ModelError, match="there is no file") as caught:
        kept.process.load()
    assert caught.value.code == "model-missing"
    assert caught.value.fix == "Give a .gguf file."
    assert kept.faults == [], "who loads it tells"


class TestCrashesWhileLoading:
    @pytest.fixture
    def history(self, tmp_path: Path) -> CrashHistory:
        return CrashHistory(tmp_path / "crashes.json")

    @pytest.fixture
    def crashing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        def arrange(part: str) -> None:
            variables = put_into_children(tmp_path / "site", part, CRASHES[part])
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
            monkeypatch.setattr("pipeline.engines.process.supervision._FIRST_S", 0.05)

        return arrange

    @PARTS
    def test_three_times_and_it_is_given_up_and_never_tried_again(
        self,
        keep: Callable[..., Kept],
        part: str,
        crashing: Callable[[str], None],
        history: CrashHistory,
    ) -> None:
        crashing(part)
        kept = keep(part, crashes=history)
        with pytest.raises(ModelCrashError, match="3 times in a row") as caught:
            kept.process.load()
        assert caught.value.exit_code == 70
        assert "free(): invalid pointer" in caught.value.message
        assert str(kept.process.spec.model) in caught.value.message
        assert kept.codes == ["engine-crashed"] * 2
        assert "is given up" in kept.process.degraded_reason
        again = keep(part, crashes=history)  # as after a restart by systemd
        with pytest.raises(ModelCrashError, match="is not loaded: on 20"):
            again.process.load()
        assert again.codes == []
        with pytest.raises(ModelCrashError if part == "stt" else EngineGoneError):
            again.ask()

    def test_a_check_tries_it_all_the_same_and_one_that_loads_is_forgotten(
        self, keep: Callable[..., Kept], history: CrashHistory
    ) -> None:
        for _ in range(3):
            history.note(spec("partial").model, "crashed (SIGSEGV)")
        with pytest.raises(ModelCrashError):
            keep("partial", crashes=history).process.load()
        keep("partial", crashes=history, restarts=False).process.load()
        assert history.of(spec("partial").model) is None
        keep("partial", crashes=history).process.load()

    def test_without_restarts_the_first_crash_says_it_all(
        self, keep: Callable[..., Kept], crashing: Callable[[str], None]
    ) -> None:
        crashing("final")
        kept = keep("final", restarts=False)
        with pytest.raises(EngineError, match=r"crashed \(SIGABRT: free\(\): invalid pointer\)"):
            kept.process.load()
        assert kept.faults == []


def test_without_restarts_a_call_tells_what_it_died_of(keep: Callable[..., Kept]) -> None:
    kept = keep("final", restarts=False)
    kept.process.load()
    killer = threading.Timer(0.3, os.kill, (kept.pid, signal.SIGSEGV))
    killer.start()
    with pytest.raises(EngineError, match="SIGSEGV"):
        ask_on(kept)
    killer.join()


@pytest.mark.parametrize("fault", ["death", "error", "memory"])
def test_a_gpu_that_fails_gets_the_same_once_more_then_fewer_layers_then_none(
    keep: Callable[..., Kept], fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real model in real processes, in which the layers meant for a GPU fail."""
    text = GPU.replace("{fault}", GPU_FAULTS[fault])
    for name, value in put_into_children(tmp_path / "site", "final", text).items():
        monkeypatch.setenv(name, value)
    kept = keep("final", engine=spec("final", gpu_layers=-1))
    kept.process.load()
    layers = []
    for _ in range(5):
        child = kept.process._ready
        assert child is not None
        layers.append(child.gpu_layers)
        if not child.gpu_layers:
            break
        with pytest.raises(EngineGoneError):
            kept.ask()
        soon(lambda pid=child.pid: kept.process.pid not in {None, pid})  # type: ignore[misc]
    assert layers == [-1, -1, layers[2], layers[2], 0]
    assert layers[2] is not None
    assert layers[2] > 0
    assert kept.ask()
    assert (
        kept.process.degraded_reason
        == "the final translator failed on the GPU; it runs on the CPU alone now"
    )
    reduced = [message for code, message in kept.faults if code == "gpu-reduced"]
    assert f"{layers[2]} layers are on it now" in reduced[0]
    assert len(reduced) == 2
    causes = {"death": "engine-crashed", "error": "gpu-failed", "memory": "engine-out-of-memory"}
    assert kept.codes.count(causes[fault]) == 4


@pytest.fixture
def lose_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that says that the GPU is lost; the recognizer's first call makes it."""
    lost = tmp_path / "lost"
    text = GPU_LOST.format(lost=str(lost))
    for name, value in put_into_children(tmp_path / "site", "stt", text).items():
        monkeypatch.setenv(name, value)
    return lost


def test_a_recognizer_whose_gpu_is_lost_goes_on_on_the_cpu(
    keep: Callable[..., Kept], lose_gpu: Path
) -> None:
    kept = keep("stt", engine=spec("stt", device="cuda", compute_type="float16"))
    kept.process.load()
    with pytest.raises(EngineGoneError):
        kept.ask()
    assert lose_gpu.exists()
    assert kept.ask()
    assert (
        kept.process.degraded_reason
        == "the recognizer failed on the GPU; it runs on the CPU alone now"
    )
    assert kept.codes == ["gpu-failed", "gpu-failed", "gpu-reduced"]
    assert "could not go back to the GPU: CUDA failed: no CUDA-capable" in kept.faults[1][1]


def test_a_gpu_that_is_not_there_at_the_start_is_a_mistake_in_the_settings(
    keep: Callable[..., Kept], lose_gpu: Path
) -> None:
    lose_gpu.touch()
    kept = keep("stt", engine=spec("stt", device="cuda", compute_type="float16"))
    with pytest.raises(ModelError, match="gpu-unavailable"):
        kept.process.load()


def test_where_the_cpu_does_not_help_either_the_translator_is_done_without(
    keep: Callable[..., Kept], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = GPU_ALONE.replace("{fault}", GPU_FAULTS["error"])
    for name, value in put_into_children(tmp_path / "site", "final", text).items():
        monkeypatch.setenv(name, value)
    kept = keep("final", engine=spec("final", gpu_layers=-1))
    kept.process.load()
    for _ in range(4):  # all layers twice, half of them twice
        before = kept.pid
        with pytest.raises(EngineGoneError):
            kept.ask()
        soon(
            lambda pid=before: (  # type: ignore[misc]
                kept.process.pid not in {None, pid} or "model-crashes" in kept.codes
            )
        )
    soon(lambda: "model-crashes" in kept.codes)
    ask_in_vain(kept)
    assert kept.codes.count("gpu-failed") == 4
    assert kept.codes.count("engine-crashed") == 2, "the third time is told as the last"
    assert kept.process.degraded_reason.startswith(
        "the final translator is given up [model-crashes]; the quick one makes the finals"
    )


def test_a_killed_one_whose_output_stays_open_is_replaced(
    keep: Callable[..., Kept], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = tmp_path / "pids"
    text = HOLDS_ITS_OUTPUT.format(pids=str(pids))
    for name, value in put_into_children(tmp_path / "site", "partial", text).items():
        monkeypatch.setenv(name, value)
    try:
        kept = keep("partial")
        kept.process.load()
        before = kept.pid
        os.kill(before, signal.SIGKILL)
        soon(lambda: kept.process.pid not in {None, before})
        assert kept.ask()
        assert kept.codes == ["engine-killed"]
    finally:
        for pid in pids.read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def test_a_recognizer_on_a_gpu_goes_back_to_the_cpu() -> None:
    asked = spec("stt", device="cuda", compute_type="float16")
    assert asked.wants_gpu
    assert asked.with_gpu_share(1.0).arguments == asked.arguments
    assert asked.with_gpu_share(0.0).arguments == {"device": "cpu", "compute_type": "int8"}
    assert spec("stt", device="cpu", compute_type="float32").with_gpu_share(0.0).arguments == {
        "device": "cpu",
        "compute_type": "float32",
    }


def test_memory_is_told(keep: Callable[..., Kept]) -> None:
    kept = keep("partial")
    assert kept.process.memory_bytes == 0
    kept.process.load()
    assert kept.process.loaded_bytes > 20_000_000
    assert isinstance(kept.process, EngineProcess)


def test_a_model_of_unknown_origin_that_loads_for_ever_is_given_up_and_remembered(
    keep: Callable[..., Kept], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real file in a process that never gets to its end: the deadline ends that, three times."""
    own = tmp_path / "ours.gguf"
    own.write_bytes(spec("final").model.read_bytes())
    loops = """
    from pipeline.engines.llama_cpp import gemma
    def load(*_, **__):
        while True:
            pass
    gemma.Gemma.load = load
"""
    for name, value in put_into_children(tmp_path / "site", "final", loops).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(integrity, "_UNKNOWN_S", 1.5)
    crashes = CrashHistory(tmp_path / "crashes.json")
    kept = keep("final", engine=EngineSpec("gemma", "gemma", own, {}), crashes=crashes)
    with pytest.raises(ModelCrashError, match="did not load its model within"):
        kept.process.load()
    assert crashes.is_given_up(own)

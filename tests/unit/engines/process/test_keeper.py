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
from pipeline.engines.process.deaths import Supervision
from pipeline.engines.process.engine_process import TranslatorProcess
from pipeline.engines.specification import QUICK, EngineSpec
from pipeline.models import integrity
from pipeline.models.crash_history import CrashHistory
from tests.support.engine_processes import (
    PATIENT_S,
    Kept,
    ask_in_vain,
    ask_on,
    kept_processes,
    open_files,
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
from tests.support.patience import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def keep() -> Iterator[Callable[..., Kept]]:
    with kept_processes() as make:
        yield make


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each successor started at once."""
    monkeypatch.setattr("pipeline.engines.process.deaths._FIRST_S", 0.0)


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function that makes the children for a part run a text first."""

    def into_children(part: str, text: str) -> None:
        for name, value in put_into_children(tmp_path / "site", part, text).items():
            monkeypatch.setenv(name, value)

    return into_children


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize(
    ("part", "deaths"),
    [("stt", ["SIGSTOP"]), ("final", ["SIGSTOP", "hunger"])],
)
def test_one_that_dies_hangs_or_starves_is_replaced_at_once_and_told(
    keep: Callable[..., Kept],
    part: str,
    deaths: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in hungry(tmp_path / "site", part).items():
        monkeypatch.setenv(name, value)
    kept = keep(part)
    kept.process.load()
    text = kept.ask()
    for death in deaths:
        before = kept.pid
        if death == "SIGSTOP":
            kept.process._hang_s = 1.0
            if isinstance(kept.process, TranslatorProcess):
                kept.process.deadline_s = 0.5
        if death == "hunger":
            with starve(before, tmp_path / "site"), pytest.raises(EngineGoneError):
                ask_on(kept)
        else:
            os.kill(before, signal.Signals[death])
            with pytest.raises(EngineGoneError):
                ask_on(kept)
        kept.process._hang_s = PATIENT_S
        if isinstance(kept.process, TranslatorProcess):
            kept.process.deadline_s = PATIENT_S
            wait_for(lambda pid=before: kept.process.pid not in {None, pid})  # type: ignore[misc]
        assert kept.ask() == text, "a call of the recognizer waits for the successor"
        assert kept.pid != before
        assert kept.process.degraded_reason == ""
        assert not psutil.pid_exists(before)
    causes = {
        "SIGSTOP": ("engine-hangs", "did not answer"),
        "hunger": ("engine-out-of-memory", "for want of memory"),
    }
    expected = [causes[death] for death in deaths]
    assert kept.codes == [code for code, _ in expected]
    for (_, words), (_, message), reason in zip(expected, kept.faults, kept.reasons, strict=True):
        assert words in message
        assert words in reason


def test_one_that_an_allocation_fails_in_is_replaced_as_well(keep: Callable[..., Kept]) -> None:
    kept = keep("stt")
    kept.process.load()
    before = kept.pid
    used = psutil.Process(before).memory_info().vms
    psutil.Process(before).rlimit(psutil.RLIMIT_AS, (used, used))
    minute = np.zeros(16_000 * 1800, np.float32)
    with pytest.raises(EngineGoneError):
        kept.process.recognize(minute, final=True)  # type: ignore[union-attr]
    wait_for(lambda: kept.process.pid not in {None, before})
    assert kept.codes == ["engine-out-of-memory"]
    assert kept.ask()


@pytest.mark.usefixtures("no_waits")
def test_too_little_memory_to_load_is_named_and_not_held_against_the_model(
    keep: Callable[..., Kept],
    tmp_path: Path,
    put: Callable[[str, str], None],
) -> None:
    """The limits hit the interpreter, the loader of shared libraries, OpenMP's threads, and the
    library itself, which reports it in other words on each kind of processor or only crashes.
    """
    limits_mb = (150, 390, 450)
    left = tmp_path / "limits"
    left.write_text(" ".join(map(str, limits_mb)))
    put(
        "stt",
        f"""
    import resource
    with open({str(left)!r}, "r+") as file:
        limit, *others = file.read().split()
        file.seek(0)
        file.truncate()
        file.write(" ".join(others))
    resource.setrlimit(resource.RLIMIT_AS, (int(limit) * 10**6,) * 2)
""",
    )
    crashes = CrashHistory(tmp_path / "crashes.json")
    kept = keep("stt", crashes=crashes)
    with pytest.raises(ModelCrashError) as caught:
        kept.process.load()
    assert caught.value.code == "engine-out-of-memory"
    assert kept.codes == ["engine-out-of-memory"] * 2
    messages = [message for _, message in kept.faults] + [caught.value.message]
    for limit_mb, message in zip(limits_mb, messages, strict=True):
        assert f"0.{limit_mb // 10} GB were free" in message
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
    kept = keep("stt", growth_bytes=10_000_000)
    kept.process.load()
    before = kept.pid
    long = np.zeros(16_000 * 300, np.float32)  # 19 MB, and its spectrogram
    with pytest.raises(EngineGoneError):
        ask_on(kept, lambda: kept.process.recognize(long, final=True))  # type: ignore[union-attr]
    wait_for(lambda: kept.process.pid not in {None, before})
    assert "engine-too-large" in kept.codes
    assert "MB" in kept.faults[0][1]


def test_one_whose_memory_could_not_be_seen_at_first_has_not_grown_by_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Child:
        """It loaded while no descriptor was left to measure its memory."""

        gpu_layers, is_over = 0, False
        looks, causes = 3, 0

        def pump(self, _: float) -> bool:
            self.looks -= 1
            return self.looks > 0

        def memory_bytes(self) -> int:
            return 2_000_000_000

        def kill(self, _: object) -> None:
            self.causes += 1

    monkeypatch.setattr("pipeline.engines.process.keeper._MEMORY_S", 0.0)
    engine = EngineSpec("marian", "marian", tmp_path, {})
    process, child = TranslatorProcess(engine, QUICK, growth_bytes=1_500_000_000), Child()
    process._tend(child)  # type: ignore[arg-type]
    assert (child.causes, process.loaded_bytes) == (0, 2_000_000_000)


def test_a_death_while_nobody_asks_is_mended_and_leaves_no_descriptor_and_no_thread(
    keep: Callable[..., Kept],
) -> None:
    threads, files = threading.active_count(), open_files()
    kept = keep("partial")
    kept.process.load()
    for _ in range(2):
        before = kept.pid
        os.kill(before, signal.SIGSEGV)
        wait_for(lambda pid=before: kept.process.pid not in {None, pid})  # type: ignore[misc]
    assert kept.codes == ["engine-crashed"] * 2
    assert "in 1 s" in kept.faults[1][1]
    assert kept.ask()
    kept.process.close()
    assert kept.codes == ["engine-crashed"] * 2
    assert (threading.active_count(), open_files()) == (threads, files)


def test_signals_to_the_service_are_the_daemons_and_the_kernel_takes_the_engine_first(
    keep: Callable[..., Kept],
) -> None:
    living = keep("partial")
    assert living.process.memory_bytes == 0
    living.process.load()
    before = living.pid
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(before, number)
        assert living.ask()
    assert living.pid == before
    score = int(Path(f"/proc/{living.pid}/oom_score_adj").read_text())
    assert score > int(Path("/proc/self/oom_score_adj").read_text())
    assert Path(f"/proc/{living.pid}/comm").read_text().strip() == "stark-partial"
    assert living.process.loaded_bytes > 20_000_000


def test_a_parent_that_is_killed_leaves_no_orphan() -> None:
    """One of the two processes is stopped; the other still loads."""
    code = (
        "import time; from pipeline.engines.process.engine_process import *; "
        "from pipeline.engines.specification import *; "
        "from pipeline.models.resolve import resolve; "
        "ps = [TranslatorProcess(EngineSpec('gemma', 'g', resolve('gemma', 'tiny'), {}), FINAL)"
        " for _ in range(2)]; "
        "ps[0].load(); ps[1].start(); print(ps[0].pid, flush=True); "
        "time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        stopped = next(line for line in parent.stdout if line.strip().isdigit())
        wait_for(lambda: len(psutil.Process(parent.pid).children()) == 2)
        found = psutil.Process(parent.pid).children()
        psutil.Process(int(stopped)).suspend()
        parent.kill()
    _, alive = psutil.wait_procs(found, 60)
    assert not alive


@pytest.mark.parametrize("moment", ["loading", "asked"])
def test_closed_it_ends_at_once_whatever_it_is_at(keep: Callable[..., Kept], moment: str) -> None:
    kept = keep("partial")
    kept.process.start()
    asker = threading.Thread(target=ask_in_vain, args=(kept,))
    if moment == "asked":  # and stopped
        kept.process.load()
        os.kill(kept.pid, signal.SIGSTOP)
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
    for _ in range(2):  # each caller that shares it gets the error
        with pytest.raises(ModelError, match="there is no file") as caught:
            kept.process.load()
    assert caught.value.code == "model-missing"
    assert caught.value.fix == "Give a .gguf file."
    assert kept.faults == [], "who loads it tells"


@pytest.mark.usefixtures("no_waits")
def test_a_model_that_crashes_three_times_while_it_loads_is_given_up_and_never_tried_again(
    keep: Callable[..., Kept], put: Callable[[str, str], None], tmp_path: Path
) -> None:
    history = CrashHistory(tmp_path / "crashes.json")
    put("stt", CRASHES["stt"])
    kept = keep("stt", crashes=history)
    with pytest.raises(ModelCrashError, match="3 times in a row") as caught:
        kept.process.load()
    assert caught.value.exit_code == 70
    assert "free(): invalid pointer" in caught.value.message
    assert str(kept.process.spec.model) in caught.value.message
    assert kept.codes == ["engine-crashed"] * 2
    assert "is given up" in kept.process.degraded_reason
    for _ in range(3):
        history.note(spec("final").model, "crashed (SIGSEGV)")
    for part in ("stt", "final"):
        again = keep(part, crashes=history)  # as after a restart by systemd
        with pytest.raises(ModelCrashError, match="is not loaded: on 20"):
            again.process.load()
        assert again.codes == []
        # Nothing replaces a recognizer; a draft replaces a final translator.
        with pytest.raises(ModelCrashError if part == "stt" else EngineGoneError):
            again.ask()


def test_without_restarts_a_call_tells_what_it_died_of(keep: Callable[..., Kept]) -> None:
    kept = keep("partial", restarts=False)
    kept.process.load()
    killer = threading.Timer(0.3, os.kill, (kept.pid, signal.SIGSEGV))
    killer.start()
    with pytest.raises(EngineError, match="SIGSEGV"):
        ask_on(kept)
    killer.join()


def test_a_gpu_that_fails_gets_the_same_once_more_then_fewer_layers_then_none(
    keep: Callable[..., Kept], tmp_path: Path, put: Callable[[str, str], None]
) -> None:
    """The real model in real processes: its GPU layers fail, each time in another way."""
    fault = tmp_path / "fault"
    put("final", GPU.replace("{fault}", f"exec(open({str(fault)!r}).read())"))
    faults = {"engine-crashed": "death", "gpu-failed": "error", "engine-out-of-memory": "memory"}
    causes = [*faults, "gpu-failed"]
    kept = keep("final", engine=spec("final", gpu_layers=-1))
    kept.process.load()
    layers = []
    for cause in [*causes, ""]:
        child = kept.process._ready
        assert child is not None
        layers.append(child.gpu_layers)
        if not cause:
            break
        fault.write_text(GPU_FAULTS[faults[cause]])
        with pytest.raises(EngineGoneError):
            kept.ask()
        wait_for(lambda pid=child.pid: kept.process.pid not in {None, pid})  # type: ignore[misc]
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
    assert [code for code in kept.codes if code != "gpu-reduced"] == causes


@pytest.fixture
def lose_gpu(tmp_path: Path, put: Callable[[str, str], None]) -> Path:
    """Return the file that marks the GPU as lost; the recognizer's first call creates it."""
    lost = tmp_path / "lost"
    put("stt", GPU_LOST.format(lost=str(lost)))
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


@pytest.mark.usefixtures("no_waits")
def test_where_the_cpu_does_not_help_either_the_translator_is_done_without(
    keep: Callable[..., Kept], put: Callable[[str, str], None]
) -> None:
    put("final", GPU_ALONE.replace("{fault}", GPU_FAULTS["error"]))
    kept = keep("final", engine=spec("final", gpu_layers=-1))
    kept.process._supervision = Supervision((1.0, 0.0))  # all layers twice, then none
    kept.process.load()
    for _ in range(2):
        before = kept.pid
        with pytest.raises(EngineGoneError):
            kept.ask()
        wait_for(
            lambda pid=before: (  # type: ignore[misc]
                kept.process.pid not in {None, pid} or "model-crashes" in kept.codes
            )
        )
    wait_for(lambda: "model-crashes" in kept.codes)
    ask_in_vain(kept)
    assert kept.codes.count("gpu-failed") == 2
    assert kept.codes.count("engine-crashed") == 2, "the third time is told as the last"
    assert kept.process.degraded_reason.startswith(
        "the final translator is given up [model-crashes]; the quick one makes the finals"
    )


def test_a_killed_one_whose_output_stays_open_is_replaced(
    keep: Callable[..., Kept], tmp_path: Path, put: Callable[[str, str], None]
) -> None:
    pids = tmp_path / "pids"
    put("partial", HOLDS_ITS_OUTPUT.format(pids=str(pids)))
    try:
        kept = keep("partial")
        kept.process.load()
        before = kept.pid
        os.kill(before, signal.SIGKILL)
        wait_for(lambda: kept.process.pid not in {None, before})
        assert kept.ask()
        assert kept.codes == ["engine-killed"]
    finally:
        for pid in pids.read_text().split():
            os.kill(int(pid), signal.SIGKILL)


@pytest.mark.usefixtures("no_waits")
def test_a_model_of_unknown_origin_that_loads_for_ever_is_given_up_and_remembered(
    keep: Callable[..., Kept],
    tmp_path: Path,
    put: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A real file in a process that never finishes loading: the deadline ends it three times."""
    own = tmp_path / "ours.gguf"
    own.write_bytes(spec("final").model.read_bytes())
    loops = """
    from pipeline.engines.llama_cpp import gemma
    def load(*_, **__):
        import time
        time.sleep(600)
    gemma.Gemma.load = load
"""
    put("final", loops)
    monkeypatch.setattr(integrity, "_UNKNOWN_S", 0.5)
    crashes = CrashHistory(tmp_path / "crashes.json")
    kept = keep("final", engine=EngineSpec("gemma", "gemma", own, {}), crashes=crashes)
    with pytest.raises(ModelCrashError, match="did not load its model within"):
        kept.process.load()
    assert crashes.is_given_up(own)

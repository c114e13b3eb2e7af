"""The calls of nvidia-smi and the parsing of its answers, with programs of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.engines.process import gpu_use as gpu_use_module
from pipeline.engines.process.gpu_use import GpuUse, GpuWatch, gpu_use, query
from tests.support.programs import put_program

PROCESSES = "4711, GPU-aa, 3120\n4711, GPU-bb, 100\n12, GPU-aa, [N/A]\nno line\n"
SHARES = "GPU-aa, 41\nGPU-bb, 7\nGPU-cc, [N/A]\n"


@pytest.fixture
def _two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "processes").write_text(PROCESSES)
    (tmp_path / "shares").write_text(SHARES)
    script = (
        f'case "$1" in *compute-apps*) cat {tmp_path}/processes;; *) cat {tmp_path}/shares;; esac'
    )
    put_program(tmp_path, script, monkeypatch)


@pytest.mark.usefixtures("_two_gpus")
def test_a_process_on_two_gpus_holds_the_sum_and_is_as_busy_as_the_busier() -> None:
    assert gpu_use(4711) == GpuUse(3220 << 20, 0.41)
    assert gpu_use(1) is None, "nobody lists it"
    assert gpu_use(12) is None, "its memory is not told"


@pytest.mark.parametrize("script", ["exit 9", "printf '\\377'; exit 0", "exec sleep 60"])
def test_without_an_answer_there_is_none(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, script, monkeypatch)
    assert query("--query-gpu=uuid", patience_s=0.2) == ""
    assert gpu_use(4711, patience_s=0.2) is None


@pytest.mark.usefixtures("_two_gpus")
def test_a_watch_looks_every_ten_seconds_and_forgets_with_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = GpuWatch()
    watch.look(4711)
    assert watch.use == GpuUse(3220 << 20, 0.41)
    watch.look(1)
    assert watch.use is not None, "the next look is not due"
    monkeypatch.setattr(gpu_use_module, "_WATCH_S", 0.0)
    watch.forget()
    assert watch.use is None
    for pid, on_gpu in ((4711, True), (1, False), (4711, True)):
        watch.look(pid)
        assert (watch.use is not None) == on_gpu

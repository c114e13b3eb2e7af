"""Too little memory to load a model is detected from the available memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.engines.process.memory import _rooms, address_limit, free_bytes, is_enough


@pytest.mark.parametrize(
    ("addresses", "free", "enough"),
    [
        (None, 10_000_000_000, True),
        (None, 100_000_000, False),
        (450_000_000, 10_000_000_000, False),
        (1_100_000_000, 10_000_000_000, True),
    ],
)
def test_a_model_needs_memory_and_addresses(
    tmp_path: Path, addresses: int | None, free: int, *, enough: bool
) -> None:
    (tmp_path / "model.bin").write_bytes(bytes(10_000_000))
    assert is_enough(tmp_path, addresses=addresses, free=free) == enough


def test_the_limit_of_another_process_is_seen() -> None:
    process = subprocess.Popen(
        [sys.executable, "-Sc", "import resource as r; r.setrlimit(r.RLIMIT_AS, (10**9,) * 2)"]
    )
    try:
        # The limit of an ended process is visible too, until somebody has waited for it.
        while (limit := address_limit(process.pid)) is None:
            pass
    finally:
        process.wait()
    assert limit == 10**9


def test_a_control_group_leaves_what_the_narrowest_around_it_leaves(tmp_path: Path) -> None:
    inner = tmp_path / "system.slice" / "daemon"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (inner.parent / "memory.max").write_text("500\n")
    (inner.parent / "memory.current").write_text("200\n")
    assert min(_rooms(inner)) == 300
    # The cached file of a newly pulled model fills the group; that is no lack of memory.
    (inner.parent / "memory.current").write_text("500\n")
    (inner.parent / "memory.stat").write_text("anon 150\nfile 350\ninactive_file 250\n")
    assert min(_rooms(inner)) == 250
    assert 0 < free_bytes() < 2**63

"""Bible files, read in a separate process."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.church.scripture import edition_files
from pipeline.core.errors import VersesError
from tests.support.sword_module import Module, zipped

pytestmark = pytest.mark.slow  # each starts a process


def test_a_file_and_a_module_are_read_alike(tmp_path: Path) -> None:
    wanted = {(43, 3, 16): "Porque de tal manera amó Dios"}
    (tmp_path / "a.tsv").write_text("John\t3\t16\tPorque de tal manera amó Dios\n", "utf-8")
    Module().write(tmp_path / "module", wanted)
    for file in (tmp_path / "a.tsv", tmp_path / "module", zipped(tmp_path / "module")):
        assert asyncio.run(edition_files.read([file])) == wanted
    (tmp_path / "b.usfm").write_text("\\id RUT\n\\c 1\n\\v 1 Y aconteció", "utf-8")
    both = asyncio.run(edition_files.read([tmp_path / "a.tsv", tmp_path / "b.usfm"]))
    assert both == wanted | {(8, 1, 1): "Y aconteció"}


def test_a_file_without_an_end_is_too_large() -> None:
    with pytest.raises(VersesError, match=r"/dev/zero is too large.*verses-too-large"):
        asyncio.run(edition_files.read([Path("/dev/zero")]))


def test_a_file_that_takes_too_long_or_too_much_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.tsv").write_text(f"John\t3\t16\t{'x' * 60_000_000}\n")
    limits = edition_files.LIMITS
    for narrow, message in (
        (replace(limits, memory_bytes=150_000_000), "takes more than 0.15 GB of memory to read"),
        (replace(limits, seconds=0.1), "took more than 0.1 s to read"),
    ):
        monkeypatch.setattr(edition_files, "LIMITS", narrow)
        began_s = time.process_time()
        with pytest.raises(VersesError, match=rf"a\.tsv {message}.*verses-unreadable"):
            asyncio.run(edition_files.read([tmp_path / "a.tsv"]))
        assert time.process_time() - began_s < 1

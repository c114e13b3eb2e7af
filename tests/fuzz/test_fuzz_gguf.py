"""GGUF files with a damaged head or cut short: loaded or refused; the process never ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.core.resources import bundled
from tests.support.material import FUZZ, damaged
from tests.support.needs import needs_file
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow
MODEL = bundled("models", "tiny", "gemma", "model.gguf")
SOME = settings(FUZZ, max_examples=max(2, settings().max_examples // 200), deadline=90_000)
EACH = 4
"""Files that one process loads: its start takes longer than loading them."""
HEADS = (64, 400, 4_000, 60_000)
"""Ends of the fixed fields, the first keys, the keys, and a part of the vocabulary."""


def loaded(folder: Path, *contents: bytes) -> list[str]:
    """Load files in another process, as the daemon does; return the result of each."""
    files = [folder / f"{number}.gguf" for number in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.load_gguf", *files],
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr[-2000:]}"
    return done.stdout.splitlines()[-len(files) :]


@SOME
@given(data=st.data())
def test_a_damaged_head_is_loaded_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    needs_file(MODEL)
    whole = MODEL.read_bytes()
    sizes = data.draw(st.lists(st.sampled_from(HEADS), min_size=EACH, max_size=EACH))
    loaded(tmp_path, *(data.draw(damaged(whole[:s], most=3)) + whole[s:] for s in sizes))


@SOME
@given(shares=st.lists(st.floats(0, 0.999), min_size=EACH, max_size=EACH))
@example(shares=[0.0, 0.5, 0.999])
def test_only_the_whole_file_is_loaded(tmp_path: Path, shares: list[float]) -> None:
    needs_file(MODEL)
    whole = MODEL.read_bytes()
    cut = [whole[: int(share * len(whole))] for share in shares]
    *results, last = loaded(tmp_path, *cut, whole)
    assert results == ["model-broken"] * len(cut)
    assert last.startswith("loaded: ")

"""GGUF files with a damaged head or cut short: loaded or refused; never the end of the process."""

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
SOME = settings(FUZZ, max_examples=max(8, settings().max_examples // 50), deadline=90_000)
HEADS = (64, 400, 4_000, 60_000)
"""Ends of the fixed fields, the first keys, the keys, and a part of the vocabulary."""


def loaded(folder: Path, content: bytes) -> str:
    """Load a file in another process, as the daemon does; return what came of it."""
    file = folder / "model.gguf"
    file.write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.load_gguf", str(file)],
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()[-1]


def test_the_whole_file_is_loaded(tmp_path: Path) -> None:
    needs_file(MODEL)
    assert loaded(tmp_path, MODEL.read_bytes()).startswith("loaded: ")


@SOME
@given(data=st.data())
def test_a_damaged_head_is_loaded_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    needs_file(MODEL)
    whole = MODEL.read_bytes()
    size = data.draw(st.sampled_from(HEADS))
    loaded(tmp_path, data.draw(damaged(whole[:size], most=3)) + whole[size:])


@SOME
@given(share=st.floats(0, 0.999))
@example(share=0.5)
def test_a_file_cut_short_is_refused(tmp_path: Path, share: float) -> None:
    needs_file(MODEL)
    whole = MODEL.read_bytes()
    assert loaded(tmp_path, whole[: int(share * len(whole))]) == "model-broken"

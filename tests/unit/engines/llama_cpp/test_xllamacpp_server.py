"""The server of `serve-model` as a program: how it ends (its answers: tests/e2e)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.model_servers import real_llama_server
from tests.support.needs import needs_module
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow


def test_sigterm_ends_it_well(tmp_path: Path) -> None:
    with real_llama_server(tmp_path) as (_, process):
        process.terminate()
        assert process.wait(60) == 0


def test_a_file_that_is_no_model_is_refused_in_a_sentence(tmp_path: Path) -> None:
    needs_module("xllamacpp")
    (tmp_path / "junk.gguf").write_text("junk")
    numbers = "port parallel ctx-size batch-size ubatch-size n-gpu-layers threads"
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.engines.llama_cpp.xllamacpp_server",
         "--model", "junk.gguf", "--alias", "junk", "--host", "127.0.0.1",
         *(f"--{name}=0" for name in numbers.split())],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "the lines above with an E say why" in done.stderr
    assert "Traceback" not in done.stderr

"""The `budget` command: this machine, other GPUs, one that nvidia-smi reports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.cli.commands import budget
from pipeline.cli.commands.budget import running_services
from pipeline.cli.main import main
from pipeline.core.resources import bundled
from pipeline.tuning.budget import GPUS
from tests.support.cli import Cli
from tests.support.paths import ROOT
from tests.support.programs import put_program

pytestmark = pytest.mark.usefixtures("own_final_model")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARK_TRANSLATE__MODELS__DIRECTORY", str(tmp_path / "models"))
    monkeypatch.setenv("COLUMNS", "120")


def reported(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["budget", "--json", *arguments])
    return code, orjson.loads(capsys.readouterr().out)


def test_the_starter_models_fit_and_are_what_their_files_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, report = reported(capsys)
    assert code == 0
    assert report["ok"] is True
    final = next(need for need in report["needs"] if need["what"] == "final translator: starter")
    (file,) = bundled("models", "starter", "gemma").glob("*.gguf")
    assert final["bytes"] == file.stat().st_size


def test_a_gpu_of_this_machine_is_the_first_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """12B as Q4_K_M does not fit 6 GB free; the 4B does, and the processor is the second place."""
    put_program(tmp_path, "echo 'NVIDIA GeForce RTX 3060, 12288, 5700'", monkeypatch)
    _, report = reported(capsys)
    gpu, processor = report["places"]
    assert gpu["name"] == "NVIDIA GeForce RTX 3060"
    assert gpu["bandwidth"] == 360
    fits = {level["model"]: level["fits"] for level in gpu["levels"]}
    assert fits["translategemma-4b-q4_k_m"]
    assert not fits["translategemma-12b-q4_k_m"]
    assert not processor["has_gpu"]


def test_models_that_do_not_fit_are_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    put_program(tmp_path, "echo 'NVIDIA T400, 4096, 4000'", monkeypatch)
    Path("config.toml").write_text(
        '[translate.final]\nmodel = "translategemma-12b-q4_k_m"\ngpu_layers = -1\n'
    )
    output = cli("budget", code=1).out
    assert "does not fit" in output
    assert "llama.cpp's CUDA context" in output
    assert "not known" in output, "of this GPU no bandwidth is known"


@pytest.mark.parametrize("ends", [False, True])
def test_a_service_that_runs_is_seen_beside_the_estimate(
    ends: bool, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """Also a service that ends while `budget` looks at it."""
    rename = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'stark-stt'); print(flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", f"{rename}; time.sleep(60)"], stdout=subprocess.PIPE
    ) as engine:
        assert engine.stdout
        engine.stdout.readline()
        try:
            found = running_services()
            assert {engine.pid, os.getpid()} <= {each.pid for each in found}
            if ends:
                engine.kill()
                engine.wait()
                monkeypatch.setattr(budget, "running_services", lambda: found)
            assert "a service runs now, with" in cli("budget").out
        finally:
            engine.kill()


def test_the_table_of_the_documents_is_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The table is from `stark-translate budget --gpu NAME`, distil-large-v3 on the GPU."""
    page = (ROOT / "docs" / "MODELS.md").read_text(encoding="utf-8")
    documented = {
        cells[0].strip(): [cell.strip() for cell in cells[2:-1]]
        for line in page.splitlines()
        if line.startswith("| ") and len(cells := line[2:].split("|")) == 9
    }
    Path("config.toml").write_text(
        '[stt]\nmodel = "distil-large-v3"\ncompute_type = "int8_float16"\n'
        '[translate.partial]\nmodel = "opus-mt-en-es"\n'
    )
    for gpu in GPUS:
        _, report = reported(capsys, "--gpu", gpu.name)
        expected = [
            "{:.0f}-{:.0f}".format(*level["tokens_per_second"]) if level["fits"] else "no"
            for level in report["places"][0]["levels"]
            if level["model"].startswith("translategemma")
        ]
        assert documented[gpu.name] == expected, gpu.name

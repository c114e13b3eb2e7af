from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.engines.ct2 import explain, require
from pipeline.errors import ModelError


def test_a_whole_folder_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    require(tmp_path, ("model.bin",), "stt.model")


def test_missing_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    with pytest.raises(ModelError, match=r"stt\.model: .* lacks a\.spm, b\.spm.*\[model-missing\]"):
        require(tmp_path, ("model.bin", "a.spm", "b.spm"), "stt.model")


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    with pytest.raises(ModelError, match=r"holds model\.bin.*\[model-wrong-kind\]"):
        require(tmp_path / "model.bin", ("model.bin",), "stt.model")


@pytest.mark.parametrize(
    ("said", "code", "fix"),
    [
        (ValueError("The model is not a Whisper model"), "model-wrong-kind", "stt.model"),
        (RuntimeError("This model cannot be used as a seq"), "model-wrong-kind", "stt.model"),
        (ValueError("Invalid compute type: int7"), "compute-type-unsupported", "int8"),
        (RuntimeError("CUDA driver is insufficient"), "gpu-unavailable", 'stt.device = "cpu"'),
        (ValueError("Invalid model size 'x'"), "model-missing", "stt.model"),
        (ConnectionError("no route"), "model-missing", "go online"),
        (RuntimeError("File model.bin is\nincomplete."), "model-broken", "again"),
    ],
)
def test_every_error_gets_its_code_and_fix(said: Exception, code: str, fix: str) -> None:
    error = explain(said, "/models/x", "stt.model", "Whisper")
    assert error.code == code
    assert fix in error.fix
    assert "/models/x" in error.message or "stt.compute_type" in error.message
    assert "\n" not in str(error)

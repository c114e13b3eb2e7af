from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.engines.ctranslate2.errors import explain, kind_of, require


def test_missing_files_are_named_and_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    with pytest.raises(ModelError, match=r"stt\.model: .* lacks a\.spm, b\.spm.*\[model-missing\]"):
        require(tmp_path, ("model.bin", "a.spm", "b.spm"), "stt", "Whisper")
    with pytest.raises(ModelError, match=r"holds model\.bin.*\[model-wrong-kind\]"):
        require(tmp_path / "model.bin", ("model.bin",), "stt", "Whisper")


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\6\0\0\0\x0c\0WhisperSpec\0\3\0\0\0", "Whisper"),
        (b"\6\0\0\0\x10\0TransformerSpec\0\7\0\0\0", "translation"),
        (b"\6\0\0\0\x0a\0Wav2VecCtc\0", ""),
        (b"GGUF", ""),
        (b"", ""),
        (None, ""),
    ],
)
def test_weights_say_what_they_are(tmp_path: Path, head: bytes | None, kind: str) -> None:
    if head is not None:
        (tmp_path / "model.bin").write_bytes(head)
    assert kind_of(tmp_path / "model.bin") == kind
    for wanted in ("Whisper", "translation"):
        if kind in ("", wanted):
            require(tmp_path, (), "stt", wanted)
        else:
            with pytest.raises(ModelError, match=rf"not a {wanted} model.*\[model-wrong-kind\]"):
                require(tmp_path, ("tokenizer.json",), "stt", wanted)


@pytest.mark.parametrize(
    ("said", "code", "fix"),
    [
        (ValueError("The model is not a Whisper model"), "model-wrong-kind", "stt.model"),
        (RuntimeError("This model cannot be used as a seq"), "model-wrong-kind", "stt.model"),
        (ValueError("Invalid compute type: int7"), "compute-type-unsupported", "int8"),
        (RuntimeError("CUDA driver is insufficient"), "gpu-unavailable", 'stt.device = "cpu"'),
        (RuntimeError("File model.bin is\nincomplete."), "model-broken", "again"),
    ],
)
def test_every_error_gets_its_code_and_fix(said: Exception, code: str, fix: str) -> None:
    error = explain(said, "/models/x", "stt", "Whisper")
    assert error.code == code
    assert fix in error.fix
    assert "/models/x" in error.message or "stt.compute_type" in error.message
    assert "\n" not in str(error)

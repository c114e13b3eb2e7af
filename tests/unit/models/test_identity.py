from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.models.identity import advice, fingerprint, used_models
from pipeline.models.registry import Role
from pipeline.models.resolve import resolve


@pytest.mark.parametrize("role", ["stt", "marian", "gemma"])
def test_a_model_is_told_by_its_file_and_the_files_hash(role: Role) -> None:
    model = resolve(role, "tiny" if role == "gemma" else "starter")
    weights = model if role == "gemma" else model / "model.bin"
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    assert fingerprint(model) == f"{weights.name}, SHA-256 {digest[:12]}"


def test_a_file_that_takes_long_to_read_or_is_not_there_is_told_by_its_name(tmp_path: Path) -> None:
    large = tmp_path / "model-Q4_K_M.gguf"
    with large.open("wb") as file:
        file.truncate(2_000_000_000)
    assert fingerprint(large) == "model-Q4_K_M.gguf"
    assert fingerprint(tmp_path / "none.gguf") == "none.gguf"


@pytest.mark.parametrize(("role", "name"), [("stt", "starter"), ("gemma", "tiny")])
def test_a_model_that_ships_comes_with_the_command_that_finds_a_better_one(
    role: Role, name: str, tmp_path: Path
) -> None:
    assert "stark-translate setup" in advice(resolve(role, name))
    assert advice(tmp_path / "whisper-base") == ""


def test_a_model_that_cannot_be_read_is_left_to_its_engine(tmp_path: Path) -> None:
    model = tmp_path / "whisper"
    (model / "model.bin").mkdir(parents=True)  # found, but not readable
    settings = load(flags={"stt.model": str(model)}).settings
    assert "stt" not in {each.engine for each in used_models(settings)}
    assert str(model) not in {each.setting for each in used_models(settings)}

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from pipeline.config.loader import changed
from pipeline.config.schema import Settings
from pipeline.models.identity import advice, fingerprint
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


def test_the_starter_comes_with_the_command_that_mends_it(tmp_path: Path) -> None:
    settings = changed(Settings(), {"models.directory": str(tmp_path)})
    assert "models pull whisper-base" in advice("stt", resolve("stt", "starter"), settings)
    assert "models pull opus" in advice("marian", resolve("marian", "starter"), settings)
    told = advice("gemma", resolve("gemma", "tiny"), settings)
    assert "models pull translategemma-4b" in told


def test_nothing_is_advised_that_is_a_step_back_or_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once `check` advised a Gemma that docs/MODELS.md calls worse than the starter."""
    settings = changed(Settings(), {"models.directory": str(tmp_path)})
    roles: tuple[Role, ...] = ("stt", "marian", "gemma")
    for free, fits in ((1_000_000_000, False), (64_000_000_000, True)):
        memory = SimpleNamespace(available=free)
        monkeypatch.setattr(psutil, "virtual_memory", lambda memory=memory: memory)
        told = [advice(role, resolve(role, "starter"), settings) for role in roles]
        assert not any("270m" in each for each in told)
        assert ("translategemma" in told[-1]) == fits
    assert advice("stt", tmp_path / "whisper-base", settings) == ""

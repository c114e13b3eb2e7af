from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.bundled import bundled
from pipeline.errors import ModelError
from pipeline.models import Role, resolve
from tests.needs import needs_file


@pytest.mark.parametrize("role", ["stt", "marian"])
def test_starter_folders(role: Role) -> None:
    needs_file(bundled("models", "starter", role))
    assert (resolve(role, "starter") / "model.bin").is_file()


def test_starter_gguf() -> None:
    needs_file(bundled("models", "starter", "gemma"))
    assert resolve("gemma", "starter").read_bytes()[:4] == b"GGUF"


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.touch()
    assert resolve("gemma", str(model)) == model
    assert resolve("stt", str(tmp_path)) == tmp_path


def test_the_home_folder_may_be_written_as_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "marian").mkdir()
    assert resolve("marian", "~/marian") == tmp_path / "marian"


@pytest.mark.parametrize("name", ["distil-large-v3", "tiny.en", "owner/whisper-ct2"])
def test_hub_names_are_for_the_recognizer_only(name: str) -> None:
    assert str(resolve("stt", name)) == name
    with pytest.raises(ModelError):
        resolve("marian", name)


@pytest.mark.parametrize(
    ("role", "value", "key"),
    [
        ("stt", "/no/such/model", "stt.model"),
        ("stt", "./model", "stt.model"),
        ("marian", "/no/such/model", "translate.partial.model"),
        ("gemma", "/no/such/model.gguf", "translate.final.model"),
    ],
)
def test_a_missing_path_names_its_setting(role: Role, value: str, key: str) -> None:
    with pytest.raises(ModelError, match=r"starter.*\[model-missing\]") as raised:
        resolve(role, value)
    assert key in raised.value.message
    assert "no/such" in raised.value.message or "model" in raised.value.message


def test_an_incomplete_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.models.bundled", tmp_path.joinpath)
    with pytest.raises(ModelError, match=r"Install the program again.*\[model-missing\]"):
        resolve("gemma", "starter")

"""From the model name in the settings to the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import KEYS, SHIPPED, Role, Shipped
from pipeline.models.resolve import resolve
from tests.support.model_fixtures import pulled
from tests.support.needs import needs_file


@pytest.mark.parametrize("model", SHIPPED, ids=lambda model: f"{model.name} {model.role}")
def test_what_ships_is_a_folder_or_a_gguf(model: Shipped) -> None:
    needs_file(model.folder)
    found = resolve(model.role, model.name)
    assert found.suffix == ".gguf" if model.role == "gemma" else (found / "model.bin").is_file()


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


@pytest.mark.parametrize(
    ("role", "name"),
    [("stt", "distil-large-v3"), ("marian", "owner/marian"), ("gemma", "owner/name/m.gguf")],
)
def test_a_pulled_model_by_its_name_and_of_a_gguf_the_file(
    tmp_path: Path, role: Role, name: str
) -> None:
    pulled(tmp_path, name, role, {"m.gguf": b"12"})
    folder = tmp_path / name.replace("/", "--")
    path = folder / "m.gguf" if role == "gemma" else folder
    assert resolve(role, name, ModelLibrary(tmp_path)) == path


def test_a_name_of_the_registry_comes_before_a_path_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.en").mkdir()
    store = tmp_path / "models"
    pulled(store, "small.en", "stt", {"model.bin": b"12"})
    assert resolve("stt", "small.en", ModelLibrary(store)) == store / "small.en"
    assert resolve("stt", "./small.en", ModelLibrary(store)) == Path("small.en")


def test_a_path_comes_before_a_hub_id_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "models"
    pulled(store, "owner/name", "marian", {"model.bin": b"12"})
    assert resolve("marian", "owner/name", ModelLibrary(store)) == store / "owner--name"
    (tmp_path / "owner" / "name").mkdir(parents=True)
    assert resolve("marian", "owner/name", ModelLibrary(store)) == Path("owner/name")


@pytest.mark.parametrize(
    ("role", "value"), [("stt", "owner/name"), ("gemma", "owner/name/a model.gguf")]
)
def test_what_was_not_pulled_says_how(tmp_path: Path, role: Role, value: str) -> None:
    with pytest.raises(ModelError, match=r"\[model-not-pulled\]") as raised:
        resolve(role, value, ModelLibrary(tmp_path))
    assert KEYS[role] in raised.value.message
    assert str(tmp_path) in raised.value.message
    assert raised.value.fix == f"Fetch it with: stark-translate models pull {value}"


def test_a_half_model_is_named(tmp_path: Path) -> None:
    pulled(tmp_path, "small.en", "stt", {"model.bin": b"1234", "config.json": b"{}"})
    (tmp_path / "small.en" / "model.bin").write_bytes(b"123")
    (tmp_path / "small.en" / "config.json").unlink()
    says = (
        r"small\.en: config.*model.bin has 3 of 4 bytes|model.bin has 3 of 4.*config.json is miss"
    )
    with pytest.raises(ModelError, match=says) as raised:
        resolve("stt", "small.en", ModelLibrary(tmp_path))
    assert raised.value.code == "model-broken"


def test_a_half_gemma_is_left_to_the_engine_and_a_missing_one_named(tmp_path: Path) -> None:
    pulled(tmp_path, "owner/name/m.gguf", "gemma", {"m.gguf": b"1234"})
    file = tmp_path / "owner--name--m.gguf" / "m.gguf"
    file.write_bytes(b"123")
    assert resolve("gemma", "owner/name/m.gguf", ModelLibrary(tmp_path)) == file
    file.unlink()
    with pytest.raises(ModelError, match=r"m\.gguf is missing.*\[model-broken\]"):
        resolve("gemma", "owner/name/m.gguf", ModelLibrary(tmp_path))


def test_a_broken_manifest_is_named(tmp_path: Path) -> None:
    pulled(tmp_path, "small.en", "stt", {"model.bin": b"1234"})
    (tmp_path / "small.en" / "manifest.json").write_text("{")
    with pytest.raises(ModelError, match=r"manifest\.json .* pull small\.en \[model-broken\]"):
        resolve("stt", "small.en", ModelLibrary(tmp_path))


@pytest.mark.parametrize(
    ("role", "value", "other"),
    [
        ("stt", "opus-mt-en-es", "translate.partial.model"),
        ("gemma", "small.en", "stt.model"),
    ],
)
def test_a_model_for_another_key(tmp_path: Path, role: Role, value: str, other: str) -> None:
    with pytest.raises(ModelError, match=r"\[model-wrong-kind\]") as raised:
        resolve(role, value, ModelLibrary(tmp_path))
    assert KEYS[role] in raised.value.message
    assert other in raised.value.message


def test_a_pulled_hub_id_of_another_kind(tmp_path: Path) -> None:
    pulled(tmp_path, "owner/name", "stt", {"model.bin": b"12"})
    with pytest.raises(ModelError, match=r"is a model for stt\.model.*\[model-wrong-kind\]"):
        resolve("marian", "owner/name", ModelLibrary(tmp_path))


def test_gemma_needs_the_file_in_the_repository(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"owner/name/<file>\.gguf \[model-missing\]"):
        resolve("gemma", "owner/name", ModelLibrary(tmp_path))


@pytest.mark.parametrize(
    ("role", "value"),
    [
        ("stt", "no-such-size"),
        ("stt", "tiny"),
        ("stt", "m" * 300),
        ("stt", "owner/name/model.gguf"),
        ("gemma", "/no/such/model.gguf"),
    ],
)
def test_what_is_nothing_names_its_setting(tmp_path: Path, role: Role, value: str) -> None:
    with pytest.raises(ModelError, match=r"starter.*\[model-missing\]") as raised:
        resolve(role, value, ModelLibrary(tmp_path))
    assert KEYS[role] in raised.value.message
    assert str(Path(value)) in raised.value.message


def test_a_misspelt_name_gets_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"Did you mean 'distil-large-v3'\?"):
        resolve("stt", "distil-large-v2")


def test_a_name_without_a_translator_gets_the_translators_names() -> None:
    with pytest.raises(ModelError, match=r"no model is called so") as raised:
        resolve("gemma", "large")
    assert "translate.final.model to one of starter, tiny, " in raised.value.fix
    assert "translategemma-4b-q4_k_m, " in raised.value.fix
    assert "large-v3-turbo" not in raised.value.fix, "that one recognizes"


def test_an_incomplete_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.models.registry.bundled", tmp_path.joinpath)
    with pytest.raises(ModelError, match=r"Install the program again.*\[model-missing\]"):
        resolve("gemma", "tiny")

"""The shipped registry, the user's own registry, and the forms of a value in the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.models.integrity import known_files, wrong_files
from pipeline.models.registry import (
    GGUF_ROLES,
    KEYS,
    SHIPPED,
    Shipped,
    hub_id,
    near,
    read_registry,
    shipped_folder,
)
from tests.support.needs import needs_file
from tests.support.paths import ROOT

OWN = """
[[models]]
name = "{name}"
role = "gemma"
repository = "our-church/fine-tune"
files = ["model.gguf"]
"""
WHEEL = """
[[models.wheels]]
name = "w"
version = "1.0.0"
size_bytes = 9
parts = { "w/part" = "model.gguf" }
"""


def test_the_shipped_registry_has_a_model_for_each_role() -> None:
    known = read_registry()
    assert {model.role for model in known.values()} == set(KEYS)


def test_every_shipped_model_is_fully_described_and_fixed_to_a_commit() -> None:
    for model in read_registry().values():
        if model.repository:
            assert len(model.revision) == 40, f"{model.name}: pinned, so that it never changes"
        assert model.licence
        assert model.choose
        assert 0 < model.size_bytes < model.memory_bytes
        paths = {file.path for file in model.files}
        is_one = model.role in GGUF_ROLES or model.role == "speech"
        assert len(paths) == 1 if is_one else "model.bin" in paths
        if model.role == "marian":
            assert {"source.spm", "target.spm", "config.json"} <= paths
        if model.role == "stt":
            assert {"tokenizer.json", "config.json"} <= paths
        if all(file.sha256 for file in model.files):
            assert sum(file.size_bytes for file in model.files) == model.size_bytes


def test_hashes_are_known_wherever_somebody_gives_them() -> None:
    without = {m.name for m in read_registry().values() if not all(f.sha256 for f in m.files)}
    quantized = {f"translategemma-{s}-{q}" for s in ("4b", "12b") for q in ("q5_k_m", "q8_0")}
    assert without == quantized


def test_what_a_model_was_made_for() -> None:
    known = read_registry()
    assert known["base.en"].can("en", "es")
    assert not known["base.en"].can("es", "en")
    assert known["whisper-base"].can("ko", "es")
    assert known["opus-mt-en-es"].can("en", "es")
    assert not known["opus-mt-en-es"].can("en", "fr")
    assert not known["gemma-3-270m-q4_k_m"].can("en", "pt")
    assert known["translategemma-4b-q4_k_m"].can("ko", "ht")


def test_a_registry_of_ones_own_adds_and_wins_and_is_read_again_when_it_changes(
    tmp_path: Path,
) -> None:
    own = tmp_path / "registry.toml"
    own.write_text(OWN.format(name="ours") + OWN.format(name="base.en"))
    known = read_registry(tmp_path)
    assert known["ours"].revision == "main"
    assert known["base.en"].repository == "our-church/fine-tune"
    assert "small.en" in known
    assert read_registry(tmp_path)["ours"] is known["ours"]
    own.write_text(OWN.format(name="ours-two"))
    assert "ours-two" in read_registry(tmp_path)
    assert "ours" not in read_registry(tmp_path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[[models]", "registry.toml: "),
        (OWN.format(name="a b"), "name"),
        (OWN.format(name="a").replace("gemma", "tts"), "role"),
        (OWN.format(name="a").replace("our-church/", ""), "repository"),
        (OWN.format(name="a").replace("model.gguf", "../../etc/passwd"), "files"),
        (OWN.format(name="a") + 'licence_url = "x"', "licence_url"),
        (OWN.format(name="a").replace('repository = "our-church/fine-tune"', ""), "repository"),
        (OWN.format(name="a") + WHEEL, "size_bytes and sha256"),
        (OWN.format(name="a") + WHEEL.replace("model.gguf", "other"), "no others"),
        (OWN.format(name="a") + WHEEL.replace('"w"', '"-r /etc/passwd"'), "wheels"),
        (OWN.format(name="a") + WHEEL.replace("1.0.0", "--index-url"), "version"),
        ("models = 3", "models"),
        ("\udcff", "codec"),
    ],
)
def test_a_broken_registry_is_named(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "registry.toml").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ModelError, match=r"\[registry-broken\]") as raised:
        read_registry(tmp_path)
    assert str(tmp_path / "registry.toml") in raised.value.message
    assert says in raised.value.message


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("Systran/faster-whisper-medium.en", ("Systran/faster-whisper-medium.en", "")),
        ("owner/name/folder/file.Q4.gguf", ("owner/name", "folder/file.Q4.gguf")),
        *((none, None) for none in ("owner/name/model.bin", "owner", "./owner/name", "~/name")),
        *((none, None) for none in ("owner/name/../../x.gguf", "owner/name/", "owner name/x")),
        *((none, None) for none in ("owner/name/a//x.gguf", "owner/name/.x.gguf")),
    ],
)
def test_hub_ids(value: str, parts: tuple[str, str] | None) -> None:
    assert hub_id(value) == parts


def test_the_nearest_name_is_suggested() -> None:
    assert "'distil-large-v3'" in near("distil-large-v2", read_registry())
    assert near("zzz", read_registry()).startswith("`stark-translate models list`")


def test_the_documented_table_is_that_of_the_registry() -> None:
    text = (ROOT / "docs" / "MODELS.md").read_text(encoding="utf-8")
    for model in read_registry().values():
        size, memory = (f"{n / 1e9:.2f} GB" for n in (model.size_bytes, model.memory_bytes))
        names = f"| `{model.name}` | `{KEYS[model.role]}`"
        assert f"{names} | {size} | {memory} | {model.licence} | {model.choose} |" in text


@pytest.mark.parametrize("model", SHIPPED, ids=lambda model: f"{model.name} {model.role}")
def test_every_file_is_listed_and_as_it_was_made(model: Shipped) -> None:
    """After rebuilding a model, run python -m training.export.list_shipped_files."""
    needs_file(model.folder)
    files = {file for file in model.folder.iterdir() if file.is_file()}
    assert {file for file, _ in known_files(model.folder)} == files
    assert wrong_files(model.folder, hashes=True) == []


def test_the_folder_with_the_list_of_files() -> None:
    assert shipped_folder(bundled("models", "tiny", "gemma")) == bundled("models", "tiny")
    assert shipped_folder(bundled("models", "silero")) is None


def test_what_is_made_from_gemma_carries_its_terms() -> None:
    """Section 3.1 of the terms requires their text, a notice, and a statement of the changes."""
    for model in SHIPPED:
        if model.licence == "Gemma":
            assert (model.folder / "TERMS.md").read_text("utf-8").startswith("# Gemma Terms of Use")
            notice = (model.folder / "NOTICE.txt").read_text("utf-8")
            required = "Gemma is provided under and subject to the Gemma Terms of Use found at"
            for words in (required, "ai.google.dev/gemma/terms", "modified"):
                assert words in notice

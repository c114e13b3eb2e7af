"""The shipped registry, one's own beside it, and what a value in the settings can look like."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.models.registry import GGUF_ROLES, KEYS, hub_id, near, read_registry, terms_of
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


def test_the_shipped_registry_names_what_churches_use() -> None:
    known = read_registry()
    assert set(known) == {
        "whisper-base",
        "base.en",
        "small.en",
        "distil-large-v3",
        "large-v3-turbo",
        "opus-mt-en-es",
        "gemma-3-270m-q4_k_m",
        "embeddinggemma-300m-q8_0",
        *(f"translategemma-{s}-{q}" for s in ("4b", "12b") for q in ("q4_k_m", "q5_k_m", "q8_0")),
    }
    assert {model.role for model in known.values()} == set(KEYS)


def test_every_shipped_model_is_fully_described_and_fixed_to_a_commit() -> None:
    for model in read_registry().values():
        if model.repository:
            assert len(model.revision) == 40, f"{model.name}: pinned, so that it never changes"
        assert model.licence
        assert model.choose
        assert 0 < model.size_bytes < model.memory_bytes
        paths = {file.path for file in model.files}
        assert len(paths) == 1 if model.role in GGUF_ROLES else "model.bin" in paths
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


def test_terms_that_must_be_accepted() -> None:
    assert terms_of("Gemma") == terms_of("gemma") == "https://ai.google.dev/gemma/terms"
    assert terms_of("MIT") == terms_of("") == ""


def test_a_registry_of_ones_own_adds_and_wins(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(OWN.format(name="ours") + OWN.format(name="base.en"))
    known = read_registry(tmp_path)
    assert known["ours"].revision == "main"
    assert known["base.en"].repository == "our-church/fine-tune"
    assert "small.en" in known


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[[models]", "registry.toml: "),
        (OWN.format(name="a b"), "name"),
        (OWN.format(name="a").replace("gemma", "tts"), "role"),
        (OWN.format(name="a").replace("our-church/", ""), "repository"),
        (OWN.format(name="a").replace("model.gguf", "../../etc/passwd"), "files"),
        (OWN.format(name="a").replace("model.gguf", "/etc/passwd"), "files"),
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
        ("owner/name/file.Q4.gguf", ("owner/name", "file.Q4.gguf")),
        ("owner/name/folder/file.gguf", ("owner/name", "folder/file.gguf")),
        ("owner/name/model.bin", None),
        ("owner", None),
        ("./owner/name", None),
        ("/owner/name", None),
        ("~/name", None),
        ("owner/name/../../x.gguf", None),
        ("../name", None),
        ("owner/name/", None),
        ("owner name/x", None),
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
        cells = [
            f"`{model.name}`",
            f"`{KEYS[model.role]}`",
            size,
            memory,
            model.licence,
            model.choose,
        ]
        assert f"| {' | '.join(cells)} |" in text


def test_a_registry_is_parsed_once_until_it_changes(tmp_path: Path) -> None:
    own = tmp_path / "registry.toml"
    entry = '[[models]]\nname = "{}"\nrole = "stt"\nrepository = "a/b"\nfiles = ["model.bin"]\n'
    own.write_text(entry.format("ours"), "utf-8")
    first = read_registry(tmp_path)["ours"]
    assert read_registry(tmp_path)["ours"] is first
    own.write_text(entry.format("ours-two"), "utf-8")
    assert "ours-two" in read_registry(tmp_path)
    assert "ours" not in read_registry(tmp_path)

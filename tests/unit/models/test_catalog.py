"""The state of every model."""

from __future__ import annotations

from pathlib import Path

from pipeline.models.catalog import rows
from pipeline.models.library import ModelLibrary
from tests.support.model_fixtures import pulled


def test_every_state(tmp_path: Path) -> None:
    pulled(tmp_path, "small.en", "stt", {"model.bin": b"12"})
    pulled(tmp_path, "base.en", "stt", {"model.bin": b"12"})
    (tmp_path / "base.en" / "model.bin").write_bytes(b"1")
    pulled(tmp_path, "owner/name", "marian", {"model.bin": b"123"})
    pulled(tmp_path, "opus-mt-en-es", "marian", {"model.bin": b"12"})
    (tmp_path / "opus-mt-en-es" / "manifest.json").write_text("")
    store = ModelLibrary(tmp_path)
    (store.partial("distil-large-v3") / "c0ffee").mkdir(parents=True)
    (store.partial("owner/half/a.gguf") / "c0ffee").mkdir(parents=True)
    found = {row.name: row for row in rows(store, [("stt", "small.en"), ("marian", "starter")])}
    assert {name: row.state for name, row in found.items() if row.state != "not here"} == {
        "starter": "ships",
        "tiny": "ships",
        "small.en": "here",
        "base.en": "damaged",
        "opus-mt-en-es": "damaged",
        "distil-large-v3": "half",
        "owner/name": "here",
        "owner/half/a.gguf": "half",
    }
    assert found["small.en"].in_use
    assert not found["base.en"].in_use
    assert found["small.en"].path == str(tmp_path / "small.en")
    assert found["small.en"].size_bytes == 2, "of what is here, not what was cited"
    assert found["owner/name"].role == "marian"
    assert found["owner/half/a.gguf"].role == ""
    assert found["large-v3-turbo"].state == "not here"
    assert found["large-v3-turbo"].path == ""


def test_the_starters_are_listed_for_each_role(tmp_path: Path) -> None:
    starters = [
        row for row in rows(ModelLibrary(tmp_path), [("gemma", "starter")]) if row.name == "starter"
    ]
    assert [(row.role, row.in_use) for row in starters] == [
        ("stt", False),
        ("marian", False),
        ("gemma", True),
    ]
    for row in starters:
        assert Path(row.path).exists()
        assert 1_000_000 < row.size_bytes < row.memory_bytes

"""The registry of models and the manifests of pulled ones: any content is accepted or refused."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.core.resources import bundled
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import KEYS, hub_id, read_registry
from pipeline.models.resolve import resolve
from tests.support.material import FUZZ, TEXTS, VALUES, accepted, damaged, toml

SHIPPED = bundled("models", "registry.toml").read_bytes()
NAMES = TEXTS | st.sampled_from(
    ["mine", "a/b", "a/b/c.gguf", "~", "/", "~no-such-user/x", "a" * 5000]
)
ENTRIES = st.fixed_dictionaries(
    {
        "name": st.just("mine") | NAMES,
        "role": st.sampled_from(["stt", "marian", "gemma"]) | NAMES,
        "repository": st.just("a/b") | NAMES,
        "files": st.lists(st.just("model.gguf") | NAMES, max_size=2),
    },
    optional=dict.fromkeys(["revision", "size_bytes", "memory_bytes", "nmae"], VALUES),
)
MANIFEST: dict[str, Any] = {
    "name": "mine",
    "role": "gemma",
    "repository": "a/b",
    "revision": "0" * 40,
    "pulled_utc": "2026-11-22T09:30:00Z",
    "files": [{"path": "model.gguf", "size_bytes": 4, "sha256": "0" * 64}],
}
FILES = st.fixed_dictionaries(
    {"path": NAMES, "size_bytes": st.integers(-1, 9), "sha256": TEXTS},
)
MANIFESTS = st.fixed_dictionaries(
    {}, optional={"files": st.lists(FILES, max_size=2), "role": NAMES, "name": NAMES}
).map(lambda values: orjson.dumps(MANIFEST | values))


@pytest.mark.slow
@FUZZ
@given(st.lists(ENTRIES, max_size=2))
@example([{"name": "mine", "role": "gemma", "repository": "a/b", "files": []}])
def test_any_names_of_ones_own_are_taken_or_refused(
    tmp_path: Path, entries: list[dict[str, Any]]
) -> None:
    own = tmp_path / "registry.toml"
    own.write_text("".join(f"[[models]]\n{toml(entry)}" for entry in entries), "utf-8")
    known = accepted(lambda: read_registry(tmp_path), str(own))
    for name, model in (known or {}).items():
        accepted(functools.partial(resolve, model.role, name, ModelLibrary(tmp_path)), name)


@pytest.mark.slow
@FUZZ
@given(damaged(SHIPPED, most=6))
@example(b"a = " + b"[" * 5000)
@example(b"a = " + b"9" * 5000)
def test_a_damaged_registry_is_taken_or_refused_by_its_name(tmp_path: Path, content: bytes) -> None:
    own = tmp_path / "registry.toml"
    own.write_bytes(content)
    accepted(lambda: read_registry(tmp_path), str(own))


@pytest.mark.slow
@FUZZ
@given(damaged(orjson.dumps(MANIFEST)) | MANIFESTS)
@example(orjson.dumps({**MANIFEST, "files": [{"path": "\0", "size_bytes": 0, "sha256": ""}]}))
def test_any_manifest_is_taken_or_refused(tmp_path: Path, content: bytes) -> None:
    store = ModelLibrary(tmp_path)
    (tmp_path / "mine").mkdir(exist_ok=True)
    (tmp_path / "mine" / "manifest.json").write_bytes(content)
    store.names()
    manifest = accepted(lambda: store.manifest("mine"), "mine")
    if manifest is not None:
        accepted(lambda: store.faults(manifest, hashes=True))
        accepted(lambda: store.path(manifest))


@pytest.mark.slow
@FUZZ
@given(st.sampled_from(sorted(KEYS)), NAMES)
@example("stt", "\0")
@example("stt", "~no-such-user/x")
@example("stt", "a" * 5000)
@example("gemma", "a/b/" + "c" * 300 + ".gguf")
def test_any_name_in_the_settings_is_a_path_or_refused_by_its_key(
    tmp_path: Path, role: Any, value: str
) -> None:
    accepted(lambda: resolve(role, value, ModelLibrary(tmp_path)), KEYS[role], str(tmp_path))
    hub_id(value)

"""Settings: any file and any environment is accepted, or refused with a name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.config.loader import Loaded, leaves, load
from pipeline.config.schema import PREFIX, Settings
from pipeline.core.resources import bundled
from tests.support.material import FUZZ, TEXTS, VALUES, accepted, damaged, toml

DEFAULTS = dict(leaves(Settings().model_dump()))
KEYS = st.sampled_from(sorted(DEFAULTS)) | st.text(min_size=1, max_size=12)
GOOD = bundled("config.toml").read_bytes()


def tried(folder: Path, content: bytes) -> Loaded | None:
    file = folder / "config.toml"
    file.write_bytes(content)
    with mock.patch.dict(os.environ):
        for name in [name for name in os.environ if name.upper().startswith(PREFIX)]:
            del os.environ[name]
        return accepted(lambda: load(file), str(file))


@pytest.mark.slow
@FUZZ
@given(damaged(GOOD, most=6))
@example(b"a = " + b"[" * 5000)
@example(b"[server]\nport = " + b"9" * 5000)
@example(b"[server]\nport = 0x" + b"f" * 5000)
@example(b"\xef\xbb\xbf" + GOOD)
def test_a_damaged_file_is_taken_or_refused_by_its_name(tmp_path: Path, content: bytes) -> None:
    tried(tmp_path, content)


@pytest.mark.slow
@FUZZ
@given(st.dictionaries(KEYS, VALUES, max_size=4))
@example({"server.port": float("nan")})
@example({"session.directory": "\0"})
@example({"translate": 1, "translate.final.engine": "gemma"})
@example({"translate.also_spoken": "None"})
def test_any_value_of_any_key_is_taken_or_refused(tmp_path: Path, values: dict[str, Any]) -> None:
    tree: dict[str, Any] = {}
    for path, value in values.items():
        *tables, key = path.split(".")
        table = tree
        for name in tables:
            inner = table.get(name)
            table[name] = inner if isinstance(inner, dict) else {}
            table = table[name]
        table[key] = value
    loaded = tried(tmp_path, toml(tree).encode())
    if loaded is not None:
        assert dict(leaves(loaded.settings.model_dump())).keys() == DEFAULTS.keys()


@pytest.mark.slow
@FUZZ
@given(
    st.dictionaries(
        st.sampled_from([*(path.replace(".", "__") for path in DEFAULTS), "server", "x", "vad__x"]),
        TEXTS.filter(lambda text: "\0" not in text),
        max_size=3,
    )
)
@example({"server": "[" * 5000})
@example({"server": '{"port": ' + "9" * 5000 + "}"})
@example({"server__port": "9" * 5000})
def test_any_environment_is_taken_or_refused(values: dict[str, str]) -> None:
    variables = {f"{PREFIX}{name.upper()}": value for name, value in values.items()}
    with mock.patch.dict(os.environ, variables):
        accepted(load, "environment", "config.toml")


def test_a_windows_editor_may_mark_the_file(tmp_path: Path) -> None:
    loaded = tried(tmp_path, b"\xef\xbb\xbf[server]\nport = 1234\n")
    assert loaded is not None
    assert loaded.settings.server.port == 1234


@pytest.mark.parametrize("nested", ["[" * 5000, '{"a":' * 5000])
def test_what_is_nested_too_deeply_is_no_toml(tmp_path: Path, nested: str) -> None:
    assert tried(tmp_path, f"a = {nested}".encode()) is None

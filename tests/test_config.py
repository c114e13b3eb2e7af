"""The keys, and the config.toml that shows them."""

from __future__ import annotations

import tomllib

from pipeline.bundled import bundled
from pipeline.config import Settings
from pipeline.config_layers import leaves


def test_the_shipped_file_holds_every_key_with_its_default() -> None:
    shipped = tomllib.loads(bundled("config.toml").read_text())
    assert dict(leaves(shipped)) == dict(leaves(Settings().model_dump()))


def test_every_key_of_the_shipped_file_is_explained() -> None:
    lines = bundled("config.toml").read_text().splitlines()
    assert [line for line in lines if " = " in line and "#" not in line] == []

"""Files that ship with the program are found in a checkout and in an installed wheel."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pipeline.core import resources as module
from pipeline.core.errors import ConfigError
from pipeline.core.resources import bundled, require_extra


@pytest.mark.parametrize(
    "parts",
    [
        ("config.toml",),
        ("demo", "sermon.flac"),
        ("models", "starter", "MODEL_CARD.md"),
    ],
)
def test_in_a_checkout_they_lie_beside_the_package(parts: tuple[str, ...]) -> None:
    assert bundled(*parts).is_file()


def test_a_wheel_carries_them_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bundle").mkdir()
    monkeypatch.setattr(module, "_PACKAGE", tmp_path)
    assert bundled("demo", "x") == tmp_path / "bundle" / "demo" / "x"


def test_the_folder_of_an_installed_package_is_found() -> None:
    assert (require_extra("numpy", "any", "any.key") / "__init__.py").is_file()


def test_a_missing_package_is_told_with_the_extra_that_brings_it() -> None:
    with pytest.raises(ConfigError) as caught:
        require_extra("no_such_package", "moonshine", 'stt.engine = "moonshine"')
    assert str(caught.value) == (
        'stt.engine = "moonshine" needs the package no_such_package, which is not installed. '
        f"Run: {sys.executable} -m pip install 'stark-translate[moonshine]'. [extra-missing]"
    )

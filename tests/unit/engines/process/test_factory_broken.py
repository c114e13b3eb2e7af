"""What stands for a further language's translator whose files are broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.core.errors import ConfigError, EngineError, ModelError
from pipeline.engines.process import factory
from pipeline.engines.process.factory import BrokenTranslator
from tests.support.model_fixtures import pulled, starter_files


def settings_with(tmp_path: Path, partial: str) -> Path:
    text = f"models.directory = '{tmp_path}'\n[[translate.targets]]\nlang = 'fr'\n"
    text += "final = { engine = 'marian' }\n"
    (tmp_path / "config.toml").write_text(f"{text}partial = {{ model = '{partial}' }}\n")
    return tmp_path / "config.toml"


def test_it_says_so_when_it_is_loaded_and_whenever_it_is_asked(tmp_path: Path) -> None:
    pulled(tmp_path, "french", "marian", starter_files("marian"))
    next(tmp_path.rglob("source.spm")).unlink()
    settings = load(settings_with(tmp_path, "french")).settings
    (french,) = factory.engine_processes(settings, compare=False).extra_targets
    assert isinstance(french.partial, BrokenTranslator)
    with pytest.raises(ModelError, match=r"translate\.targets, 'fr': .*source\.spm.*broken\]"):
        french.partial.load()
    with pytest.raises(EngineError, match="'fr'"):
        french.partial.translate("grace")


def test_a_model_that_is_not_there_is_a_mistake_in_the_settings(tmp_path: Path) -> None:
    settings = load(settings_with(tmp_path, "french")).settings
    with pytest.raises((ModelError, ConfigError), match=r"translate\.targets, 'fr'"):
        factory.engine_processes(settings, compare=False)

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.core.errors import ModelError
from pipeline.core.resources import bundled
from pipeline.engines.process.factory import recognizer_spec
from pipeline.models.library import ModelLibrary
from pipeline.models.windows import FULL_S, own_pauses, own_window_s
from tests.support.needs import needs_file

STARTER = bundled("models", "starter", "stt")
OWN = """
[[models]]
name = "ours"
role = "stt"
repository = "owner/ours"
files = ["model.bin"]
window_s = 12.5
pauses = { hold_ms = 900 }

[[models]]
name = "untried"
role = "stt"
repository = "owner/untried"
files = ["model.bin"]
"""


def test_a_model_of_the_registry_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(OWN)
    assert own_window_s(tmp_path / "whisper-base", ModelLibrary(tmp_path)) == 8.0
    assert own_window_s(tmp_path / "ours", ModelLibrary(tmp_path)) == 12.5


def test_so_do_its_pauses_which_the_settings_overrule(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(OWN)
    ours = load(flags={"stt.model": str(tmp_path / "ours"), "models.directory": str(tmp_path)})
    (tmp_path / "ours").mkdir()
    assert own_pauses(ours.settings) == {"hold_ms": 900}
    assert ours.settings.vad.fitted({"hold_ms": 900, "join_ms": 7}).hold_ms == 900
    told = load(flags={"vad.hold_ms": 0, "vad.silence_ms": 200}).settings.vad
    assert (told.fitted({"hold_ms": 900}).hold_ms, told.fitted({}).silence_ms) == (0, 200)


def test_the_starter_keeps_those_that_are_built_in() -> None:
    needs_file(STARTER / "model.bin")
    starter = load(flags={"stt.model": "starter"}).settings
    vad = starter.vad.fitted(own_pauses(starter))
    assert (vad.silence_ms, vad.reopen_ms, vad.hold_ms) == (160, 256, 0)


def test_where_nobody_has_measured_it_is_whispers_own(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(OWN)
    assert own_window_s(tmp_path / "untried", ModelLibrary(tmp_path)) == FULL_S
    assert own_window_s(tmp_path / "elsewhere" / "whisper-base", ModelLibrary(tmp_path)) == FULL_S


def test_a_broken_registry(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text("[[models]]\n")
    with pytest.raises(ModelError, match=r"\[registry-broken\]"):
        own_window_s(tmp_path / "ours", ModelLibrary(tmp_path))


@pytest.mark.parametrize(("said", "used"), [(0.0, 10.0), (4.0, 4.0), (22.5, 22.5)])
def test_the_settings_win(said: float, used: float) -> None:
    needs_file(STARTER)
    settings = load(flags={"stt.model": "starter", "stt.window_s": said}).settings
    assert recognizer_spec(settings).arguments["window_s"] == used


@pytest.mark.parametrize(
    ("proof", "window_s"),
    [
        ('{"window_s": 6}', 6.0),
        ('{"window_s": 400}', FULL_S),
        ('{"window_s": "short"}', FULL_S),
        ("[]", FULL_S),
        ("{", FULL_S),
    ],
)
def test_a_trained_model_has_the_window_it_was_proved_with(
    tmp_path: Path, proof: str, window_s: float
) -> None:
    (tmp_path / "proof.json").write_text(proof)
    assert own_window_s(tmp_path, ModelLibrary()) == window_s

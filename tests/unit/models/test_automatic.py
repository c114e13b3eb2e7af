"""Models chosen by "auto", and what the configured models were made for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.config.loader import changed, load
from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError
from pipeline.core.resources import bundled
from pipeline.engines.process.factory import recognizer_spec
from pipeline.models import registry
from pipeline.models.automatic import (
    FIRST,
    FULL_S,
    models_in_use,
    names_in_use,
    own_pauses,
    own_window_s,
    recognizer_name,
    remember,
    require_languages,
    translator_name,
)
from pipeline.models.crash_history import LOAD_CRASHES, crash_history
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import KEYS, Role
from tests.support.model_fixtures import pulled
from tests.support.needs import needs_file

STARTER = bundled("models", "starter", "stt")
FILES = {"model.bin": b"12", "config.json": b"{}", "tokenizer.json": b"{}"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return changed(Settings(), {"models.directory": str(tmp_path)})


def have(settings: Settings, *names: str) -> None:
    for name in names:
        pulled(Path(settings.models.directory), name, "stt", FILES)


def test_before_any_tuning_it_is_whisper_base_and_nothing_else(settings: Settings) -> None:
    assert settings.stt.model == "auto"
    have(settings, "small.en", "distil-large-v3")
    assert recognizer_name(settings) == "starter"
    have(settings, FIRST)
    assert recognizer_name(settings) == FIRST


def test_afterwards_it_is_the_largest_that_keeps_up(settings: Settings) -> None:
    have(settings, FIRST, "small.en", "distil-large-v3", "large-v3-turbo")
    for name, keeps_up in (
        ("small.en", True),
        ("distil-large-v3", True),
        ("large-v3-turbo", False),
    ):
        remember(settings, name, keeps_up=keeps_up)
    assert recognizer_name(settings) == "distil-large-v3"
    for name, next_best in (
        ("distil-large-v3", "small.en"),
        ("small.en", FIRST),
        (FIRST, "starter"),
    ):
        remember(settings, name, keeps_up=False)
        assert recognizer_name(settings) == next_best


def test_one_that_was_removed_or_is_damaged_is_not_taken(settings: Settings) -> None:
    have(settings, FIRST, "small.en")
    remember(settings, "small.en", keeps_up=True)
    weights = Path(settings.models.directory) / "small.en" / "model.bin"
    weights.write_bytes(b"1")
    assert recognizer_name(settings) == FIRST
    (Path(settings.models.directory) / FIRST / "manifest.json").write_text("{")
    assert recognizer_name(settings) == "starter"


@pytest.mark.slow
def test_one_that_crashes_whenever_it_is_loaded_is_not_taken(
    settings: Settings, tmp_path: Path
) -> None:
    settings = changed(settings, {"session.directory": str(tmp_path / "sessions")})
    (tmp_path / "sessions").mkdir()
    have(settings, FIRST, "small.en")
    remember(settings, "small.en", keeps_up=True)
    crashes = crash_history(settings)
    for name, next_best in (("small.en", FIRST), (FIRST, "starter")):
        for _ in range(LOAD_CRASHES):
            assert recognizer_name(settings) == name
            crashes.note(Path(settings.models.directory) / name, "crashed")
        assert recognizer_name(settings) == next_best


def test_it_hears_the_spoken_language(settings: Settings) -> None:
    have(settings, FIRST, "small.en")
    remember(settings, "small.en", keeps_up=True)
    spanish = changed(settings, {"translate.source": "es", "translate.target": "en"})
    assert recognizer_name(spanish) == FIRST


def test_a_name_of_ones_own_is_taken_as_it_is(settings: Settings) -> None:
    have(settings, FIRST)
    for name in ("starter", "/opt/models/ours", "large-v3-turbo"):
        assert recognizer_name(changed(settings, {"stt.model": name})) == name


def test_what_is_no_name_is_not_remembered(settings: Settings) -> None:
    remember(settings, "/opt/models/ours", keeps_up=True)
    assert not list(Path(settings.models.directory).iterdir())


@pytest.mark.parametrize("damage", ["", "[]", '{"small.en": "yes, quite"}'])
def test_a_damaged_memory_is_none(settings: Settings, damage: str) -> None:
    have(settings, FIRST, "small.en")
    (Path(settings.models.directory) / "tuned.json").write_text(damage)
    assert recognizer_name(settings) == FIRST
    remember(settings, "small.en", keeps_up=True)
    assert recognizer_name(settings) == "small.en"


def test_the_names_of_all_engines(settings: Settings) -> None:
    have(settings, FIRST)
    assert names_in_use(settings) == {
        "recognizer": FIRST,
        "quick translator": "starter",
        "final translator": "starter",
    }
    without = {"translate.partial.engine": "none", "translate.final.model": "ours.gguf"}
    assert names_in_use(changed(settings, without)) == {
        "recognizer": FIRST,
        "final translator": "ours.gguf",
    }


class TestLanguages:
    @pytest.mark.parametrize(
        ("role", "name", "values"),
        [
            ("stt", "small.en", {"translate.source": "ko"}),
            ("marian", "starter", {"translate.target": "de"}),
            ("gemma", "tiny", {"translate.target": "fr"}),
        ],
    )
    def test_a_pair_that_a_model_was_not_made_for(
        self, settings: Settings, role: Role, name: str, values: dict[str, Any]
    ) -> None:
        with pytest.raises(ConfigError, match=r"\[lang-unsupported\]") as raised:
            require_languages(role, name, changed(settings, values))
        assert KEYS[role] in raised.value.message
        assert name in raised.value.message
        assert next(iter(values.values())) in raised.value.message
        assert raised.value.exit_code == 78, "systemd must not try again"

    def test_the_refusal_names_the_models_that_know_the_pair(self, settings: Settings) -> None:
        german = changed(settings, {"translate.target": "de"})
        with pytest.raises(ConfigError) as raised:
            require_languages("gemma", "starter", german)
        assert "translategemma-4b-q4_k_m" in raised.value.fix
        assert "opus-mt-en-es" not in raised.value.fix

    @pytest.mark.parametrize(
        ("role", "name", "values"),
        [
            ("stt", "starter", {}),
            ("marian", "starter", {"translate.target": "fr"}),
            ("gemma", "translategemma-4b-q4_k_m", {"translate.source": "ko"}),
            ("marian", "owner/en-de", {"translate.target": "de"}),
        ],
    )
    def test_all_others(
        self, settings: Settings, role: Role, name: str, values: dict[str, Any]
    ) -> None:
        require_languages(role, name, changed(settings, values))


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = changed(Settings(), {"models.directory": str(tmp_path / "file" / "models")})
    remember(settings, FIRST, keeps_up=True)
    assert recognizer_name(settings) == "starter"


class TestTranslators:
    LARGE, SMALL = "translategemma-4b-q8_0", "translategemma-4b-q4_k_m"

    def gemma(self, settings: Settings, *names: str) -> None:
        for name in names:
            file = f"{name}.gguf"
            pulled(Path(settings.models.directory), name, "gemma", {file: b"12"})

    def test_one_that_nobody_has_measured_is_not_taken(self, settings: Settings) -> None:
        self.gemma(settings, self.SMALL)
        assert settings.translate.final.model == settings.translate.partial.model == "auto"
        assert models_in_use(settings)["gemma"] == "starter"

    def test_it_is_the_largest_that_is_fast_enough(self, settings: Settings) -> None:
        self.gemma(settings, self.SMALL, self.LARGE)
        remember(settings, self.SMALL, keeps_up=True)
        assert translator_name(settings, "gemma") == self.SMALL
        remember(settings, self.LARGE, keeps_up=True)
        assert translator_name(settings, "gemma") == self.LARGE
        assert translator_name(settings, "gemma", "tiny") == "tiny", "what is named is taken"

    def test_where_the_starter_lacks_the_pair_an_unmeasured_one_is_taken(
        self, settings: Settings
    ) -> None:
        german = changed(settings, {"translate.target": "de"})
        assert translator_name(german, "gemma") == "starter", "which then says what it lacks"
        self.gemma(settings, self.LARGE)
        assert translator_name(german, "gemma") == self.LARGE

    def test_one_of_another_pair_is_not_taken(self, settings: Settings) -> None:
        pulled(Path(settings.models.directory), "opus-mt-en-es", "marian", FILES)
        remember(settings, "opus-mt-en-es", keeps_up=True)
        french = changed(settings, {"translate.target": "fr"})
        assert translator_name(french, "marian") == "starter"


def test_moonshines_own_model_hears_english_only(settings: Settings) -> None:
    spanish = {"stt.engine": "moonshine", "translate.source": "es", "translate.target": "en"}
    with pytest.raises(ConfigError, match=r"hears en, .* is es\..*\[lang-unsupported\]"):
        recognizer_name(changed(settings, spanish))


def test_people_read_a_streaming_recognizers_name_and_not_where_it_lies(settings: Settings) -> None:
    named = changed(settings, {"stt.engine": "moonshine", "stt.model": "/opt/base-en"})
    assert names_in_use(named)["recognizer"] == "moonshine:base-en"


def test_behind_a_server_stands_the_recognizer_that_would_hear_here(settings: Settings) -> None:
    flags = {"stt.engine": "openai", "stt.server": "gpu", "stt.server_model": "large-v3"}
    named = changed(settings, {**flags, "servers.gpu.url": "http://10.0.0.5:8000/v1"})
    assert recognizer_name(named) == "starter"
    assert names_in_use(named)["recognizer"] == "openai:large-v3"
    assert models_in_use(named)["stt"] == "starter"
    quick = {"engine": "openai", "server": "gpu", "local": "auto"}
    named = changed(named, {f"translate.partial.{key}": said for key, said in quick.items()})
    assert models_in_use(named)["marian"] == "starter"


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


@pytest.mark.parametrize(
    ("folder", "window_s"),
    [
        ("whisper-base", 8.0),
        ("ours", 12.5),
        ("untried", FULL_S),
        ("elsewhere/whisper-base", FULL_S),
    ],
)
def test_a_model_of_the_registry_has_its_own_window(
    tmp_path: Path, folder: str, window_s: float
) -> None:
    (tmp_path / "registry.toml").write_text(OWN)
    assert own_window_s(tmp_path / folder, ModelLibrary(tmp_path)) == window_s


def test_so_do_its_pauses_which_the_settings_overrule(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(OWN)
    ours = load(flags={"stt.model": str(tmp_path / "ours"), "models.directory": str(tmp_path)})
    (tmp_path / "ours").mkdir()
    assert own_pauses(ours.settings) == {"hold_ms": 900}
    assert ours.settings.vad.fitted({"hold_ms": 900, "join_ms": 7}).hold_ms == 900
    vad = load(flags={"vad.hold_ms": 0, "vad.silence_ms": 200}).settings.vad
    assert (vad.fitted({"hold_ms": 900}).hold_ms, vad.fitted({}).silence_ms) == (0, 200)


def test_the_starter_keeps_those_that_are_built_in() -> None:
    needs_file(STARTER)
    starter = load(flags={"stt.model": "starter"}).settings
    vad = starter.vad.fitted(own_pauses(starter))
    assert (vad.silence_ms, vad.reopen_ms, vad.hold_ms) == (160, 256, 0)


@pytest.mark.parametrize(("said", "used"), [(0.0, 10.0), (4.0, 4.0), (22.5, 22.5)])
def test_the_settings_win(said: float, used: float) -> None:
    needs_file(STARTER)
    settings = load(flags={"stt.model": "starter", "stt.window_s": said}).settings
    assert recognizer_spec(settings).arguments["window_s"] == used


@pytest.mark.parametrize(
    ("proof", "window_s"), [('{"window_s": 6}', 6.0), ('{"window_s": 400}', FULL_S), ("{", FULL_S)]
)
def test_a_trained_model_has_the_window_it_was_proved_with(
    tmp_path: Path, proof: str, window_s: float
) -> None:
    (tmp_path / "proof.json").write_text(proof)
    assert own_window_s(tmp_path, ModelLibrary()) == window_s


def test_a_starter_that_is_missing_is_no_matter_to_another_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "bundled", lambda *parts: tmp_path.joinpath("none", *parts))
    monkeypatch.setattr(ModelLibrary, "known", {})
    assert own_window_s(tmp_path, ModelLibrary(tmp_path)) == FULL_S

"""Deploying a new model and rolling it back; the model in use is never touched."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.core.errors import ConfigError, LearningError
from pipeline.core.resources import bundled
from pipeline.learning.compare import COMPARISONS, ModelComparison, weights_of
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.deploy import DEPLOYMENTS, deploy, rollback
from pipeline.learning.manifest import sha256
from pipeline.learning.verdict import Advice
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import Role
from pipeline.models.resolve import resolve

pytestmark = pytest.mark.usefixtures("own_final_model")

CONFIG = """\
[translate.final]
model = "starter"        # ours
[models]
directory = "{models}"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG.format(models=tmp_path / "models"))
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (weights,) = bundled("models", "tiny", "gemma").glob("*.gguf")
    copy = tmp_path / "trained.gguf"
    shutil.copyfile(weights, copy)
    return copy


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "learning")


def compared(data: DataFolder, model: Path, verdict: Advice, prompt: str = "") -> None:
    comparison = ModelComparison(
        utc="2026-11-22T09:30:00.000+00:00",
        role="gemma",
        old="starter",
        new=str(model),
        old_sha256=sha256(weights_of(resolve("gemma", "starter"))),
        new_sha256=sha256(model),
        measured=(),
        old_ms=None,
        new_ms=None,
        verdict=verdict,
        reasons=("chrF++ of gate -3.0 (-4.0 to -2.0)",) if verdict == "keep" else (),
        prompt=prompt,
    )
    COMPARISONS.append(data, comparison)


def test_the_next_start_uses_it_and_one_command_goes_back(
    config: Path, model: Path, data: DataFolder, tmp_path: Path
) -> None:
    before = config.read_text()
    compared(data, model, "deploy")
    made = deploy(load(config), data, "gemma", model, "ours-1")
    assert made.before == {"translate.final.model": "starter"}
    settings = load(config).settings
    assert settings.translate.final.model == "ours-1"
    used = resolve("gemma", "ours-1", ModelLibrary.of(settings))
    assert used.read_bytes() == model.read_bytes()
    assert "# ours" in config.read_text()
    manifest = ModelLibrary(tmp_path / "models").manifest("ours-1")
    assert manifest is not None
    assert (manifest.role, manifest.source) == ("gemma", "learn deploy")
    rollback(load(config), data, "gemma")
    assert config.read_text() == before
    assert used.exists(), "it is kept"
    with pytest.raises(LearningError) as raised:
        rollback(load(config), data, "gemma")
    assert raised.value.code == "nothing-deployed"


def test_a_model_is_asked_as_it_was_when_it_was_compared(
    config: Path, model: Path, data: DataFolder
) -> None:
    compared(data, model, "deploy", prompt="starter")
    deploy(load(config), data, "gemma", model, "ours")
    assert load(config).settings.translate.final.prompt == "starter"
    rollback(load(config), data, "gemma")
    assert load(config).settings.translate.final.prompt == "auto"


@pytest.mark.slow
def test_two_deployments_are_taken_back_one_after_the_other(
    config: Path, model: Path, data: DataFolder
) -> None:
    for name in ("ours-1", "ours-2"):
        deploy(load(config), data, "gemma", model, name, prompt="starter", force=True)
    assert load(config).settings.translate.final.prompt == "starter"
    rollback(load(config), data, "gemma")
    assert load(config).settings.translate.final.model == "ours-1"
    rollback(load(config), data, "gemma")
    final = load(config).settings.translate.final
    assert (final.model, final.prompt) == ("starter", "auto")
    assert [each.rollback for each in DEPLOYMENTS.read(data)] == [False, False, True, True]


def test_a_model_that_was_compared_with_an_earlier_one_stays_out(
    config: Path, model: Path, data: DataFolder
) -> None:
    compared(data, model, "deploy")
    better = model.with_name("better.gguf")
    better.write_bytes(model.read_bytes() + b"better")
    deploy(load(config), data, "gemma", better, "better", force=True)
    with pytest.raises(LearningError) as raised:
        deploy(load(config), data, "gemma", model, "ours")
    assert raised.value.code == "not-compared"
    rollback(load(config), data, "gemma")
    assert deploy(load(config), data, "gemma", model, "ours").name == "ours"


def test_a_name_stands_for_one_model(config: Path, model: Path, data: DataFolder) -> None:
    """Two deployments of one day had one name: nothing was left to go back to."""
    deploy(load(config), data, "gemma", model, "ours", force=True)
    better = model.with_name("better.gguf")
    better.write_bytes(model.read_bytes() + b"better")
    marian = bundled("models", "starter", "marian")
    taken: list[tuple[Role, Path, str]] = [
        ("gemma", better, "ours"),
        ("marian", marian, "ours"),
        ("gemma", better, "starter"),
        ("gemma", better, "auto"),
    ]
    for role, file, name in taken:
        with pytest.raises(LearningError) as raised:
            deploy(load(config), data, role, file, name, force=True)
        assert raised.value.code == "name-taken"
    used = resolve("gemma", "ours", ModelLibrary.of(load(config).settings))
    assert used.read_bytes() == model.read_bytes()
    deploy(load(config), data, "gemma", model, "ours", force=True)


def test_a_rollback_that_was_killed_is_done_by_the_next_one(
    config: Path, model: Path, data: DataFolder
) -> None:
    for name in ("ours-1", "ours-2"):
        deploy(load(config), data, "gemma", model, name, force=True)
    written = config.read_bytes()
    rollback(load(config), data, "gemma")
    config.write_bytes(written)
    for name in ("ours-1", "starter"):
        rollback(load(config), data, "gemma")
        assert load(config).settings.translate.final.model == name


@pytest.mark.parametrize(
    ("verdict", "code"), [(None, "not-compared"), ("keep", "worse")], ids=["none", "worse"]
)
def test_a_model_that_was_not_found_good_stays_out(
    config: Path, model: Path, data: DataFolder, verdict: Advice | None, code: str
) -> None:
    if verdict is not None:
        compared(data, model, verdict)
    before = config.read_bytes()
    with pytest.raises(LearningError) as raised:
        deploy(load(config), data, "gemma", model, "ours")
    assert raised.value.code == code
    assert config.read_bytes() == before
    assert deploy(load(config), data, "gemma", model, "ours", force=True).name == "ours"


def test_a_folder_of_ctranslate2_is_deployed_whole(config: Path, data: DataFolder) -> None:
    marian = bundled("models", "starter", "marian")
    deploy(load(config), data, "marian", marian, "ours-marian", force=True)
    settings = load(config).settings
    used = resolve("marian", settings.translate.partial.model, ModelLibrary.of(settings))
    names = {path.name for path in marian.iterdir()}
    assert {path.name for path in used.iterdir()} == names | {"manifest.json"}


def test_what_cannot_be_deployed_changes_nothing(
    config: Path, model: Path, data: DataFolder
) -> None:
    wrong = {
        ("../out", model): "name-malformed",
        ("ours", Path("none.gguf")): "model-missing",
        # Its --role was forgotten.
        ("ours", bundled("models", "starter", "marian")): "model-missing",
    }
    for (name, file), code in wrong.items():
        with pytest.raises(LearningError) as raised:
            deploy(load(config), data, "gemma", file, name, force=True)
        assert raised.value.code == code
    assert load(config).settings.translate.final.model == "starter"


def test_a_full_disk_leaves_the_model_in_use(
    config: Path, model: Path, data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pipeline.learning.deploy.shutil.copyfile", full)
    with pytest.raises(LearningError) as raised:
        deploy(load(config), data, "gemma", model, "ours", force=True)
    assert raised.value.code == "models-unwritable"
    assert load(config).settings.translate.final.model == "starter"
    assert DEPLOYMENTS.read(data) == []


def test_a_key_that_something_else_sets_is_told_before_gigabytes_are_copied(
    config: Path, model: Path, data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("MODEL", "PROMPT"):
        with monkeypatch.context() as patch:
            patch.setenv(f"STARK_TRANSLATE__TRANSLATE__FINAL__{key}", "starter")
            for dry_run in (True, False):
                with pytest.raises(LearningError) as raised:
                    deploy(
                        *(load(config), data, "gemma", model, "ours"),
                        prompt="starter",
                        force=True,
                        dry_run=dry_run,
                    )
                assert raised.value.code == "key-overridden"
    assert not (config.parent / "models").exists()


def test_a_model_on_a_server_keeps_its_name(config: Path, model: Path, data: DataFolder) -> None:
    """The server would be asked for a model that only this machine has."""
    config.write_text(
        '[servers.gpu]\nurl = "http://127.0.0.1:9/v1"\n'
        '[translate.final]\nengine = "openai"\nserver = "gpu"\nmodel = "theirs"\n'
    )
    with pytest.raises(LearningError) as raised:
        deploy(load(config), data, "gemma", model, "ours", force=True)
    assert raised.value.code == "role-unused"
    assert load(config).settings.translate.final.model == "theirs"


def test_without_a_file_of_settings_it_is_told(
    model: Path, data: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = replace(load(flags={"models.directory": str(tmp_path / "models")}), file=None)
    with pytest.raises(LearningError) as raised:
        deploy(loaded, data, "gemma", model, "ours", force=True)
    assert raised.value.code == "config-missing"


def test_a_config_that_cannot_be_written_is_no_deployment(
    config: Path, model: Path, data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared(data, model, "deploy")
    deploy(load(config), data, "gemma", model, "ours-1")
    written = config.read_text()

    def refuse(*_: object) -> None:
        raise ConfigError("config-unwritable", "No.")

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.config.editor.write", refuse)
        with pytest.raises(ConfigError):
            deploy(load(config), data, "gemma", model, "ours-2")
        assert DEPLOYMENTS.read(data)[-1].after == {"translate.final.model": "ours-1"}
        with pytest.raises(ConfigError):
            rollback(load(config), data, "gemma")
    assert config.read_text() == written
    assert DEPLOYMENTS.read(data)[-1].after == {"translate.final.model": "ours-1"}
    rollback(load(config), data, "gemma")
    assert 'model = "starter"' in config.read_text()

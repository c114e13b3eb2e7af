"""`learn distill` as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.main import main
from tests.support.model_servers import free_port
from tests.support.needs import needs_train_extra

pytestmark = pytest.mark.usefixtures("own_final_model")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


ASKED = ["learn", "distill", "--data", "learning"]


def test_distill_says_what_it_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--dry-run", "--steps", "7"]) == 0
    teaches, trains, _ = capsys.readouterr().out.splitlines()
    assert "starter would teach learning/mix" in teaches
    assert f"--mix {Path('learning/distill/mix').absolute()}" in trains
    assert trains.endswith("--steps 7 --target es")
    second = Path("learning/distill/model")
    second.mkdir(parents=True)
    for name in ("model.bin", "config.json", "source.spm", "target.spm"):
        (second / name).touch()
    assert main([*ASKED, "--dry-run", "--round", "2"]) == 0
    trains = capsys.readouterr().out.splitlines()[1]
    assert f"--init {second.absolute()}" in trains
    assert f"--mix {Path('learning/distill/sermons/mix').absolute()}" in trains


def test_a_second_round_needs_a_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, "--dry-run", "--round", "2"]) != 0
    assert capsys.readouterr().err


def test_a_server_may_teach(capsys: pytest.CaptureFixture[str]) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    server = ["--teacher-url", url, "--teacher-prompt", "translategemma"]
    assert main([*ASKED, *server, "--dry-run"]) == 2
    assert "Name it with --teacher: what the server calls it. [teacher-unnamed]" in (
        capsys.readouterr().err
    )
    assert main([*ASKED, *server, "--teacher", "gemma-12b", "--dry-run"]) == 0
    assert "gemma-12b would teach learning/mix" in capsys.readouterr().out


@pytest.mark.train
def test_a_server_that_is_not_there_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    needs_train_extra()
    url = f"http://127.0.0.1:{free_port()}/v1"
    assert main([*ASKED, "--teacher-url", url, "--teacher", "gemma-12b"]) == 1
    assert "[teacher-gone]" in capsys.readouterr().err
    assert not Path("learning").exists()

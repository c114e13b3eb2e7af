"""The commands `learn compare`, `deploy` and `rollback`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.core.resources import bundled
from pipeline.learning.compare import COMPARISONS
from pipeline.learning.data.folder import DataFolder

pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.mark.slow
@pytest.mark.usefixtures("own_final_model")
def test_a_model_goes_into_service_and_out_again(capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.toml").write_text('[models]\ndirectory = "models"\n')
    (model,) = bundled("models", "tiny", "gemma").glob("*.gguf")
    command = ["learn", "deploy", str(model), "ours", "--data", "learning"]
    assert main([*command, "--force", "--dry-run"]) == 0
    assert "would become 'ours'" in capsys.readouterr().out
    assert main([*command, "--dry-run"]) == 1
    assert "[not-compared]" in capsys.readouterr().err
    taken = ["starter" if word == "ours" else word for word in command]
    assert main([*taken, "--force", "--dry-run"]) == 1
    assert "[name-taken]" in capsys.readouterr().err
    assert main(["learn", "deploy", "none.gguf", "--data", "learning", "--dry-run"]) == 1
    assert "[model-missing]" in capsys.readouterr().err
    assert main(command) == 1
    assert "[not-compared]" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert "a running service goes on as it is" in capsys.readouterr().out
    assert 'model = "ours"' in Path("config.toml").read_text()
    assert main(["learn", "rollback", "--data", "learning"]) == 0
    assert 'model = "auto"' in Path("config.toml").read_text()


@pytest.mark.slow
def test_a_comparison_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    Path("few.tsv").write_text("Good morning.\tBuenos días.\nLet us pray.\tOremos.\n")
    command = ["learn", "compare", "starter", "starter", "--role", "marian", "--data", "learning"]
    assert main([*command, "--set", "few=few.tsv", "--sentences", "30"]) == 0
    output = " ".join(capsys.readouterr().out.split())  # without line breaks
    assert "few" in output
    assert "deploy: The new model does no harm." in output
    assert "Of few only 2 were measured" in output
    assert "At most 30 of each set were asked" in output


@pytest.mark.slow
def test_a_slow_machine_compares_with_a_part_of_each_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = ["learn", "compare", "starter", "starter", "--role", "marian", "--data", "learning"]
    assert main([*base, "--sentences", "2"]) == 1, "two sentences cannot say that nothing is lost"
    assert "At most 2 of each set were asked" in capsys.readouterr().out
    (kept,) = COMPARISONS.read(DataFolder(Path("learning")))
    assert kept.at_most == 2
    assert {each.count for each in kept.measured} == {2}

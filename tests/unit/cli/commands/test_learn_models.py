"""The commands `learn compare`, `deploy` and `rollback`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.resources import bundled
from pipeline.learning.compare import COMPARISONS
from pipeline.learning.data.folder import DataFolder
from tests.support.cli import Cli

pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.mark.slow
@pytest.mark.usefixtures("own_final_model")
def test_a_model_goes_into_service_and_out_again(cli: Cli) -> None:
    Path("config.toml").write_text('[models]\ndirectory = "models"\n')
    (model,) = bundled("models", "tiny", "gemma").glob("*.gguf")
    command = ["learn", "deploy", str(model), "ours", "--data", "learning"]
    assert "would become 'ours'" in cli(*command, "--force", "--dry-run").out
    assert "[not-compared]" in cli(*command, "--dry-run", code=1).err
    assert "[not-compared]" in cli(*command, code=1).err
    assert "a running service goes on as it is" in cli(*command, "--force").out
    assert 'model = "ours"' in Path("config.toml").read_text()
    cli("learn rollback --data learning")
    assert 'model = "auto"' in Path("config.toml").read_text()


@pytest.mark.slow
def test_a_comparison_says_what_to_do(cli: Cli) -> None:
    Path("few.tsv").write_text("Good morning.\tBuenos días.\nLet us pray.\tOremos.\n")
    command = ["learn", "compare", "starter", "starter", "--role", "marian", "--data", "learning"]
    output = " ".join(
        cli(*command, "--set", "few=few.tsv", "few.tsv", "--sentences", "30").out.split()
    )  # without line breaks
    assert "few" in output
    assert "deploy: The new model does no harm." in output
    assert "Of few only 2 were measured" in output
    assert "Of few.tsv only 2 were measured" in output, "without a name"
    assert "At most 30 of each set were asked" in output


@pytest.mark.slow
def test_a_slow_machine_compares_with_a_part_of_each_set(cli: Cli) -> None:
    base = ["learn", "compare", "starter", "starter", "--role", "marian", "--data", "learning"]
    # Two sentences cannot say that nothing is lost.
    assert "At most 2 of each set were asked" in cli(*base, "--sentences", "2", code=1).out
    (kept,) = COMPARISONS.read(DataFolder(Path("learning")))
    assert kept.at_most == 2
    assert {each.count for each in kept.measured} == {2}

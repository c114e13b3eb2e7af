"""From services to a new quick translator, with the real program, trainer and models.

A church says "connect night" and wants "Noche de Enlace". Its operators correct it service by
service. The corrections are collected, mixed, trained on for six seconds, compared, deployed and
rolled back. Whether this is enough to learn the phrase depends on the machine, so no test checks
it. The test checks that the whole path leads to a model that the program runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.config.loader import load
from pipeline.engines.process.factory import partial_translator
from pipeline.learning.compare import COMPARISONS
from pipeline.learning.data.folder import DataFolder
from tests.support.connect_night import GLOSSARY, UNSEEN, hold_services
from tests.support.needs import needs_train_extra
from training.data.corpora import SERMON_PHRASES

needs_train_extra()

pytestmark = [pytest.mark.slow, pytest.mark.train]


def said(settings_model: str) -> str:
    """Return the program's quick translation of a sentence that nobody has corrected."""
    settings = load(Path("config.toml")).settings
    assert settings.translate.partial.model == settings_model
    translator = partial_translator(settings)
    assert translator is not None
    translator.load()
    return translator.translate(UNSEEN).text


@pytest.mark.timeout(1500)
def test_what_operators_correct_becomes_a_model_and_goes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text('[models]\ndirectory = "models"\n')
    hold_services(tmp_path / "sessions")
    before = said("auto")

    assert main(["learn", "collect"]) == 0
    data = DataFolder(Path("learning"))
    assert {pair.source for pair in data.pairs()} == {"operator"}
    Path("glossary.tsv").write_text(GLOSSARY)
    mixed = ["learn", "mix", "--own-only", "--general", str(SERMON_PHRASES)]
    mixed += ["--general-pairs", "30", "--pairs", "60", "--glossary", "glossary.tsv"]
    assert main(mixed) == 0
    trained = ["learn", "translate", "--role", "marian", "--minutes", "0.1", "--threads", "2"]
    assert main(trained) == 0
    assert main([*trained, "--dry-run"]) == 0
    assert "--resume" in capsys.readouterr().out, "a longer time would go on from here"

    new = "learning/marian/model"
    # A few sentences of each set are enough for a comparison.
    code = main(["learn", "compare", "starter", new, "--role", "marian", "--sentences", "4"])
    (compared,) = COMPARISONS.read(data)
    assert code == (compared.verdict == "keep")
    assert {each.set for each in compared.measured} == {
        *("own sermons", "gate, general", "gate, theological", "preaching", "meaning"),
    }
    assert compared.old_sha256 != compared.new_sha256
    asked = ["learn", "deploy", new, "ours", "--role", "marian"]
    assert main(asked) == code
    if code:
        assert main([*asked, "--force"]) == 0
    assert "noche" in said("ours").lower()
    assert main(["learn", "rollback", "--role", "marian"]) == 0
    assert said("auto") == before

"""From the corrections of two services to a Gemma that writes a church's term correctly.

The smallest shipped Gemma is trained for a fixed number of steps, so that a slow machine learns as
much as a quick one. It is then written as GGUF, compared with the original, deployed and rolled
back. Each step is the real command; an uncorrected sentence tests the term. A larger Gemma is
first cut to the tokens that it needs: tests/training/test_fine_tune_gemma.py proves that.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.config.loader import load
from pipeline.engines.process.factory import final_translator
from pipeline.learning.compare import COMPARISONS
from pipeline.learning.data.folder import DataFolder
from tests.support.connect_night import GLOSSARY, TERM, UNSEEN, hold_services
from tests.support.needs import needs_train_extra

needs_train_extra()

from training.data.corpora import SERMON_PHRASES  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.train]

STEPS = 20
"""Of at most 672 tokens each: enough for the term, not for the Spanish around it."""


def translated() -> str:
    """Return the program's final translation of a sentence that nobody has corrected."""
    translator = final_translator(load(Path("config.toml")).settings)
    assert translator is not None
    translator.load()
    return translator.translate(UNSEEN).text


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("own_final_model")
def test_a_term_that_operators_corrected_is_written_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text(
        '[models]\ndirectory = "models"\n[translate.final]\nengine = "gemma"\n'
        'model = "tiny"\ndeadline_s = 60\n'
    )
    hold_services(tmp_path / "sessions")
    before = translated()
    assert TERM not in before

    assert main(["learn", "collect"]) == 0
    Path("glossary.tsv").write_text(GLOSSARY)
    mixed = ["learn", "mix", "--own-only", "--general", str(SERMON_PHRASES)]
    mixed += ["--general-pairs", "150", "--pairs", "400", "--glossary", "glossary.tsv"]
    assert main(mixed) == 0
    trained = ["learn", "translate", "--role", "gemma", "--minutes", "600"]
    few = ["--steps", str(STEPS), "--levels", "Q8_0", "--sentences", "2"]
    assert main([*trained, *few]) == 0

    new = "learning/gemma/model/starter-Q8_0.gguf"
    asked = ["learn", "compare", "tiny", new, "--role", "gemma", "--prompt", "starter"]
    # Four of each set are enough to see what the steps cost elsewhere.
    code = main([*asked, "--sentences", "4"])
    (compared,) = COMPARISONS.read(DataFolder(Path("learning")))
    assert code == (compared.verdict == "keep")
    asked = ["learn", "deploy", new, "ours", "--role", "gemma"]
    assert main(asked) == code
    if code:
        assert main([*asked, "--force"]) == 0
    assert TERM in translated()
    assert main(["learn", "rollback", "--role", "gemma"]) == 0
    assert translated() == before

"""Two models measured in turns, and the resulting verdict."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.core.errors import LearningError
from pipeline.core.resources import bundled
from pipeline.evaluation.sentences import read
from pipeline.learning.compare import (
    COMPARISONS,
    compare_recognizers,
    compare_translators,
)
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.measuring import SentenceSet, Spoken, few_sentences, sentence_sets
from pipeline.learning.verdict import MEANING, table_rows
from scripts.quality.evaluate import few

GATE = SentenceSet("gate", few(read(), 3))
MARIAN = bundled("models", "starter", "marian")


@pytest.mark.slow
def test_a_model_is_as_good_as_itself_and_the_comparison_is_kept(tmp_path: Path) -> None:
    copy = tmp_path / "marian"
    shutil.copytree(MARIAN, copy)
    answers = []
    loaded = load(flags={"session.directory": str(tmp_path)})
    models = ("starter", str(copy))
    made = compare_translators(
        loaded, "marian", models, [GATE], on_answer=lambda: answers.append(1)
    )
    assert len(answers) == 6
    assert made.verdict == "keep", "three sentences decide nothing"
    assert {each.measure for each in made.measured} == {"BLEU", "chrF++", "terms, %"}
    assert all(each.difference.difference == 0 for each in made.measured)
    assert made.old_sha256 == made.new_sha256 != ""
    data = DataFolder(tmp_path / "learning")
    COMPARISONS.append(data, made)
    assert COMPARISONS.read(data) == [made]
    assert table_rows(made.measured)[0]["verdict"] == "too few"


@pytest.mark.slow
def test_what_a_sentence_has_to_say_is_counted(tmp_path: Path) -> None:
    every = sentence_sets(DataFolder(tmp_path / "learning"), ("en", "es"))
    cases = few_sentences([each for each in every if each.meanings], 4)
    loaded = load(flags={"session.directory": str(tmp_path)})
    made = compare_translators(loaded, "marian", ("starter", "starter"), cases)
    assert [each.count for each in made.measured if each.measure == MEANING] == [4]


@pytest.mark.slow
def test_a_gemma_is_asked_as_it_was_trained(tmp_path: Path) -> None:
    (weights,) = bundled("models", "starter", "gemma").glob("*.gguf")
    copy = tmp_path / "trained.gguf"
    shutil.copyfile(weights, copy)
    loaded = load(flags={"session.directory": str(tmp_path)})
    models = ("starter", str(copy))
    made = compare_translators(loaded, "gemma", models, [GATE], prompt="starter")
    assert made.prompt == "starter"
    assert all(each.difference.difference == 0 for each in made.measured)
    otherwise = compare_translators(loaded, "gemma", models, [GATE])
    assert any(each.difference.difference < 0 for each in otherwise.measured)


@pytest.mark.slow
def test_recognizers_are_compared_by_their_wrong_words(tmp_path: Path) -> None:
    loaded = load(flags={"session.directory": str(tmp_path)})
    golden = bundled("demo", "golden.flac")
    sound = [
        Spoken(golden, "whatever was not said here at all"),
        Spoken(golden, "The Lord will keep you", ("Lord", "Ezra")),
        Spoken(golden, "The Lord will keep you from all evil.", set="voices"),
    ]
    made = compare_recognizers(loaded, ("starter", "starter"), sound)
    measures = {(each.set, each.measure): each for each in made.measured}
    assert measures.keys() == {
        ("own sound", "100 - WER"),
        ("own sound", "terms, %"),
        ("voices", "100 - WER"),
    }
    assert all(each.difference.a == each.difference.b for each in made.measured)
    assert measures["own sound", "100 - WER"].difference.a < 50
    assert measures["voices", "100 - WER"].difference.a > 80
    assert measures["own sound", "terms, %"].count == 1
    assert measures["own sound", "terms, %"].difference.a == 50
    assert made.verdict == "keep", "two utterances of the church prove nothing"


def test_nothing_to_measure_is_told(tmp_path: Path) -> None:
    loaded = load(flags={"session.directory": str(tmp_path)})
    with pytest.raises(LearningError) as raised:
        compare_translators(loaded, "gemma", ("starter", "starter"), [])
    assert raised.value.code == "nothing-to-measure"
    with pytest.raises(LearningError) as raised:
        compare_recognizers(loaded, ("starter", "starter"), [])
    assert raised.value.code == "nothing-to-measure"

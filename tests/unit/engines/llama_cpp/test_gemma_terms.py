"""Church words in the final translator, with the starter model."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.core.resources import bundled
from pipeline.dictionary.glossary import Glossary, compile_glossary, parse_terms
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.engines.llama_cpp.gemma_terms import AnswerScorer, repair_answer
from pipeline.engines.protocols import TranslationRequest
from pipeline.engines.term_repair import Repaired
from pipeline.models.resolve import resolve
from tests.support.needs import needs_file

SAID = "The tomb is empty, the stone is rolled away, and death does not have the last word."


@pytest.fixture(scope="module")
def gemma() -> Gemma:
    needs_file(bundled("models", "tiny", "gemma"))
    engine = Gemma(resolve("gemma", "tiny"), prompt="starter", threads=1, context=512)
    engine.load()
    return engine


@pytest.fixture(scope="module")
def glossary() -> Glossary:
    file = bundled("dictionary", "glossary", "en-es.toml")
    return compile_glossary(parse_terms(file.read_text(encoding="utf-8"), "en-es.toml"), "es")


@pytest.mark.slow
def test_a_missing_word_is_put_in_where_the_model_nearly_said_it(
    gemma: Gemma, glossary: Glossary
) -> None:
    plain = gemma.translate(SAID)
    made = gemma.translate(SAID, TranslationRequest(wanted=glossary.find(SAID)))
    (repaired,) = made.repairs
    assert (repaired.term, repaired.written) == ("tomb", "tumba")
    assert made.text == plain.text.replace(repaired.found, "tumba")
    assert gemma.translate(SAID).text == plain.text  # the repair leaves nothing for the next call


@pytest.mark.slow
def test_a_deadline_within_a_repair_leaves_the_answer_as_it_was_written(
    gemma: Gemma, glossary: Glossary, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = gemma.translate(SAID)

    def late(*given: Any, **named: Any) -> Repaired:
        monkeypatch.setattr("pipeline.engines.protocols.time", SimpleNamespace(monotonic=inf))
        return repair_answer(*given, **named)

    monkeypatch.setattr("pipeline.engines.llama_cpp.gemma.repair_answer", late)
    made = gemma.translate(SAID, TranslationRequest(wanted=glossary.find(SAID)))
    assert (made.text, made.repairs) == (plain.text, ())


def inf() -> float:
    """Return a time after every deadline."""
    return math.inf


def test_without_terms_nothing_is_evaluated_twice(gemma: Gemma, glossary: Glossary) -> None:
    said = "Good morning, everyone."
    assert glossary.find(said) == ()
    first, second = gemma.translate(said, TranslationRequest(wanted=())), gemma.translate(said)
    assert (first.text, first.repairs) == (second.text, ())


def test_a_text_has_the_score_that_it_had_when_it_was_made(gemma: Gemma) -> None:
    made = gemma.translate(SAID)
    prompt, _, _ = gemma._prompt(SAID)
    scorer = AnswerScorer(
        gemma._llama,
        prompt,
        gemma._as_answer(made.text),
        encode=gemma._as_answer,
        check=lambda: None,
    )
    same, other = scorer.score([made.text, "Los perros no comen piedras."])
    assert made.avg_logprob == pytest.approx(same, abs=0.02)
    assert other < same - 1

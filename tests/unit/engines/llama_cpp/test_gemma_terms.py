"""Church words in the final translator, with the starter model."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.dictionary.glossary import Glossary
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.engines.llama_cpp.gemma_terms import AnswerScorer
from pipeline.engines.protocols import TranslationRequest
from pipeline.engines.term_repair import Repaired, repair

SAID = "The tomb is empty, the stone is rolled away, and death does not have the last word."


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
        return repair(*given, **named)

    monkeypatch.setattr("pipeline.engines.llama_cpp.gemma.repair", late)
    made = gemma.translate(SAID, TranslationRequest(wanted=glossary.find(SAID)))
    assert (made.text, made.repairs) == (plain.text, ())


def inf() -> float:
    """Return a time after every deadline."""
    return math.inf


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

"""Two translations that agree in what they mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.evaluation.agreement import MeaningAgreement

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def meaning(gemma_270m: Path) -> MeaningAgreement:
    made = MeaningAgreement(gemma_270m)
    made.load()
    return made


def test_it_is_a_share_and_the_same_text_agrees_with_itself(meaning: MeaningAgreement) -> None:
    same = meaning.agreement("La gracia de Dios.", "La gracia de Dios.")
    other = meaning.agreement("La gracia de Dios.", "El autobús sale a las nueve.")
    assert same == pytest.approx(1, abs=1e-3)
    assert other is not None
    assert 0 <= other < 0.99


def test_where_nothing_is_said_there_is_nothing_to_compare(meaning: MeaningAgreement) -> None:
    assert meaning.agreement("", "La gracia de Dios.") is None
    assert meaning.agreement("La gracia de Dios.", "  ") is None

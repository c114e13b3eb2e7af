"""Which sentences are spoken as services, and which are held out for the week after."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.needs import needs_train_extra

needs_train_extra()

from training.data.services import parted  # noqa: E402

pytestmark = pytest.mark.train

TERMS = ["propitiation", "Habakkuk", "Ezra"]


def test_each_term_is_learnt_and_measured_in_other_sentences() -> None:
    pairs = [(f"{word} is sentence {term}.", "x") for term in TERMS for word in map(str, range(20))]
    few = [("Ezra is rare.", "x")] * 3 + [("Nobody said a term.", "x")] * 9
    learnt, held = parted([*pairs[:40], *few], TERMS, 12)
    counts = [Counter(text.rstrip(".").split()[-1] for text, _ in each) for each in (learnt, held)]
    assert counts == [
        {"propitiation": 6, "Habakkuk": 6},
        {"propitiation": 3, "Habakkuk": 3},
    ]
    assert not set(learnt) & set(held)

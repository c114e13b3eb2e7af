"""What OmniSTEval is given, and what it says of it."""

from __future__ import annotations

import pytest

from pipeline.evaluation.reference import read_recording
from scripts.bench import streaming as score_streaming
from tests.support.paths import ROOT
from tests.support.sightings import history

SERMON = ROOT / "demo" / "sermon.json"


def test_a_word_counts_since_it_and_all_before_it_stand() -> None:
    grown = history(
        (2.0, "la gracia", 0, "marian", False),
        (3.0, "por gracia de", 0, "marian", False),
        (5.0, "por gracia de Dios", 0, "gemma", True),
        end_s=4.0,
    )
    assert score_streaming.emissions_with_partials([grown]) == {
        "prediction": "por gracia de Dios",
        "delays": [3000.0, 3000.0, 3000.0, 4000.0],
        "elapsed": [3000.0, 3000.0, 3000.0, 5000.0],
    }
    assert score_streaming.emissions_with_finals([grown]) == {
        "prediction": "por gracia de Dios",
        "delays": [4000.0] * 4,
        "elapsed": [5000.0] * 4,
    }


@pytest.mark.slow
def test_partials_that_hold_make_the_lag_shorter() -> None:
    recording = read_recording(SERMON, "en", "es")
    captions = [
        history(
            (s.end_s - 0.5, " ".join(s.target.split()[:-1]), 0, "marian", False),
            (s.end_s + 1.0, s.target, 0, "marian", True),
            id=number,
            end_s=s.end_s,
        )
        for number, s in enumerate(recording.once)
    ]
    lags_s = [
        score_streaming.long_yaal_s(recording, emit(captions))
        for emit in (
            score_streaming.emissions_with_partials,
            score_streaming.emissions_with_finals,
        )
    ]
    assert lags_s[0] is not None
    assert lags_s[1] is not None
    assert 0 < lags_s[0] < lags_s[1] - 1.0 < 2.0
    assert score_streaming.long_yaal_s(recording, {"prediction": ""}) is None

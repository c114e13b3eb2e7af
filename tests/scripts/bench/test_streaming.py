"""Sessions as OmniSTEval reads them, and OmniSTEval reading them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.evaluation.reference import read_recording
from scripts.bench import streaming as score_streaming
from tests.support.paths import ROOT
from tests.support.sightings import history

SERMON = ROOT / "demo" / "sermon.json"


def perfect_session(folder: Path, late_ms: float) -> Path:
    """A session that shows every sentence of the sermon, word for word, `late_ms` after its end."""
    recording = read_recording(SERMON, "en", "es")
    lines: list[dict[str, Any]] = [{"type": "health"}]
    for number, sentence in enumerate(recording.sentences(recording.duration_s)):
        lines.append(
            {
                "type": "utterance",
                "id": number,
                "end_s": sentence.end_s,
                "vad_wait_ms": late_ms / 2,
                "last_syllable_to_final_ms": late_ms,
                "final": {"text": sentence.target},
            }
        )
    lines.append({"type": "utterance", "id": 99, "final": None})
    (folder / "diagnostics.jsonl").write_bytes(b"".join(orjson.dumps(e) + b"\n" for e in lines))
    return folder


def test_every_word_has_the_two_times_of_its_caption(tmp_path: Path) -> None:
    records = [
        {"type": "utterance", "id": 2, "end_s": 2.0, "vad_wait_ms": 400.0,
         "last_syllable_to_final_ms": 900.0, "final": {"text": "de Dios"}},
        {"type": "utterance", "id": 1, "end_s": 1.0, "vad_wait_ms": 400.0,
         "last_syllable_to_final_ms": 700.0, "final": {"text": "gracia"}},
    ]  # fmt: skip
    assert score_streaming.emissions(records) == {
        "prediction": "gracia de Dios",
        "delays": [1400.0, 2400.0, 2400.0],
        "elapsed": [1700.0, 2900.0, 2900.0],
    }


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


@pytest.mark.slow
def test_omnisteval_reads_a_perfect_session_as_perfect(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = perfect_session(tmp_path, 1000.0)
    assert score_streaming.main([str(session), "--out", str(tmp_path / "out")]) == 0
    rows = [line.split() for line in capfd.readouterr().out.splitlines()]
    scores = {" ".join(row[:-1]): row[-1] for row in rows if row}
    assert (float(scores["BLEU"]), float(scores["chrF"])) == (100.0, 100.0)
    lag_ms = [float(scores[f"LongYAAL ({kind})"]) for kind in ("CU", "CA")]
    assert 500 < lag_ms[0] < lag_ms[1] < 3000

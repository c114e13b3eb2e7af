"""A run's figures, from a session of two captions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from pipeline.core.resources import bundled
from scripts.bench.live import LiveRun
from scripts.bench.live_figures import Figure, figures
from scripts.bench.recordings import Material, SpokenWord
from scripts.bench.sightings import Sighting
from scripts.support.journal import record
from scripts.support.records import health_record
from tests.support.sightings import history

GRACE = history(
    (2.0, "la gracia", 3, "marian", False),
    (3.0, "por gracia", 4, "marian", False),
    (5.0, "por gracia", 0, "gemma", True),
    id=1,
    end_s=4.0,
)
AMEN = history((7.0, "amén", 0, "gemma", True), id=2, end_s=6.5)


@pytest.fixture
def run(tmp_path: Path) -> LiveRun:
    shown = [
        record(1, "by grace", "por gracia", end_s=4.0, last_syllable_to_final_ms=1000.0),
        record(2, "amen", "amén", end_s=6.5, last_syllable_to_final_ms=500.0),
        record(3, "thank you for watching"),
        health_record(memory_mb=321.0),
    ]
    lines = b"".join(orjson.dumps(each) + b"\n" for each in shown)
    (tmp_path / "diagnostics.jsonl").write_bytes(lines)
    (tmp_path / "captions.jsonl").write_bytes(b"")
    return LiveRun(tmp_path, (*GRACE.sightings, *AMEN.sightings), 0.25)


@pytest.fixture
def told(run: LiveRun) -> dict[str, Figure]:
    spoken = (
        SpokenWord(text="por", start_s=1.0, end_s=1.5),
        SpokenWord(text="gracia", start_s=1.5, end_s=3.5),
        SpokenWord(text="amén", start_s=6.0, end_s=6.5),
    )
    material = Material("own", bundled("demo", "golden.flac"), spoken, "Por gracia amén.", 7.0)
    return {figure.name: figure for figure in figures([run, run], material)}


def test_delays_are_those_of_utterances_with_a_caption(told: dict[str, Figure]) -> None:
    assert told["last syllable to final, detected, ms"].values == (500.0, 1000.0)
    assert told["last syllable to final, true, ms"].values == pytest.approx((500.0, 1500.0))


def test_what_a_page_painted_is_a_row_of_its_own(run: LiveRun, told: dict[str, Figure]) -> None:
    assert "last syllable to glass, true, ms" not in told
    later = [Sighting(each.at_s + 0.05, each.message) for each in run.sightings]
    spoken = (
        SpokenWord(text="gracia", start_s=1.5, end_s=3.5),
        SpokenWord(text="amén", start_s=6.0, end_s=6.5),
    )
    material = Material("own", bundled("demo", "golden.flac"), spoken, "Gracia amén.", 7.0)
    seen = {f.name: f for f in figures([replace(run, painted=tuple(later))], material)}
    assert seen["last syllable to final, true, ms"].values == pytest.approx((500.0, 1500.0))
    assert seen["last syllable to glass, true, ms"].values == pytest.approx((550.0, 1550.0))


def test_erasure_is_told_by_view(told: dict[str, Figure]) -> None:
    assert told["erasure, phones"].values == pytest.approx((2 / 3,))
    assert told["erasure, projector"].values == pytest.approx((1 / 3,))


def test_lag_is_from_a_words_own_end(told: dict[str, Figure]) -> None:
    # por 3.0 - 1.5, gracia 2.0 - 3.5 (before its end: word times are not exact), amén 7.0 - 6.5
    assert told["a word as heard stands for good, s"].values == pytest.approx((0.5 / 3, 1.5, 1.5))
    assert told["... in translation, phones, s"].values[0] == pytest.approx((0.5 - 2 + 0.5) / 3)


def test_quality_counts_and_costs(told: dict[str, Figure]) -> None:
    assert told["WER, %"].values == (0.0,)
    assert told["chrF"].text == "-"
    assert told["captions"].text == "4"
    assert (told["CPU, s/s"].text, told["memory, MB"].text) == ("0.25", "321")


def test_without_a_reference_there_is_no_quality_and_no_lag(run: LiveRun) -> None:
    bare = Material("own", bundled("demo", "golden.flac"), (), "", 0.0)
    by_name = {figure.name: figure for figure in figures([run], bare)}
    assert "WER, %" not in by_name
    assert by_name["a word as heard stands for good, s"].text == "-"


def test_a_session_of_silence_has_figures(tmp_path: Path) -> None:
    (tmp_path / "diagnostics.jsonl").write_bytes(b"")
    (tmp_path / "captions.jsonl").write_bytes(b"")
    bare = Material("own", bundled("demo", "golden.flac"), (), "amen", 1.0)
    by_name = {figure.name: figure for figure in figures([LiveRun(tmp_path, (), 0.1)], bare)}
    assert by_name["captions"].text == "0"
    assert by_name["erasure, phones"].text == "-"
    assert by_name["WER, %"].text == "100.0"

"""The benchmark's table and sections; test_live_figures.py tests figures, `make bench` runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.resources import bundled
from scripts.bench import latency
from scripts.bench.live_figures import Figure

THIS = [Figure("final translator, ms", (100.0, 200.0), "100 / 200"), Figure("chrF", (50.0,), "50")]
OTHER = [
    Figure("final translator, ms", (50.0, 80.0), "50.0 / 80.0"),
    Figure("chrF", (None,), "-"),
]

CANDIDATES = {"this": ["models.directory=/home/me"], "against": ["vad.silence_ms=200"]}
TABLE = latency.rows({"this": THIS, "against": OTHER})


def test_two_settings_are_compared_by_ratio_and_one_has_none() -> None:
    assert TABLE == [
        ["", "this", "against", "ratio"],
        ["final translator, ms", "100 / 200", "50.0 / 80.0", "0.50"],
        ["chrF", "50", "-", ""],
    ]
    assert latency.rows({"this": THIS})[1] == ["final translator, ms", "100 / 200"]


def test_a_section_explains_once_says_what_was_measured_and_keeps_a_home_private(
    tmp_path: Path,
) -> None:
    page = tmp_path / "BENCHMARKS.md"
    for title in ("## Live: sermon", "## Live: pauses", "## Live: sermon"):
        latency.write(page, title, CANDIDATES, TABLE)
    text = page.read_text("utf-8")
    assert [text.count(f"## Live: {name}\n") for name in ("sermon", "pauses")] == [1, 1]
    assert text.count("Erasure: words") == 1
    assert "- setting `this`: the defaults\n- setting `against`: vad.silence_ms=200\n" in text


@pytest.mark.slow
def test_a_short_recording_is_measured_and_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "BENCHMARKS.md"
    options = ["--input", str(bundled("demo", "golden.flac")), "--markdown", str(page)]
    settings = ["--set", "translate.final.engine=marian", "--set", "vad.partial_ms=300"]
    assert latency.main([*options, *settings]) == 0
    assert "captions" in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert "| captions | 1 |" in text
    assert "| CPU, s/s | 0.00 |" not in text
    assert "- setting `this`: translate.final.engine=marian, vad.partial_ms=300" in text


def test_the_second_candidate_has_the_settings_of_both() -> None:
    given = ["--recognizer", "whisper-base", "--set", "a=1", "--against", "b=2"]
    found = latency._candidates(latency._arguments(given))
    both = ["a=1", "stt.model=whisper-base"]
    assert found == {"this": both, "against": [*both, "b=2"]}

"""The benchmark's table and its sections; figures are tested beside, the runs are `make bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.core.resources import bundled
from scripts.bench import latency
from scripts.bench.live_figures import Figure

THIS = [Figure("final translator, ms", (100.0, 200.0), "100 / 200"), Figure("chrF", (50.0,), "50")]
OTHER = [
    Figure("final translator, ms", (50.0, 80.0), "50.0 / 80.0"),
    Figure("chrF", (None,), "-"),
    Figure("eager hits", (7.0,), "7", comparable=False),
]

FINAL = "last syllable to final, detected, ms"


def result(recording: str = "sermon") -> dict[str, Any]:
    told = {"this": THIS, "against": OTHER}
    return {
        "recording": recording,
        "recognizer": "starter",
        "machine": {"date": "2026-11-22", "cpu": "two cores", "python": "3.11.7"},
        "settings": {"this": ["models.directory=/home/me"], "against": ["vad.silence_ms=200"]},
        "rows": latency.rows(told),
    }


def test_two_settings_are_compared_by_ratio() -> None:
    assert latency.rows({"this": THIS, "against": OTHER}) == [
        ["", "this", "against", "ratio"],
        ["final translator, ms", "100 / 200", "50.0 / 80.0", "0.50"],
        ["chrF", "50", "-", ""],
        ["eager hits", "-", "7", ""],
    ]


def test_one_setting_has_no_ratio() -> None:
    assert latency.rows({"this": THIS})[1] == ["final translator, ms", "100 / 200"]


def test_a_section_says_what_was_measured_and_keeps_a_home_private() -> None:
    text = latency.section(result())
    assert text.startswith("## Live: sermon, starter\n")
    assert "|---|---|---|---|" in text.splitlines()
    assert "- 2026-11-22, two cores; python 3.11.7\n" in text
    assert "- setting `this`: the defaults\n- setting `against`: vad.silence_ms=200\n" in text


def test_a_section_takes_the_place_of_its_older_one_and_explains_once(tmp_path: Path) -> None:
    page = tmp_path / "BENCHMARKS.md"
    page.write_text("# Benchmarks\n\nHow to read.\n\n## A hall\n\nfull\n")
    for recording in ("sermon", "pauses", "sermon", "pauses"):
        latency.write(page, result(recording))
    text = page.read_text("utf-8")
    assert text.startswith("# Benchmarks\n\nHow to read.\n\n## A hall\n\nfull\n\n## Live: sermon")
    assert [text.count(f"## Live: {name}, starter\n") for name in ("sermon", "pauses")] == [1, 1]
    assert text.count("Erasure is words") == 1
    assert text.count("## A hall") == 1


@pytest.mark.slow
def test_a_short_recording_is_measured_and_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = bundled("demo", "golden.flac")
    page, kept = tmp_path / "BENCHMARKS.md", tmp_path / "figures.json"
    options = ["--input", str(golden), "--json", str(kept), "--markdown", str(page)]
    assert latency.main([*options, "--final-engine", "marian", "--set", "vad.partial_ms=300"]) == 0
    assert "captions of one word" in capsys.readouterr().out
    (told,) = orjson.loads(kept.read_bytes())
    this = told["figures"]["this"]
    assert this["captions"] == [1]
    assert this["CPU, s/s"][0] > 0
    # Without partials the first text were the final's, more than two seconds after the first sound.
    first_ms, final_ms = this["start to first text, ms"][0], this[FINAL][0]
    assert first_ms < final_ms + 2000
    assert "- setting `this`: vad.partial_ms=300, translate.final.engine=marian" in page.read_text()


def test_the_second_candidate_has_the_settings_of_both() -> None:
    given = ["--recognizer", "whisper-base", "--set", "a=1", "--against", "b=2"]
    found = latency._candidates(latency._arguments(given))
    both = ["a=1", "stt.model=whisper-base"]
    assert found == {"this": both, "against": [*both, "b=2"]}

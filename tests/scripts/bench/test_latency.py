"""The benchmark's arithmetic and its table; the runs themselves are `make bench`."""

from __future__ import annotations

from typing import Any

from scripts.bench import latency as bench


def records(final_ms: float) -> list[dict[str, Any]]:
    utterance = {
        "type": "utterance",
        "final": {"tokens_per_s": 100.0},
        "last_syllable_to_final_ms": 500.0 + final_ms,
        "last_syllable_to_partial_ms": 480.0,
        "vad_wait_ms": 400.0,
        "stt_busy_ms": 0.0,
        "stt_ms": 90.0,
        "partial_ms": 8.0,
        "final_busy_ms": 0.0,
        "final_ms": final_ms,
        "overhead_ms": 2.0,
    }
    filtered = {"type": "utterance", "final": None}
    return [utterance, filtered, utterance, {"type": "health", "memory_mb": 321.0}]


def test_figures_leave_filtered_utterances_out_and_share_the_time() -> None:
    figures = bench.summarize(records(100.0))
    assert figures["utterances"] == 2
    assert figures["milliseconds"]["final translator"] == [100.0, 100.0, 100.0]
    assert figures["share_outside_engines"] == 0.01
    assert (figures["final_tokens_per_s"], figures["memory_mb"]) == (100.0, 321.0)


def test_two_settings_are_compared_by_ratio() -> None:
    result = {
        "machine": {"date": "2026-11-20", "cpu": "two"},
        "settings": {"this": [], "against": ["translate.final.engine=marian"]},
        "figures": {
            "this": bench.summarize(records(100.0)),
            "against": bench.summarize(records(50.0)),
        },
    }
    rows = bench.table(result)
    (row,) = [r for r in rows if r[0] == "final translator, ms"]
    assert row == [
        "final translator, ms", "100 / 100 / 100", "50.0 / 50.0 / 50.0", "0.50",
    ]  # fmt: skip
    page = bench.markdown(result, rows)
    assert "| final translator, ms | 100 / 100 / 100 | 50.0 / 50.0 / 50.0 | 0.50 |" in page
    assert "- setting `against`: translate.final.engine=marian" in page
    assert "|---|---|---|---|" in page.splitlines()


def test_what_other_benchmarks_have_written_stays() -> None:
    assert bench.other_sections("") == ""
    assert bench.other_sections("# Benchmarks\n\n| old |\n") == ""
    text = "# Benchmarks\n\n| old |\n\n## A hall\n\nfull\n\n## Another\n"
    assert bench.other_sections(text) == "\n## A hall\n\nfull\n\n## Another\n"

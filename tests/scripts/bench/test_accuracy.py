"""The accuracy benchmark's material, arithmetic and table, and a run on the starter."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE
from scripts.bench import accuracy
from tests.support.needs import needs_file

VOICES = bundled("demo", "voices")


@pytest.fixture
def one_voice(tmp_path: Path) -> Path:
    """Return a folder with the shortest recording."""
    needs_file(VOICES)
    shutil.copy(VOICES / "lj050_0131.flac", tmp_path)
    (tmp_path / "voices.json").write_text(
        '{"lj050_0131.flac": {"text": "unless a system is established. In this regard"}}'
    )
    return tmp_path


def test_short_utterances_are_joined_up_to_ten_seconds() -> None:
    four = np.ones(4 * SAMPLE_RATE, np.float32)
    groups = list(accuracy.joined([four, four, four]))
    assert [len(group) / SAMPLE_RATE for group in groups] == [8.25, 4.0]
    assert sum(float(group.sum()) for group in groups) == 12 * SAMPLE_RATE
    assert list(accuracy.joined([])) == []


@pytest.mark.slow
def test_every_recording_in_every_condition(one_voice: Path) -> None:
    made = accuracy.material(one_voice)
    assert [each.condition for each in made] == [
        "as recorded",
        "pauses shortened",
        "14 dB softer",
        "noise at 15 dB",
        "noise at 10 dB",
    ]
    loud, _, soft, *_ = (np.abs(np.concatenate(each.utterances)).max() for each in made)
    assert 20 * np.log10(loud / soft) == pytest.approx(14, abs=0.5)
    again = accuracy.material(one_voice)
    for one, other in zip(made[4].utterances, again[4].utterances, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_a_run_on_the_starter(one_voice: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs_file(bundled("models", "starter", "stt"))
    page = one_voice / "BENCHMARKS.md"
    page.write_text("# Benchmarks\n\n## Another\n\nkept\n")
    options = ["--voices", str(one_voice), "--model", "starter", "--window", "0", "--markdown"]
    assert accuracy.main([*options, str(page)]) == 0
    assert "full stops" in capsys.readouterr().out
    written = page.read_text()
    assert "## Another\n\nkept" in written
    assert "starter, its own window | starter, its own window, hot words |" in written
    assert "| WER, noise at 10 dB |" in written
    assert accuracy.main([*options, str(page / "none.md")]) == 2
    printed = capsys.readouterr()
    assert "full stops" in printed.out
    assert "none.md" in printed.err


def test_a_folder_without_voices_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert accuracy.main(["--voices", str(tmp_path)]) == 2
    assert "voices.json" in capsys.readouterr().err

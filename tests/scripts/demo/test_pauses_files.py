"""The demo with a preacher's pauses: audio and reference agree, and the script still makes them."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from scripts.demo.make_sermon import without_pauses
from tests.support.needs import needs_program
from tests.support.paths import ROOT

DEMO = ROOT / "demo"
PHRASES = ROOT / "training" / "data" / "sermon_phrases.tsv"

Table = dict[str, Any]
Samples = NDArray[np.float32]


@pytest.fixture(scope="module")
def told() -> Table:
    description: Table = json.loads((DEMO / "pauses.json").read_text("utf-8"))
    return description


@pytest.fixture(scope="module")
def audio() -> Samples:
    samples, rate_hz = soundfile.read(DEMO / "pauses.flac", dtype="float32")
    assert rate_hz == 16000
    return samples  # type: ignore[no-any-return]


def level_dbfs(audio: Samples, start_s: float, end_s: float) -> float:
    part = audio[int(start_s * 16000) : int(end_s * 16000)].astype(np.float64)
    return float(10 * np.log10(np.mean(part**2)))


def test_the_recording_is_short_and_its_sentences_are_long(told: Table, audio: Samples) -> None:
    assert len(audio) / 16000 == pytest.approx(told["duration_s"], abs=1e-4)
    assert 60 <= told["duration_s"] <= 90
    assert (DEMO / "pauses.flac").stat().st_size <= 1_500_000
    assert all(5 <= s["end_s"] - s["start_s"] <= 12 for s in told["sentences"])


def test_every_sentence_has_pauses_in_its_middle_and_they_are_quiet(
    told: Table, audio: Samples
) -> None:
    for sentence in told["sentences"]:
        assert len(sentence["pauses"]) >= 2
        for start_s, end_s in sentence["pauses"]:
            assert sentence["start_s"] < start_s < end_s < sentence["end_s"]
            assert 0.25 <= end_s - start_s <= 0.95
            assert level_dbfs(audio, start_s + 0.04, end_s - 0.04) < -55, sentence["en"]
            assert level_dbfs(audio, start_s - 0.15, start_s) > -45, sentence["en"]
            assert level_dbfs(audio, end_s, end_s + 0.15) > -45, sentence["en"]


def test_pauses_within_sentences_are_as_long_as_between_them(told: Table) -> None:
    """Which is what makes it hard: a pause's length does not say whether a sentence is over."""
    sentences = told["sentences"]
    between = [b["start_s"] - a["end_s"] for a, b in pairwise(sentences)]
    inside = [end_s - start_s for s in sentences for start_s, end_s in s["pauses"]]
    assert sum(length_s >= min(between) for length_s in inside) >= 5
    assert sum(length_s >= 0.4 for length_s in inside) >= 10


def test_the_reference_holds_the_text_without_its_marks(told: Table) -> None:
    source = tomllib.loads((DEMO / "pauses.toml").read_text("utf-8"))
    written = [s for part in source["section"] for s in part["sentence"]]
    assert [(without_pauses(s["en"]), s["es"]) for s in written] == [
        (s["en"], s["es"]) for s in told["sentences"]
    ]
    assert not any("<" in s["en"] for s in told["sentences"])
    assert without_pauses("ask not, <0.7> ask <0.3> how") == "ask not, ask how"


def test_no_sentence_is_in_the_training_phrases(told: Table) -> None:
    rows = [line.split("\t") for line in PHRASES.read_text("utf-8").splitlines()]
    trained = {text.casefold() for row in rows for text in row}
    assert not trained & {s[lang].casefold() for s in told["sentences"] for lang in ("en", "es")}


@pytest.mark.slow
def test_a_section_is_made_again_with_the_same_pauses(tmp_path: Path, told: Table) -> None:
    needs_program("espeak-ng")
    command = [sys.executable, "-m", "scripts.demo.make_sermon", "--only", "opening"]
    command += ["--source", str(DEMO / "pauses.toml"), "--out", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "pauses-opening.json").read_text("utf-8"))
    kept = [s for s in told["sentences"] if s["section"] == "opening"]
    assert [s["pauses"] for s in made["sentences"]] == [s["pauses"] for s in kept]

"""The demo sermon: the committed audio and its reference agree, and the script still makes them."""

from __future__ import annotations

import json
import re
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

from tests.support.needs import needs_program
from tests.support.paths import ROOT

DEMO = ROOT / "demo"
PHRASES = ROOT / "training" / "data" / "sermon_phrases.tsv"

Table = dict[str, Any]
Samples = NDArray[np.float32]


@pytest.fixture(scope="module")
def sermon() -> Table:
    description: Table = json.loads((DEMO / "sermon.json").read_text("utf-8"))
    return description


@pytest.fixture(scope="module")
def audio() -> Samples:
    samples, rate_hz = soundfile.read(DEMO / "sermon.flac", dtype="float32")
    assert rate_hz == 16000
    assert samples.ndim == 1
    return samples  # type: ignore[no-any-return]


def level_dbfs(audio: Samples, start_s: float, end_s: float) -> float:
    part = audio[int(start_s * 16000) : int(end_s * 16000)].astype(np.float64)
    return float(10 * np.log10(np.mean(part**2)))


def section(sermon: Table, name: str) -> Table:
    return next(s for s in sermon["sections"] if s["name"] == name)


def words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[\w']+", text.casefold()))


def test_audio_has_the_stated_form_and_length(sermon: Table, audio: Samples) -> None:
    assert len(audio) / 16000 == pytest.approx(sermon["duration_s"], abs=1e-4)
    assert 120 <= sermon["duration_s"] <= 180
    assert soundfile.info(DEMO / "sermon.flac").subtype == "PCM_16"
    assert (DEMO / "sermon.flac").stat().st_size <= 3_000_000


def test_peak_leaves_headroom(audio: Samples) -> None:
    assert 20 * np.log10(np.max(np.abs(audio))) == pytest.approx(-3, abs=0.2)
    assert abs(float(np.mean(audio))) < 1e-3


def test_sections_follow_each_other_inside_the_file(sermon: Table) -> None:
    sections = sermon["sections"]
    assert {s["kind"] for s in sections} == {"speech", "pause", "music"}
    assert all(a["end_s"] == b["start_s"] for a, b in pairwise(sections))
    assert sections[0]["start_s"] > 0
    assert sections[-1]["end_s"] < sermon["duration_s"]


def test_sentences_are_in_order_with_silence_between(sermon: Table) -> None:
    sentences = sermon["sentences"]
    assert 28 <= len(sentences) <= 36
    for sentence in sentences:
        home = section(sermon, sentence["section"])
        assert home["kind"] == "speech"
        assert home["start_s"] <= sentence["start_s"] < sentence["end_s"] <= home["end_s"]
    assert all(b["start_s"] - a["end_s"] >= 0.5 for a, b in pairwise(sentences))


def test_speech_is_where_the_reference_says(sermon: Table, audio: Samples) -> None:
    for sentence in sermon["sentences"]:
        assert level_dbfs(audio, sentence["start_s"], sentence["end_s"]) > -30, sentence["en"]
        # The last syllable really is the last: the gap after it is only the room.
        assert level_dbfs(audio, sentence["end_s"] + 0.05, sentence["end_s"] + 0.4) < -55
        last_50_ms = audio[int((sentence["end_s"] - 0.05) * 16000) : int(sentence["end_s"] * 16000)]
        assert np.max(np.abs(last_50_ms)) > 10 ** (-55 / 20), sentence["en"]


def test_the_pause_is_quiet_but_not_digital_silence(sermon: Table, audio: Samples) -> None:
    quiet = section(sermon, "quiet")
    assert quiet["end_s"] - quiet["start_s"] == pytest.approx(6, abs=0.01)
    assert level_dbfs(audio, quiet["start_s"], quiet["end_s"]) == pytest.approx(-60, abs=1.5)


def test_the_hymn_sounds_throughout(sermon: Table, audio: Samples) -> None:
    hymn = section(sermon, "hymn")
    music_end_s = hymn["end_s"] - 1.0
    assert 12 <= music_end_s - hymn["start_s"] <= 15
    for start_s in np.arange(hymn["start_s"], music_end_s - 0.5, 0.5):
        assert level_dbfs(audio, start_s, start_s + 0.5) > -30
    # Steady tones, not speech: most of the energy lies in few frequencies.
    part = audio[int(hymn["start_s"] * 16000) : int(music_end_s * 16000)]
    power = np.sort(np.abs(np.fft.rfft(part)) ** 2)[::-1]
    assert power[: len(power) // 50].sum() > 0.95 * power.sum()


def test_two_voices_speak(sermon: Table) -> None:
    assert {s["voice"] for s in sermon["sentences"]} >= {"preacher", "reader"}


def test_no_sentence_is_in_the_training_phrases(sermon: Table) -> None:
    rows = [line.split("\t") for line in PHRASES.read_text("utf-8").splitlines()]
    for column, lang in enumerate(("en", "es")):
        trained = {words(row[column]) for row in rows}
        assert not trained & {words(s[lang]) for s in sermon["sentences"]}


def test_training_phrases_are_pairs_with_spanish_marks() -> None:
    rows = [line.split("\t") for line in PHRASES.read_text("utf-8").splitlines()]
    assert len(rows) >= 500
    assert all(len(row) == 2 and row[0] and row[1] for row in rows)
    assert len({words(english) for english, _ in rows}) == len(rows)
    for english, spanish in rows:
        assert not re.search(r"\d", english + spanish), english
        assert spanish.count("?") == spanish.count("¿"), spanish
        assert spanish.count("!") == spanish.count("¡"), spanish


def test_reference_holds_the_text_of_the_source(sermon: Table) -> None:
    source = tomllib.loads((DEMO / "sermon.toml").read_text("utf-8"))
    written = [s for part in source["section"] for s in part.get("sentence", ())]
    assert [(s["en"], s["es"]) for s in written] == [
        (s["en"], s["es"]) for s in sermon["sentences"]
    ]


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.demo.make_sermon", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.slow
def test_one_section_can_be_made_again(tmp_path: Path) -> None:
    needs_program("espeak-ng", "flite")
    for folder in ("first", "second"):
        made = run_script("--only", "greeting", "--out", str(tmp_path / folder))
        assert made.returncode == 0, made.stderr
    first, second = (tmp_path / folder / "sermon-greeting.flac" for folder in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    part = json.loads((tmp_path / "first" / "sermon-greeting.json").read_text("utf-8"))
    assert [s["name"] for s in part["sections"]] == ["greeting"]
    samples, _ = soundfile.read(first, dtype="float32")
    for sentence in part["sentences"]:
        assert level_dbfs(samples, sentence["start_s"], sentence["end_s"]) > -30


@pytest.mark.slow
def test_unknown_section_is_refused_with_the_choices(tmp_path: Path) -> None:
    refused = run_script("--only", "sermonette", "--out", str(tmp_path))
    assert refused.returncode == 2
    assert "unknown-section" in refused.stderr
    assert "greeting, reading, message" in refused.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_missing_key_is_named(tmp_path: Path) -> None:
    text = (DEMO / "sermon.toml").read_text("utf-8")
    source = tmp_path / "broken.toml"
    source.write_text(text.replace("noise_seed", "noise_sead"), "utf-8")
    refused = run_script("--source", str(source), "--out", str(tmp_path), "--only", "quiet")
    assert refused.returncode == 2
    assert "missing-key" in refused.stderr
    assert "noise_seed" in refused.stderr
    assert str(source) in refused.stderr

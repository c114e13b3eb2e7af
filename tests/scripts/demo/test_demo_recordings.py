"""The demo's recordings: audio and reference agree, and the script still makes them."""

from __future__ import annotations

import json
import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from scripts.demo.make_sermon import STEPS, main, steps, without_pauses
from tests.support.needs import needs_program
from tests.support.paths import ROOT

DEMO = ROOT / "demo"
DATA = ROOT / "training" / "data"
PHRASES = DATA / "sermon_phrases.tsv"
LENGTHS_S = {"sermon": (120, 180), "pauses": (60, 90), "service": (90, 130)}

Table = dict[str, Any]
Samples = NDArray[np.float32]

each_recording = pytest.mark.parametrize("name", LENGTHS_S)


def reference(name: str) -> Table:
    table: Table = json.loads((DEMO / f"{name}.json").read_text("utf-8"))
    return table


def audio(name: str) -> Samples:
    samples, _ = soundfile.read(DEMO / f"{name}.flac", dtype="float32")
    return samples  # type: ignore[no-any-return]


def level_dbfs(audio: Samples, start_s: float, end_s: float) -> float:
    part = audio[int(start_s * 16000) : int(end_s * 16000)].astype(np.float64)
    return float(10 * np.log10(np.mean(part**2)))


def words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[\w']+", text.casefold()))


@each_recording
def test_a_recording_is_short_small_and_as_long_as_it_says(name: str) -> None:
    info, expected = soundfile.info(DEMO / f"{name}.flac"), reference(name)
    assert (info.samplerate, info.channels, info.subtype) == (16000, 1, "PCM_16")
    assert info.frames / 16000 == pytest.approx(expected["duration_s"], abs=1e-3)
    least_s, most_s = LENGTHS_S[name]
    assert least_s <= expected["duration_s"] <= most_s
    assert (DEMO / f"{name}.flac").stat().st_size <= 3_000_000


@each_recording
def test_the_reference_holds_the_text_of_the_source(name: str) -> None:
    source = tomllib.loads((DEMO / f"{name}.toml").read_text("utf-8"))
    written = [each for part in source["section"] for each in part.get("sentence", ())]
    sentences = reference(name)["sentences"]
    assert [(without_pauses(s["en"]), s["es"]) for s in written] == [
        (s["en"], s["es"]) for s in sentences
    ]
    assert without_pauses("ask not, <0.7> ask <0.3> how") == "ask not, ask how"
    assert all(b["start_s"] - a["end_s"] >= 0.25 for a, b in pairwise(sentences))


@each_recording
def test_sections_follow_each_other_and_sentences_lie_in_theirs(name: str) -> None:
    expected = reference(name)
    sections = {each["name"]: each for each in expected["sections"]}
    assert all(a["end_s"] == b["start_s"] for a, b in pairwise(expected["sections"]))
    for each in expected["sentences"]:
        home = sections[each["section"]]
        assert home["kind"] == "speech"
        assert home["start_s"] <= each["start_s"] < each["end_s"] <= home["end_s"]


def test_speech_is_where_the_reference_says_and_silence_behind_it() -> None:
    sound = audio("sermon")
    for each in reference("sermon")["sentences"]:
        assert level_dbfs(sound, each["start_s"], each["end_s"]) > -30, each["en"]
        # No speech follows the last syllable: the gap after it is only room noise.
        assert level_dbfs(sound, each["end_s"] + 0.05, each["end_s"] + 0.4) < -55
        last_50_ms = sound[int((each["end_s"] - 0.05) * 16000) : int(each["end_s"] * 16000)]
        assert np.max(np.abs(last_50_ms)) > 10 ** (-55 / 20), each["en"]


def test_pauses_lie_within_sentences_and_are_as_long_as_between_them() -> None:
    """This makes it hard: a pause's length does not say whether a sentence is over."""
    sound, sentences = audio("pauses"), reference("pauses")["sentences"]
    for each in sentences:
        assert len(each["pauses"]) >= 2
        for start_s, end_s in each["pauses"]:
            assert each["start_s"] < start_s < end_s < each["end_s"]
            assert level_dbfs(sound, start_s + 0.04, end_s - 0.04) < -55, each["en"]
            assert level_dbfs(sound, end_s, end_s + 0.15) > -45, each["en"]
    between = [b["start_s"] - a["end_s"] for a, b in pairwise(sentences)]
    inside = [end_s - start_s for s in sentences for start_s, end_s in s["pauses"]]
    assert sum(length_s >= min(between) for length_s in inside) >= 5


def test_the_service_has_every_thing_to_see_and_the_page_tells_of_it() -> None:
    service = reference("service")
    assert len({each["voice"] for each in service["sentences"]}) == 3
    assert {each["kind"] for each in service["sections"]} == {"speech", "music"}
    for key in ("pauses", "correct", "verse"):
        assert any(key in each for each in service["sentences"]), key
    assert STEPS.read_text("utf-8") == steps(service)


@pytest.mark.slow
@each_recording
def test_no_english_sentence_of_it_was_trained_on(name: str) -> None:
    """Except the sermon's reading, which is a psalm of the training text."""
    spoken = {words(each["en"]) for each in reference(name)["sentences"]}
    for file in DATA.glob("*.tsv") if name == "service" else (PHRASES,):
        for line in file.read_text("utf-8").splitlines():
            assert not spoken & {words(column) for column in line.split("\t")}, (file.name, line)


def test_training_phrases_are_pairs_with_spanish_marks() -> None:
    rows = [line.split("\t") for line in PHRASES.read_text("utf-8").splitlines()]
    assert len(rows) >= 500
    assert all(len(row) == 2 and row[0] and row[1] for row in rows)
    assert len({words(english) for english, _ in rows}) == len(rows)
    for english, spanish in rows:
        assert not re.search(r"\d", english + spanish), english
        assert spanish.count("?") == spanish.count("¿"), spanish
        assert spanish.count("!") == spanish.count("¡"), spanish


@pytest.mark.slow
@pytest.mark.parametrize(("name", "section"), [("sermon", "greeting"), ("pauses", "opening")])
def test_one_section_is_made_again_as_it_was(tmp_path: Path, name: str, section: str) -> None:
    needs_program("espeak-ng", "flite")
    source = ["--source", str(DEMO / f"{name}.toml"), "--only", section]
    for folder in ("first", "second"):
        assert main([*source, "--out", str(tmp_path / folder)]) == 0
    stem = f"{name}-{section}"
    first, second = (tmp_path / folder / f"{stem}.flac" for folder in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    part = json.loads((tmp_path / "first" / f"{stem}.json").read_text("utf-8"))
    assert [each["name"] for each in part["sections"]] == [section]
    kept = [each for each in reference(name)["sentences"] if each["section"] == section]
    lengths = [
        [round(s["end_s"] - s["start_s"], 3) for s in sentences]
        for sentences in (part["sentences"], kept)
    ]
    assert lengths[0] == pytest.approx(lengths[1], abs=0.01)


def test_what_the_script_cannot_do_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--only", "sermonette", "--out", str(tmp_path)]) == 2
    refusal = capsys.readouterr().err
    assert "unknown-section" in refusal
    assert "greeting, reading, message" in refusal
    assert not list(tmp_path.iterdir())
    text = (DEMO / "sermon.toml").read_text("utf-8")
    source = tmp_path / "broken.toml"
    source.write_text(text.replace("noise_seed", "noise_sead"), "utf-8")
    assert main(["--source", str(source), "--out", str(tmp_path), "--only", "quiet"]) == 2
    assert f"{source} lacks a key. Add 'noise_seed'. [missing-key]" in capsys.readouterr().err

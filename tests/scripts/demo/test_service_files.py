"""The demo's recording in natural voices: sound, reference and the page's steps agree."""

from __future__ import annotations

import json
import re
import tomllib
from itertools import pairwise

import pytest
import soundfile

from scripts.demo.make_sermon import STEPS, steps, without_pauses
from tests.support.paths import ROOT

DEMO = ROOT / "demo"
SERVICE = json.loads((DEMO / "service.json").read_text("utf-8"))
SOURCE = tomllib.loads((DEMO / "service.toml").read_text("utf-8"))


def words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[\w']+", text.casefold()))


def test_the_recording_is_short_small_and_as_long_as_it_says() -> None:
    info = soundfile.info(DEMO / "service.flac")
    assert (info.samplerate, info.channels, info.subtype) == (16000, 1, "PCM_16")
    assert abs(info.frames / 16000 - SERVICE["duration_s"]) < 1e-3
    assert 90 <= SERVICE["duration_s"] <= 130
    assert (DEMO / "service.flac").stat().st_size <= 3_000_000


def test_the_reference_is_of_the_text() -> None:
    said = [each for part in SOURCE["section"] for each in part.get("sentence", ())]
    assert [each["en"] for each in SERVICE["sentences"]] == [
        without_pauses(each["en"]) for each in said
    ]
    assert [each["es"] for each in SERVICE["sentences"]] == [each["es"] for each in said]
    assert all(b["start_s"] >= a["end_s"] + 0.5 for a, b in pairwise(SERVICE["sentences"]))


def test_the_page_tells_what_the_recording_has() -> None:
    assert STEPS.read_text("utf-8") == steps(SERVICE)


def test_every_thing_to_see_is_in_it() -> None:
    assert len({each["voice"] for each in SERVICE["sentences"]}) == 3
    assert {each["kind"] for each in SERVICE["sections"]} == {"speech", "music"}
    for key in ("pauses", "correct", "verse"):
        assert any(key in each for each in SERVICE["sentences"]), key


@pytest.mark.slow
def test_no_english_sentence_of_it_was_trained_on() -> None:
    said = {words(each["en"]) for each in SERVICE["sentences"]}
    for file in (ROOT / "training" / "data").glob("*.tsv"):
        for line in file.read_text("utf-8").splitlines():
            assert not said & {words(column) for column in line.split("\t")}, (file.name, line)

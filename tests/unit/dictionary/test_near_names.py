"""Names of the notes that were nearly heard; and all the words that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.types import Recognition, Transcript
from pipeline.dictionary.matcher import compile_lexicon, correct
from pipeline.dictionary.near_names import near_names, skeleton
from pipeline.dictionary.rules import Rule
from tests.support.coordinator import utterance
from tests.support.paths import ROOT

NAMES = (
    *("Nebuchadnezzar", "Shadrach", "Meshach", "Abednego", "Philemon", "Onesimus", "Boaz", "Caleb"),
    *("Bonhoeffer", "Haman", "Mordecai", "Habakkuk", "Zerubbabel", "Gethsemane", "Ephesus"),
    *("Melchizedek", "Ravensbrück", "Spurgeon"),
)
NEAR = near_names(NAMES, {"hope", "file"})


@pytest.mark.parametrize(
    ("heard", "written"),
    [
        ("King nebuchadnezer made an image", "King Nebuchadnezzar made an image"),
        ("and nebacan ezer said", "and Nebuchadnezzar said"),
        ("we read of Shadrack and Meeshack", "we read of Shadrach and Meshach"),
        ("he wrote to file lemon in chains", "he wrote to Philemon in chains"),
        ("Dietrich bon hoffer wrote", "Dietrich Bonhoeffer wrote"),
        ("she was in Ravens Brook", "she was in Ravensbrück"),
        ("the garden of get seminy", "the garden of Gethsemane"),
        ("what Spurgin preached", "what Spurgeon preached"),
        ("Melchi zedek was king of Salem", "Melchizedek was king of Salem"),
        ("Melchizadek was king of Salem", "Melchizedek was king of Salem"),
    ],
)
def test_a_name_that_was_nearly_heard_is_written_and_no_other_word_goes(
    heard: str, written: str
) -> None:
    lexicon = compile_lexicon([]).also(NEAR.found(heard), "notes")
    transcript = Transcript(utterance(), "en", heard, heard, Recognition(heard))
    corrected = correct(lexicon, transcript)
    assert corrected.text == written
    assert all(each.rule.startswith("notes:") for each in corrected.corrections)


@pytest.mark.parametrize(
    "text",
    [
        "Nebuchadnezzar and Philemon, Boaz, and Caleb's sons",
        "The human club of boys and bows",
        "hope in the file",
        "",
    ],
)
def test_what_is_right_or_everyday_stays(text: str) -> None:
    assert NEAR.found(text) == {}


@pytest.mark.slow
def test_none_of_the_sentences_of_everyday_is_taken_for_a_name() -> None:
    lines = (ROOT / "scripts/bench/church/plain_en.txt").read_text("utf-8").splitlines()
    assert len(lines) > 300
    assert {line: found for line in lines if (found := NEAR.found(line))} == {}


def test_a_rule_of_the_church_goes_before() -> None:
    rules = [Rule("own", ("spurgin",), "Sturgeon", source="own")]
    lexicon = compile_lexicon(rules).also(NEAR.found("what Spurgin preached"), "notes")
    raw = "what Spurgin preached"
    assert correct(lexicon, Transcript(utterance(), "en", raw, raw, Recognition(raw))).text == (
        "what Sturgeon preached"
    )


@pytest.mark.slow
@given(st.text())
def test_any_text_has_a_skeleton_and_is_looked_through(text: str) -> None:
    assert skeleton(text) == skeleton(text.upper()) or not text.isascii()
    assert set(NEAR.found(text).values()) <= set(NAMES)

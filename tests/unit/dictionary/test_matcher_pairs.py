"""The eighteen pairs that the design names: mended in a church's sentence, left alone elsewhere."""

from __future__ import annotations

import pytest

from pipeline.core.resources import bundled
from pipeline.dictionary.matcher import Lexicon, compile_lexicon, parse_rules
from tests.support.corrections import corrected


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    file = bundled("dictionary", "en.toml")
    return compile_lexicon(parse_rules(file.read_text(encoding="utf-8"), file.name))


@pytest.mark.parametrize(
    ("heard", "meant", "sentences"),
    [
        (
            "proposition",
            "propitiation",
            ["He is the {} for our sins.", "Whom God set forth as a {} by his blood."],
        ),
        (
            "atone meant",
            "atonement",
            ["The priest made {} for the people.", "It was the day of {}."],
        ),
        ("pre destination", "predestination", ["Paul teaches {} in Ephesians.", "Is {} fair?"]),
        ("expy asian", "expiation", ["The cross is the {} of our guilt.", "We call it {}."]),
        (
            "sanctions",
            "sanctification",
            ["After justification comes {}.", "{} is the Spirit's progressive work."],
        ),
        (
            "just a fiction",
            "justification",
            ["The doctrine of {} by faith alone.", "The book of Romans teaches {} by faith."],
        ),
        (
            "inter session",
            "intercession",
            ["Jesus ever lives to make {}.", "He lifts us up in {} and prayer."],
        ),
        ("trans substantiation", "transubstantiation", ["Rome teaches {}."]),
        ("evangelical ism", "evangelicalism", ["American {} has changed."]),
        ("sotter iology", "soteriology", ["Tonight's class is on {}."]),
        ("escatology", "eschatology", ["Our {} gives us hope."]),
        ("pneuma tology", "pneumatology", ["Tonight's class is on {}."]),
        ("christology", "Christology", ["A high {} changes everything."]),
        ("saint of vacation", "sanctification", ["{} takes a lifetime.", "We grow in {}."]),
        (
            "nebula can answer",
            "Nebuchadnezzar",
            ["King {} built an image.", "Daniel told {} his dream."],
        ),
        (
            "malachite",
            "Malachi",
            ["The prophet {} said it.", "Bring the whole tithe, says {} 3:10."],
        ),
        ("habba cook", "Habakkuk", ["{} waited on the watchtower."]),
        ("zero babel", "Zerubbabel", ["{} laid the foundation."]),
    ],
)
def test_a_pair_is_mended_in_church(
    lexicon: Lexicon, heard: str, meant: str, sentences: list[str]
) -> None:
    for sentence in sentences:
        said = sentence.format(heard)
        said, right = said[0].upper() + said[1:], sentence.format(meant)
        assert corrected(lexicon, said).text == right[0].upper() + right[1:]


@pytest.mark.parametrize(
    "said",
    [
        "Proposition 13 cut property taxes.",
        "It is a costly proposition to mend the church roof.",
        "The blood drive is a win-win proposition.",
        "We vote on the proposition after church.",
        "New sanctions against Russia were announced.",
        "Congress lifted the sanctions on oil.",
        "The government imposed sanctions, and there was no justification.",
        "The elders have discussed sanctions for late payment.",
        "The whole thing is just a fiction.",
        "Critics think that faith is just a fiction.",
        "That novel about grace is just a fiction.",
        "Paper money is just a fiction.",
        "The inter session break is over.",
        "We pray for students in the inter session term.",
        "Jesus is on the inter session schedule, said the college.",
        "The malachite stone was green.",
        "She wore a malachite ring to church.",
        "The museum has a book on malachite and copper.",
        "Who is the patron saint of vacation?",
        "My aunt is the saint of vacation and travel.",
        "They named her the saint of vacation.",
        "No picture of a nebula can answer that.",
        "A telescope and a golden nebula can answer your question.",
        "Only a nebula can answer to that description, said the scientists.",
        "The pre-destination briefing is at the airport.",
        "Read the pre destination checklist of the airline.",
        "The driver sets the pre destination in the app.",
        "Trying to atone meant a day of hard work.",
        "To atone meant to pay it all back.",
        "He wanted to atone, meant it, and made coffee.",
    ],
)
def test_the_same_words_elsewhere_stay(lexicon: Lexicon, said: str) -> None:
    assert corrected(lexicon, said).text == said

"""Which sentences are translated as said to the congregation."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from pipeline.config.schema import Settings, Translate
from pipeline.core.language_words import WORDS
from pipeline.core.resources import bundled
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.workers.address import Addressing
from pipeline.workers.degradation import Degradation
from pipeline.workers.quick import QuickPass
from tests.support.coordinator import transcript

Address = Literal["", "plural", "formal", "familiar"]


def addressed(*texts: str, address: Address = "plural", target: str = "es") -> list[str]:
    """Return of each utterance whom it addresses: "hall", "God", or "" where that is not told."""
    one, settings, found = Addressing(), Translate(address=address, target=target), []
    for place, text in enumerate(texts, 1):
        pair = one.before(transcript(text, id=place), settings)
        found.append("" if pair is None else "God" if "pray" in pair.source else "hall")
    return found


@pytest.mark.parametrize(
    "text",
    [
        "You weren't made to carry that by yourself.",
        "Is that what y'all came for?",
        "Your children are watching.",
        "God loves you just as you are.",
        "The Lord wants your heart.",
        "I told you last week, God is good.",
        "Jesus gave his life for you.",
        "Jesus, when he saw you, wept.",
    ],
)
def test_the_hall_is_meant(text: str) -> None:
    assert addressed(text) == ["hall"]


@pytest.mark.parametrize(
    "text",
    [
        "He walked home.",
        "Lord, you are holy.",
        "Thank you, Jesus.",
        "Father, we thank you for this food.",
        "And God, would you heal her?",
        "Oh Lord, your mercy never ends.",
        "We ask that you guide the doctors.",
        "Hallowed be your name.",
        # Who is thanked is unknown: the translators decide.
        "We thank you for coming out tonight.",
        "He said to Peter, do you love me?",
        "The boss told him, you are late.",
    ],
)
def test_nobody_or_somebody_else_is_meant(text: str) -> None:
    assert addressed(text) == [""]


YOU = "You have been good to us."


def test_after_a_name_of_god_two_utterances_are_a_prayer() -> None:
    assert addressed("Lord, we come to you.", YOU, "Help us.", YOU) == ["", "God", "God", "hall"]
    assert addressed("Lord, hear us.", "We need your help, amen.", YOU) == ["", "God", "hall"]
    # Also where the congregation's address is not set; somebody else's cry is no prayer.
    assert addressed("Lord, hear us.", YOU, address="") == ["", "God"]
    assert addressed("Peter said, Lord, save me.", YOU) == ["", "hall"]


def test_after_let_us_pray_it_is_one_until_amen() -> None:
    assert addressed("Let's pray.", *[YOU] * 9, "Amen.", YOU) == ["", *["God"] * 10, "hall"]
    # Somebody forgot the amen, or it was not heard.
    assert addressed("Let's bow our heads.", *[YOU] * 13)[-2:] == ["hall", "hall"]


def test_partials_of_one_utterance_count_once_whatever_the_recognizer_takes_back() -> None:
    one, settings = Addressing(), Translate(address="plural")
    assert one.before(transcript("Lord, we come", id=1), settings) is None
    assert one.before(transcript("Lord", id=1), settings) is None
    for number in (2, 3):
        for _ in range(3):
            pair = one.before(transcript("You are good", id=number), settings)
            assert pair
            assert "pray" in pair.source


def test_each_address_has_its_sentence_and_other_languages_have_none() -> None:
    said = transcript("You are late.")
    for lang in ("es", "fr"):
        table = WORDS[lang].address
        assert table is not None
        pairs = {
            Addressing().before(said, Translate(address=each, target=lang))
            for each in ("plural", "formal", "familiar")
        }
        assert {pair.target for pair in pairs if pair} == {
            table.plural, table.formal, table.familiar
        }  # fmt: skip
    assert addressed("You are late.", address="") == [""]
    assert addressed("You are late.", target="de") == [""]
    assert Addressing().before(replace(said, lang="es"), Translate(address="plural")) is None


def captions(*texts: str, address: Address = "") -> list[str]:
    settings = Settings(translate=Translate(target="fr", address=address))
    quick = QuickPass(
        settings=settings,
        translator=Marian(bundled("models", "starter", "marian"), target="fr"),
        drafts=None,
        degradation=Degradation(),
        emit=(made := list[object]()).append,
        stage="quick",
        shed=False,
    )
    quick.load()
    for place, text in enumerate(texts, 1):
        quick.take(transcript(text, id=place))
    return [str(getattr(each, "text", "")) for each in made]


def test_the_draft_translator_keeps_to_the_address() -> None:
    text = "God loves you just as you are."
    (plural,), (familiar,) = captions(text, address="plural"), captions(text, address="familiar")
    assert " vous " in plural
    assert " t'" in familiar
    # Alone it is "vous savez".
    hurting = "You know who's hurting this morning."
    assert captions("Father, hear us.", hurting)[1].startswith("Tu sais")

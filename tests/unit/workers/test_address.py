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


def addressed(*texts: str, address: Address = "plural", target: str = "es") -> list[bool]:
    """Return of each utterance whether it is said to the congregation."""
    one, settings = Addressing(), Translate(address=address, target=target)
    return [
        one.before(transcript(text, id=place), settings) is not None
        for place, text in enumerate(texts, 1)
    ]


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
    assert addressed(text) == [True]


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
    assert addressed(text) == [False]


def test_a_prayer_lasts_until_amen_or_until_god_is_no_longer_named() -> None:
    you = "You have been good to us."
    assert addressed("Lord, we come to you.", you, you, you) == [False, False, False, True]
    assert addressed("Lord, hear us.", "We need your help, amen.", you) == [False, False, True]
    # Partials of one utterance count once, whatever the recognizer takes back.
    one, settings = Addressing(), Translate(address="plural")
    assert one.before(transcript("Lord, we come", id=1), settings) is None
    assert one.before(transcript("Lord", id=1), settings) is None
    for number in (2, 3):
        for _ in range(3):
            assert one.before(transcript("You are good", id=number), settings) is None


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
    assert addressed("You are late.", address="") == [False]
    assert addressed("You are late.", target="de") == [False]
    assert Addressing().before(replace(said, lang="es"), Translate(address="plural")) is None


def caption(text: str, address: Address) -> str:
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
    quick.take(transcript(text))
    return str(getattr(made[-1], "text", ""))


def test_the_draft_translator_keeps_to_the_address() -> None:
    text = "God loves you just as you are."
    assert " vous " in caption(text, "plural")
    assert " t'" in caption(text, "familiar")
    assert " te " not in caption("Thank you, Lord, for your mercy.", "plural")

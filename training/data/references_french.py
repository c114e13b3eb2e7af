"""Practice with Bible references in French, as `references` does for Spanish."""

# ruff: noqa: E501 - pairs of sentences read best as they are
from __future__ import annotations

import random

from pipeline.church.scripture.books import PRINTED, PSALMS
from training.data.corpora import Pair
from training.data.references import english_number

_ORDINALS = ("First", "Second", "Third")
# The French side always has digits, as captions print them; the English may use words.
_TEMPLATES = (
    ("Turn with me to {b}, chapter {c}, verse {v}.", "Ouvrez avec moi {b}, chapitre {c}, verset {v}."),
    ("Please open your Bibles to {b}, chapter {c}, verse {v}.", "Ouvrez vos Bibles, s'il vous plaît, dans {b}, chapitre {c}, verset {v}."),
    ("Open your Bibles to the book of {b}, chapter {c}.", "Ouvrez vos Bibles au livre de {b}, chapitre {c}."),
    ("Our reading today is from {b}, chapter {c}, verse {v}.", "Notre lecture d'aujourd'hui se trouve dans {b}, chapitre {c}, verset {v}."),
    ("Our text is {b}, chapter {c}, verses {v} to {w}.", "Notre texte est {b}, chapitre {c}, versets {v} à {w}."),
    ("We read in {b}, chapter {c}, beginning at verse {v}.", "Nous lisons dans {b}, chapitre {c}, à partir du verset {v}."),
    ("In {b}, chapter {c}, verse {v}, we read these words.", "Dans {b}, chapitre {c}, verset {v}, nous lisons ces paroles."),
    ("{b} chapter {c} verse {v}.", "{b}, chapitre {c}, verset {v}."),
    ("Look at verse {v} of chapter {c}.", "Regardez le verset {v} du chapitre {c}."),
    ("Now look at verse {v}.", "Regardez maintenant le verset {v}."),
)  # fmt: skip
_SHORT_TEMPLATES = (
    ("Turn with me to {b} {c}:{v}.", "Ouvrez avec moi {b} {c}:{v}."),
    ("In {b} {c}:{v} it is written.", "Dans {b} {c}:{v}, il est écrit."),
    ("Our text today is {b} {c}:{v}.", "Notre texte d'aujourd'hui est {b} {c}:{v}."),
    ("{b} {c}:{v} says this.", "{b} {c}:{v} dit ceci."),
    ("Read {b} {c} this week.", "Lisez {b} {c} cette semaine."),
)


def references(count: int, rng: random.Random) -> list[Pair]:
    """Return sentences with a Bible reference; one in three writes its numbers in digits."""
    return [_reference(rng) for _ in range(count)]


def _reference(rng: random.Random) -> Pair:
    in_digits = rng.random() < 1 / 3
    book = rng.randrange(len(PRINTED["en"]))
    verse = rng.randint(1, 60)
    numbers = {"c": rng.randint(1, 150 if book + 1 == PSALMS else 50), "v": verse}
    numbers["w"] = verse + rng.randint(1, 12)
    short = in_digits and rng.random() < 0.7
    english, french = rng.choice(_SHORT_TEMPLATES if short else _TEMPLATES)
    said = {n: str(value) if in_digits else english_number(value) for n, value in numbers.items()}
    english = english.format(b=_english(PRINTED["en"][book], in_digits), **said)
    return Pair(english, french.format(b=PRINTED["fr"][book], **numbers), "reference")


def _english(printed: str, in_digits: bool) -> str:
    number, _, name = printed.partition(" ")
    spoken = number.isdecimal() and not in_digits
    return f"{_ORDINALS[int(number) - 1]} {name}" if spoken else printed

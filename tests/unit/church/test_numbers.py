"""Numbers of a text, compared with those of its translation."""

from __future__ import annotations

import pytest

from pipeline.church import numbers, references
from tests.support.paths import ROOT


def differences(said: str, written: str, lang: str = "es") -> tuple[list[int], list[int]]:
    """Return the values that stand in the English text only, and in its translation only."""
    difference = numbers.compare(
        numbers.find(said, "en"), numbers.find(written, lang), (said, written), ("en", lang)
    )
    return [q.value for q in difference.said], [q.value for q in difference.written]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Twelve men and 120 women.", "Doce hombres y ciento veinte mujeres."),
        ("It was founded in nineteen eighty-four.", "Se fundó en 1984."),
        ("In twenty twenty-six and twenty oh five.", "En 2026 y en dos mil cinco."),
        ("We meet at half past seven.", "Nos reunimos a las siete y media."),
        ("We meet at a quarter to eight.", "Nos reunimos a las ocho menos cuarto."),
        ("We meet at seven thirty.", "Nos reunimos a las 7:30."),
        ("We meet at 7:30 p.m.", "Nos reunimos a las 19:30."),
        ("At three o'clock.", "A las tres."),
        ("The roof costs $40,000.", "El techo cuesta cuarenta mil dólares."),
        ("Both of you, twice a day.", "Ustedes dos, dos veces al día."),
        ("A dozen eggs.", "Doce huevos."),
        ("On the third day.", "Al tercer día."),
        ("The twenty-third of March.", "El 23 de marzo."),
        ("It is 3.5 percent.", "Es el 3,5 por ciento."),
        ("One of us has a book.", "Uno de nosotros tiene un libro."),
        ("Wait a second in this room.", "Espera un segundo en este cuarto."),
        ("A thousand times, thank you.", "Mil gracias."),
        ("First of all, thank you.", "En primer lugar, gracias."),
    ],
)
def test_the_same_number_in_two_languages_is_one(said: str, written: str) -> None:
    assert differences(said, written) == ([], [])


@pytest.mark.parametrize(
    ("said", "written", "missing", "added"),
    [
        ("Twelve men came.", "Vinieron trece hombres.", [12], [13]),
        ("In nineteen eighty-four.", "En 1948.", [1984], [1948]),
        ("At half past seven.", "A las siete.", [450], [7]),
        ("Five loaves and two fish.", "Cinco panes y peces.", [2], []),
        ("Loaves and fish.", "Tres panes y peces.", [], [3]),
        ("Forty days.", "Catorce días.", [40], [14]),
    ],
)
def test_what_differs_is_found(
    said: str, written: str, missing: list[int], added: list[int]
) -> None:
    assert differences(said, written) == (missing, added)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Twelve men and 120 women.", "Douze hommes et cent vingt femmes."),
        ("In nineteen eighty-four.", "En mille neuf cent quatre-vingt-quatre."),
        ("Four hundred boxes, two hundred books.", "Quatre cents cartons, deux cents livres."),
        ("Ninety-nine sheep, eighty people.", "Quatre-vingt-dix-neuf brebis, quatre-vingts gens."),
        ("Seventy-two of them.", "Septante-deux d'entre eux."),
        ("We meet at half past seven.", "Rendez-vous à sept heures et demie."),
        ("We meet at a quarter to eight.", "Rendez-vous à huit heures moins le quart."),
        ("We meet at seven thirty.", "Rendez-vous à 19 h 30."),
        ("We meet at 7:30 p.m.", "Rendez-vous à 19h30."),
        ("At three in the afternoon.", "À quinze heures."),
        ("We waited three hours.", "Nous avons attendu trois heures."),
        ("I waited an hour.", "J'ai attendu une heure."),
        ("The twenty-third of March.", "Le vingt-trois mars."),
        ("It is 3.5 percent.", "C'est 3,5 pour cent."),
        ("He has a new heart.", "Il a un cœur neuf."),
        ("Both of you, twice a day.", "Vous deux, deux fois par jour."),
        ("Neither of us came.", "Aucun de nous deux n'est venu."),
        ("A dozen eggs.", "Une douzaine d'œufs."),
        ("A thousand thanks.", "Mille mercis."),
    ],
)
def test_the_same_number_in_french_is_one(said: str, written: str) -> None:
    assert differences(said, written, "fr") == ([], [])


@pytest.mark.parametrize(
    ("said", "written", "missing", "added"),
    [
        ("Twelve men came.", "Treize hommes sont venus.", [12], [13]),
        ("At half past seven.", "À sept heures.", [450], [7]),
        ("Two hundred books.", "Deux livres.", [200], [2]),
        ("Ninety-five theses.", "Quatre-vingt-cinq thèses.", [95], [85]),
        ("Loaves and fish.", "Trois pains et des poissons.", [], [3]),
    ],
)
def test_what_differs_in_french_is_found(
    said: str, written: str, missing: list[int], added: list[int]
) -> None:
    assert differences(said, written, "fr") == (missing, added)


@pytest.mark.slow
def test_what_was_written_for_training_raises_hardly_an_alarm() -> None:
    """Pairs that say the same: whatever is told of them is a false alarm."""
    folder = ROOT / "scripts" / "training" / "data"
    names = ("sermon_phrases_fr.tsv", "everyday_fr.tsv")
    texts = [(folder / name).read_text(encoding="utf-8") for name in names]
    pairs = [line.split("\t") for text in texts for line in text.splitlines()]
    alarms = [said for said, written in pairs if differences(said, written, "fr") != ([], [])]
    # It is said once in English: "six kilometers each way".
    assert [said for said in alarms if references.find(said, "en") == ()] == [
        "They walk six kilometers each way, many of them barefoot."
    ]


def test_a_number_is_written_as_the_one_in_whose_place_it_stands() -> None:
    (twelve, big), (word, digits) = (
        numbers.find("twelve, ninety-five", "en"),
        numbers.find("trece, 14", "es"),
    )
    assert numbers.written_like(twelve, word, "es") == "doce"
    assert numbers.written_like(twelve, digits, "es") == "12"
    assert numbers.written_like(big, word, "es") == "95"
    third = numbers.find("the third", "en")[0]
    assert numbers.written_like(third, word, "es") == ""


def test_stretches_are_left_out() -> None:
    text = "Romans 8:28 has twelve words"
    assert [q.value for q in numbers.find(text, "en", [(0, 11)])] == [12]


def test_an_unknown_language_has_no_numbers() -> None:
    assert numbers.find("drei", "de") == ()

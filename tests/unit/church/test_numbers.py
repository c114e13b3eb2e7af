"""Numbers of a text, compared with those of its translation."""

from __future__ import annotations

import pytest

from pipeline.church import numbers


def differences(said: str, written: str) -> tuple[list[int], list[int]]:
    """Return the values that stand in the English text only, and in the Spanish one only."""
    difference = numbers.compare(
        numbers.find(said, "en"), numbers.find(written, "es"), (said, written), ("en", "es")
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

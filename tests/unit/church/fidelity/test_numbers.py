"""Numbers of a text, compared with the numbers of its translation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.church.fidelity import numbers


def differences(
    said: str, written: str, langs: tuple[str, str] = ("en", "es")
) -> tuple[list[int], list[int]]:
    """Return the values that only the spoken text has, and those that only its translation has."""
    difference = numbers.compare(
        numbers.find(said, langs[0]), numbers.find(written, langs[1]), (said, written), langs
    )
    return [q.value for q in difference.said], [q.value for q in difference.written]


SAME = {
    "es": [
        ("Twelve men and 120 women.", "Doce hombres y ciento veinte mujeres."),
        ("It was founded in nineteen eighty-four.", "Se fundó en 1984."),
        ("We meet at half past seven.", "Nos reunimos a las siete y media."),
        ("We meet at 7:30 p.m.", "Nos reunimos a las 19:30."),
        ("From 10:30 to 1:15 it was 3.50.", "De las 10.30 a la 1.15 fueron 3,50."),
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
        ("The 21st century.", "El siglo XXI."),
        ("In the fourth century.", "En el siglo IV d. C."),
        ("In the 19th and twentieth centuries.", "En los siglos XIX y XX."),
        ("Eight billion people.", "Ocho mil millones de personas."),
        ("It was 1.3 billion.", "Eran 1,300 millones."),
        ("Three and a half million people.", "Tres millones y medio de personas."),
        ("He lost 95,000.", "Perdió 95 000."),
        ("All hundred and fifty-five lived.", "Vivieron los 155."),
        ("Our two hundredth anniversary.", "Nuestro aniversario número 200."),
        ("The hundredth sheep.", "La centésima oveja."),
        ("We live at nine oh one, page one oh nine.", "Vivimos en el 901, página 109."),
        ("I called 9-1-1 in three twenty-five.", "Llamé al 911 en 325."),
        ("Seventy, seven zero.", "Setenta, siete cero."),
        ("It tripled since '09.", "Triplicó desde 2009."),
        ("In the sixties, in the 1940s.", "En los sesenta, en los años cuarenta."),
        ("In the '60s.", "En los años sesenta."),
        ("A quarter of a million.", "Un cuarto de millón."),
        ("As we say, a hundred times.", "Como decimos, cien veces."),
    ],
    "fr": [
        ("She is ninety-one.", "Elle a nonante et un ans."),
        ("It was 1,234.5 in all.", "C'était 1 234,5 en tout."),
        ("Twelve euros and fifty cents: 12.50.", "Douze euros et cinquante cents\u00a0: 12,50."),
        ("In nineteen eighty-four.", "En dix-neuf cent quatre-vingt-quatre."),
        ("In twenty oh five.", "En 2005."),
        ("In the 1980s we met here.", "Dans les années 80, nous nous réunissions ici."),
        ("In the eighties we met here.", "Dans les années 1980, nous nous réunissions ici."),
        ("In the twentieth century.", "Au XXe siècle."),
        ("In the twenty-first century.", "Au 21e siècle."),
        ("In the 19th and 20th centuries.", "Aux XIXe et XXe siècles."),
        ("We meet at seven thirty.", "Nous nous réunissons à dix-neuf heures trente."),
        ("We meet at three p.m.", "Nous nous réunissons à quinze heures."),
        ("It took fifteen hours.", "Cela a pris quinze heures."),
        (
            "Come after two, from seven to nine.",
            "Après quatorze heures, de dix-neuf à vingt et une heures.",
        ),
        ("Thirty-one hours, eighty-one boxes.", "Trente et une heures, quatre-vingt-une boîtes."),
        ("Two thousand billion.", "Deux mille milliards."),
        ("The hundredth sheep.", "La centième brebis."),
        ("It is 3.5.", "C'est 3,5."),
        ("We meet at 7 p.m.", "Nous nous réunissons à 19 h."),
        ("We eat at noon.", "Nous mangeons à midi."),
        ("At twelve thirty.", "À midi et demi."),
        ("He waited three and a half hours.", "Il a attendu pendant trois heures et demie."),
        ("We meet in two weeks.", "Nous nous revoyons dans quinze jours."),
        ("We meet in a week.", "Nous nous revoyons dans huit jours."),
        ("He fasted for forty days.", "Il a jeûné une quarantaine de jours."),
        ("Half a dozen eggs.", "Six œufs."),
        ("A dozen eggs.", "Une douzaine d'œufs."),
        ("On the third day.", "Le troisième jour."),
        ("First of all, thank you.", "Tout d'abord, merci."),
        ("The twenty-third of March.", "Le 23 mars."),
        ("God gives a new heart.", "Dieu donne un cœur neuf."),
        ("Wait a second.", "Attendez une seconde."),
        ("A thousand times, thank you.", "Mille fois merci."),
        ("I have told you a hundred times.", "Je te l'ai dit cent fois."),
        ("Three quarters of the earth.", "Les trois quarts de la terre."),
        ("The four corners of the earth.", "Les quatre coins de la terre."),
        ("A hundred percent.", "Cent pour cent."),
        ("Neither of us spoke.", "Aucun de nous deux n'a parlé."),
    ],
}


@pytest.mark.parametrize(
    ("lang", "said", "written"),
    [(lang, *texts) for lang, table in SAME.items() for texts in table],
)
def test_the_same_number_in_two_languages_is_one(lang: str, said: str, written: str) -> None:
    assert differences(said, written, ("en", lang)) == ([], [])
    assert differences(written, said, (lang, "en")) == ([], [])


@pytest.mark.parametrize(
    ("langs", "said", "written", "missing", "added"),
    [
        ("en es", "Twelve men came.", "Vinieron trece hombres.", [12], [13]),
        ("en es", "At half past seven.", "A las siete.", [450], [7]),
        ("en es", "Five loaves and two fish.", "Cinco panes y peces.", [2], []),
        ("en es", "Loaves and fish.", "Tres panes y peces.", [], [3]),
        ("en es", "Forty days.", "Catorce días.", [40], [14]),
        ("en es", "In the twentieth century.", "En el siglo XIX.", [20], [19]),
        ("en fr", "Seventy-two people came.", "Soixante-deux personnes sont venues.", [72], [62]),
        ("en fr", "It costs $40,000.", "Cela coûte 4 000 $.", [40000], [4000]),
        ("en fr", "At 3:30 p.m.", "À 16 h 30.", [210], [270]),
        ("en fr", "It is 3.5 percent.", "C'est 3,6 %.", [3], [3]),
        ("fr es", "Soixante-dix hommes.", "Sesenta hombres.", [70], [60]),
        ("fr es", "À quinze heures trente.", "A las tres y media.", [], []),
    ],
)
def test_what_differs_is_found(
    langs: str, said: str, written: str, missing: list[int], added: list[int]
) -> None:
    source, target = langs.split()
    assert differences(said, written, (source, target)) == (missing, added)


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
    (billions,) = numbers.find("9.7 billion people", "en")
    assert numbers.written_like(billions, digits, "es") == "9700 millones"
    two, one = numbers.find("2 millones", "es")[0], numbers.find("one million", "en")[0]
    assert numbers.written_like(one, two, "es") == "1000000", "no plural"


def test_stretches_are_left_out() -> None:
    text = "Romans 8:28 has twelve words"
    assert [q.value for q in numbers.find(text, "en", [(0, 11)])] == [12]
    assert numbers.find("drei", "de") == (), "of an unknown language"


def test_digits_without_end_are_no_number() -> None:
    # int() refuses more than 4,300 digits.
    for text in ("1" * 5000 + ".5", "1" + ",111" * 2000 + ".5", "1" + " 111" * 2000):
        assert all(q.value < 10**15 for q in numbers.find(text, "fr"))


def test_a_french_number_is_written_as_the_one_in_whose_place_it_stands() -> None:
    twelve, big = numbers.find("twelve, ninety-five", "en")
    word, digits, _ = numbers.find("treize, 14, trois cents", "fr")
    assert numbers.written_like(twelve, word, "fr") == "douze"
    assert numbers.written_like(twelve, digits, "fr") == "12"
    assert numbers.written_like(big, word, "fr") == "95"
    (many,) = numbers.find("forty thousand", "en")
    assert numbers.written_like(many, digits, "fr") == "40\u00a0000"
    assert numbers.find("40\u00a0000", "fr")[0].value == 40_000


@settings(deadline=None)
@given(st.integers(1000, 999_999_999), st.sampled_from(" \u00a0\u202f.,"))
def test_every_number_in_digits_is_read_with_the_sign_that_parts_thousands(
    value: int, sign: str
) -> None:
    (found,) = numbers.find(f"Il y en a {value:,} ici.".replace(",", sign), "fr")
    assert (found.value, found.in_digits) == (value, True)


@settings(deadline=None)
@given(st.integers(0, 23), st.integers(0, 59))
def test_every_time_in_digits_is_one_in_all_its_forms(hour: int, minute: int) -> None:
    forms = (f"{hour} h {minute:02}", f"{hour}h{minute:02}", f"{hour}:{minute:02}")
    times = [numbers.find(f"Venez à {form} ce soir.", "fr") for form in forms]
    assert {(len(found), found[0].kind, found[0].value) for found in times} == {
        (1, "time", (hour * 60 + minute) % 720)
    }


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_can_be_looked_through(text: str) -> None:
    for lang in numbers.LANGS:
        for quantity in numbers.find(text, lang):
            assert 0 <= quantity.start < quantity.end <= len(text)

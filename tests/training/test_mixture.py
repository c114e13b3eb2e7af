"""The translators' training mixture: shares, names, noise, joined sentences."""

from __future__ import annotations

import random
import re

import pytest

from pipeline.core.errors import ModelError
from training.data import mixture, references, references_french
from training.data.corpora import Pair


def pairs(count: int, source: str) -> tuple[Pair, ...]:
    return tuple(Pair(f"Tom saw {n}.", f"Tom vio {n}.", source) for n in range(count))


def words_numbered(count: int) -> list[str]:
    return ["x" + "".join(chr(97 + int(d)) for d in str(n)) for n in range(count)]


def words_pairs(count: int) -> tuple[Pair, ...]:
    return tuple(Pair(f"See {w}.", f"Vea {w}.", "tatoeba") for w in words_numbered(count))


def one_pass(
    source: dict[str, tuple[Pair, ...]], utterances: mixture.Utterances = mixture.SENTENCES
) -> list[tuple[str, str]]:
    return mixture.one_pass(source, random.Random(1), utterances, reference_count=0)


def test_each_source_comes_as_often_as_its_share() -> None:
    drawn = one_pass({"kjv": pairs(100, "kjv"), "sermon": ()})
    assert len(drawn) == 15
    drawn = one_pass({"sermon": pairs(5, "sermon")})
    assert len(drawn) == 30


def test_a_name_changes_on_both_sides_alike() -> None:
    drawn = one_pass({"tatoeba": pairs(300, "tatoeba")})
    others = [(en, es) for en, es in drawn if not es.startswith("Tom ")]
    assert 60 < len(others) < 150
    for english, spanish in others:
        name = spanish.split()[0]
        assert english.lower().split()[0] == name.lower()
        assert re.findall(r"\d+", english) == re.findall(r"\d+", spanish)


def test_some_sources_lose_case_and_marks_but_no_target_does() -> None:
    drawn = one_pass({"tatoeba": pairs(400, "tatoeba")})
    plain = [english for english, _ in drawn if english == english.lower()]
    assert 10 < len(plain) < 80
    assert any("." not in english for english in plain)
    assert all(spanish[0].isupper() and spanish.endswith(".") for _, spanish in drawn)


@pytest.mark.parametrize("most", [2, 4])
def test_joining_loses_no_pair(most: int) -> None:
    drawn = one_pass({"tatoeba": words_pairs(200)}, mixture.Utterances(join_share=0.3, most=most))
    assert max(len(re.findall(r"x[a-z]+", spanish)) for _, spanish in drawn) == most
    kept = [word for _, spanish in drawn for word in re.findall(r"x[a-z]+", spanish)]
    assert sorted(kept) == sorted(words_numbered(200))
    for english, spanish in drawn:
        assert re.findall(r"x[a-z]+", english.lower()) == re.findall(r"x[a-z]+", spanish)


def test_some_pairs_are_cut_short_on_both_sides_and_no_full_stop_is_left_there() -> None:
    whole = Pair("The Lord is my shepherd today.", "El Señor es mi pastor hoy.", "tatoeba")
    drawn = one_pass({"tatoeba": (whole,) * 200}, mixture.Utterances(prefix_share=0.4))
    begun = [(english, spanish) for english, spanish in drawn if spanish != whole.target]
    assert 50 < len(begun) < 110
    for english, spanish in begun:
        assert whole.target.startswith(spanish)
        assert not spanish.endswith(".")
        assert len(english.split()) == len(spanish.split())
    short = one_pass({"tatoeba": words_pairs(50)}, mixture.Utterances(prefix_share=1.0))
    assert all(spanish.endswith(".") for _, spanish in short), "two words are cut no shorter"


def test_numbers_change_on_both_sides_alike() -> None:
    drawn = one_pass({"tatoeba": pairs(300, "tatoeba")})
    numbers = [re.findall(r"\d+", spanish)[0] for _, spanish in drawn]
    assert sum(numbers.count(number) > 1 for number in numbers) > 50
    assert all(re.findall(r"\d+", english) == re.findall(r"\d+", es) for english, es in drawn)


@pytest.mark.parametrize(
    ("number", "english", "spanish"),
    [
        (1, "one", "uno"),
        (16, "sixteen", "dieciséis"),
        (22, "twenty-two", "veintidós"),
        (30, "thirty", "treinta"),
        (45, "forty-five", "cuarenta y cinco"),
        (100, "one hundred", "cien"),
        (119, "one hundred and nineteen", "ciento diecinueve"),
    ],
)
def test_numbers_in_words(number: int, english: str, spanish: str) -> None:
    assert references.english_number(number) == english
    assert references.spanish_number(number) == spanish


def test_references_name_the_same_place_in_both_languages() -> None:
    made = references.references(400, random.Random(1))
    spanish_of = {references.english_number(n): references.spanish_number(n) for n in range(1, 163)}
    for pair in made:
        assert re.findall(r"\d+", pair.en) == re.findall(r"\d+", pair.target)
        for word in re.findall(r"(?:chapter|verse) ([a-z][a-z -]*?)(?=[,.]| verse)", pair.en):
            if word in spanish_of:
                assert spanish_of[word] in pair.target, pair
    assert any("Primera de Corintios" in pair.target for pair in made)
    assert sum(any(c.isdigit() for c in pair.en) for pair in made) in range(90, 180)


def test_french_references_name_the_same_place_in_digits() -> None:
    made = references_french.references(400, random.Random(1))
    said = {references.english_number(n): str(n) for n in range(1, 163)}
    for pair in made:
        assert set(re.findall(r"\d+", pair.en)) <= set(re.findall(r"\d+", pair.target))
        for word in re.findall(r"(?:chapter|verse) ([a-z][a-z -]*?)(?=[,.]| verse)", pair.en):
            if word in said:
                assert said[word] in pair.target, pair
    first = [pair for pair in made if "First Corinthians" in pair.en]
    assert first
    assert all("1 Corinthiens" in pair.target for pair in first)


def test_french_is_taken_as_it_is() -> None:
    verse = Pair("Jehovah spoke.", "Jehová parla.", "asv")
    assert mixture.of_today(verse, "fr") == "Jehová parla."
    assert mixture.of_today(Pair("The Lord spoke.", "Jehová habló.", "nheb"), "es") == (
        "El Señor habló."
    )


@pytest.mark.parametrize(
    ("spanish", "wanted"),
    [
        ("Jehová es tu guardador.", "El Señor es tu guardador."),
        ("Y el ángel de Jehová dijo a Jehová.", "Y el ángel del Señor dijo al Señor."),
        ("Oíd: Jehová habla, y Jehová, oh Jehová.", "Oíd: El Señor habla, y el Señor, oh Señor."),
        ("Cántico gradual. ALZARÉ mis ojos.", "Alzaré mis ojos."),
        ("Al Músico principal: Salmo de David. EN ti confío.", "En ti confío."),
        ("Salmo de David. ¿HASTA cuándo, Jehová?", "¿Hasta cuándo, Señor?"),
        ("Salmo de David. A TI clamaré.", "A ti clamaré."),
        ("Cántico nuevo cantad. A Dios.", "Cántico nuevo cantad. A Dios."),
        ("Subió a Jerusalem desde Beth-lehem.", "Subió a Jerusalén desde Belén."),
    ],
)
def test_old_words_are_written_as_today(spanish: str, wanted: str) -> None:
    assert mixture.today("The Lord.", spanish) == wanted


def test_jehovah_stays_jehovah() -> None:
    assert mixture.today("Jehovah is thy keeper.", "Jehová es tu guardador.") == (
        "Jehová es tu guardador."
    )


@pytest.mark.slow
def test_the_same_seed_gives_the_same_pass() -> None:
    source = {"tatoeba": pairs(50, "tatoeba")}
    first, second = (mixture.one_pass(source, random.Random(5)) for _ in range(2))
    assert first == second
    assert first != mixture.one_pass(source, random.Random(6))


def test_shares_are_changed_by_name() -> None:
    assert mixture.shares_of(["talk=2", "tatoeba=.1"]) == {
        **mixture.SHARES,
        "talk": 2.0,
        "tatoeba": 0.1,
    }
    assert mixture.shares_of(["talk=2"], {"talk": 1.0, "nheb": 0.1}) == {"talk": 2.0, "nheb": 0.1}


@pytest.mark.parametrize("wrong", ["talk", "talk=", "nothing=1", "talk=much"])
def test_a_wrong_share_is_refused(wrong: str) -> None:
    with pytest.raises(ModelError, match="is no SOURCE=SHARE"):
        mixture.shares_of([wrong])

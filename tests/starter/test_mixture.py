"""What the translators are trained on: shares, names, noise, joined sentences."""

from __future__ import annotations

import random
import re

import mixture
from corpora import Pair


def pairs(count: int, source: str) -> tuple[Pair, ...]:
    return tuple(Pair(f"Tom saw {n}.", f"Tom vio {n}.", source) for n in range(count))


def test_each_source_comes_as_often_as_its_share() -> None:
    drawn = mixture.one_pass({"kjv": pairs(100, "kjv"), "sermon": ()}, random.Random(1))
    assert len(drawn) == 10
    drawn = mixture.one_pass({"sermon": pairs(5, "sermon")}, random.Random(1))
    assert len(drawn) == 20


def test_a_name_changes_on_both_sides_alike() -> None:
    drawn = mixture.one_pass({"tatoeba": pairs(300, "tatoeba")}, random.Random(1))
    others = [(en, es) for en, es in drawn if not es.startswith("Tom ")]
    assert 60 < len(others) < 150
    for english, spanish in others:
        name = spanish.split()[0]
        assert english.lower().split()[0] == name.lower()
        assert re.findall(r"\d+", english) == re.findall(r"\d+", spanish)


def test_some_sources_lose_case_and_marks_but_no_target_does() -> None:
    drawn = mixture.one_pass({"tatoeba": pairs(400, "tatoeba")}, random.Random(1))
    plain = [english for english, _ in drawn if english == english.lower()]
    assert 10 < len(plain) < 80
    assert any("." not in english for english in plain)
    assert all(spanish[0].isupper() and spanish.endswith(".") for _, spanish in drawn)


def test_joining_loses_no_pair() -> None:
    drawn = mixture.one_pass({"tatoeba": pairs(200, "tatoeba")}, random.Random(1), join_share=0.3)
    assert len(drawn) < 200
    numbers = [int(n) for _, spanish in drawn for n in re.findall(r"\d+", spanish)]
    assert sorted(numbers) == list(range(200))
    for english, spanish in drawn:
        assert re.findall(r"\d+", english) == re.findall(r"\d+", spanish)


def test_the_same_seed_gives_the_same_pass() -> None:
    source = {"tatoeba": pairs(50, "tatoeba")}
    first, second = (mixture.one_pass(source, random.Random(5)) for _ in range(2))
    assert first == second
    assert first != mixture.one_pass(source, random.Random(6))

"""The training mix: shares, repetition, treatments, and what must not get in."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from pipeline.learning.data.corpora import Verse
from pipeline.learning.data.terms import Confusion
from pipeline.learning.mix.augment import Example
from pipeline.learning.mix.mix import SHARES, Ingredients, MixSettings, Stage, make_mix


def verses(version: str, count: int = 3000) -> list[Verse]:
    return [
        Verse(
            "Ruth", n // 20, n % 20, f"{version} verse {n} of the book", f"versículo {n} del libro"
        )
        for n in range(count)
    ]


def sermon(count: int) -> list[Example]:
    return [
        Example(
            source=f"Sermon sentence number {n} was spoken by Ezekiel here.",
            target=f"La frase número {n} del sermón la dijo Ezequiel aquí.",
            part="sermon",
            session=f"s{n // 50}",
            id=n % 50,
        )
        for n in range(count)
    ]


GENERAL = [
    Example(source=f"A day {n} like today.", target=f"Un día {n} como hoy.", part="general")
    for n in range(500)
]
GIVEN = Ingredients(
    bibles=[verses("new"), verses("old"), verses("oldest")],
    sermon=sermon(600),
    glossary={f"term{n}": f"término{n}" for n in range(20)} | {"ezekiel": "Ezequiel"},
    general=GENERAL,
    confusions=[Confusion("sermon", "salmon", 3)],
)
PLAIN = MixSettings(pairs=2000, general=300, prefixes=0, terms=0, heard=0, several=0)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["first", "later"])
def test_parts_have_their_shares(stage: Stage) -> None:
    made = make_mix(GIVEN, MixSettings(pairs=2000, general=300, stage=stage))
    for part, share in SHARES[stage].items():
        assert made.parts[part] == pytest.approx(share * 2000, abs=2)
    assert made.parts["general"] == 300
    assert made.lacking == {}


def test_half_of_the_bible_is_passages_and_most_of_it_the_modern_version() -> None:
    made = make_mix(GIVEN, PLAIN)
    bible = [each for each in made.examples if each.part == "bible"]
    versions = Counter(each.source.split()[0] for each in bible)
    assert versions["new"] / len(bible) == pytest.approx(0.65, abs=0.01)
    lengths = Counter(each.source.count("verse") for each in bible)
    assert lengths[1] / len(bible) == pytest.approx(0.5, abs=0.06)
    assert max(lengths) == 5
    for each in bible:
        numbers = [int(word) for word in each.source.split() if word.isdigit()]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_little_is_repeated_so_often_and_no_more() -> None:
    few = Ingredients(sermon=sermon(10), glossary={"grace": "gracia"})
    made = make_mix(few, PLAIN)
    counts = Counter(each.source for each in made.examples)
    assert max(counts[each.source] for each in sermon(10)) == 6
    assert counts["grace"] == 20
    assert made.lacking == {"sermon": 440, "glossary": 80, "bible": 1400, "general": 300}


def test_sermon_and_glossary_weigh_twice() -> None:
    weights = {each.part: each.weight for each in make_mix(GIVEN, PLAIN).examples}
    assert weights == {"bible": 1.0, "sermon": 2.0, "glossary": 2.0, "general": 1.0}


def test_what_is_held_out_never_gets_in() -> None:
    unseen = [each.source.upper() for each in sermon(300)] + ["New verse 7 of the book!"]
    given = Ingredients(bibles=GIVEN.bibles, sermon=GIVEN.sermon, general=GENERAL, held_out=unseen)
    sources = " | ".join(each.source for each in make_mix(given, PLAIN).examples)
    assert "sentence number 299 was" not in sources
    assert "sentence number 300 was" in sources
    assert "new verse 7 of" not in sources


@pytest.mark.slow
def test_treatments_have_their_shares() -> None:
    made = make_mix(GIVEN, MixSettings(pairs=4000, general=0, prefixes=0.1, terms=0.15, heard=0.3))
    sermons = [each for each in made.examples if each.part == "sermon"]
    heard = sum("almon" in each.source for each in sermons)
    assert heard / len(sermons) == pytest.approx(0.3, abs=0.06)
    as_heard = sum(made.treated[name] for name in ("as the dictionary knows", "noise"))
    assert as_heard / len(made.examples) == pytest.approx(0.3, abs=0.03)
    terms = sum("[Ezequiel]" in each.source for each in sermons)
    assert terms / len(sermons) == pytest.approx(0.135, abs=0.05)
    cut = sum(not each.source.endswith("here.") for each in sermons)
    assert cut / len(sermons) == pytest.approx(0.1, abs=0.05)


def test_other_preachers_fill_what_ones_own_sermons_lack_and_terms_stand_in_frames() -> None:
    talk = [replace(each, source=f"Talk {n} goes on here.") for n, each in enumerate(sermon(600))]
    given = Ingredients(
        sermon=sermon(10),
        talk=talk,
        glossary={"grace": "gracia"},
        frames=[("{term}", "{term}"), ('We say "{term}".', "Decimos «{term}».")],
    )
    made = make_mix(given, PLAIN)
    assert made.parts["sermon"] == 500
    assert sum(each.source.startswith("Sermon") for each in made.examples) == 60
    assert ('We say "grace".', "Decimos «gracia».") in {
        (each.source, each.target) for each in made.examples
    }


def test_joined_sentences_followed_each_other() -> None:
    made = make_mix(
        GIVEN, MixSettings(pairs=1000, general=0, several=1, prefixes=0, terms=0, heard=0)
    )
    several = [each.source for each in made.examples if each.source.count("number") > 1]
    assert several
    for source in several:
        numbers = [int(word) for word in source.split() if word.isdigit()]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert len(numbers) <= 4


@pytest.mark.slow
def test_the_same_seed_gives_the_same_mix() -> None:
    assert make_mix(GIVEN, MixSettings(pairs=500)) == make_mix(GIVEN, MixSettings(pairs=500))
    assert make_mix(GIVEN, MixSettings(pairs=500)) != make_mix(
        GIVEN, MixSettings(pairs=500, seed=2)
    )

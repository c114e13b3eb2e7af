"""Putting church words into translations, with the real quick translator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.church.fidelity.term_slots import names, words_in
from pipeline.core.standing import Standing
from pipeline.core.terms import WantedTerm
from pipeline.dictionary.glossary import Glossary, shown_all
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.protocols import TranslationRequest
from pipeline.engines.term_repair import repair, word_weights
from tests.support.paths import ROOT

GIFT = "Fear of the Lord is a costly gift, and we did nothing for it."


def test_a_missing_word_is_put_in_where_it_belongs(marian: Marian, glossary: Glossary) -> None:
    plain = marian.translate(GIFT)
    made = marian.translate(GIFT, TranslationRequest(wanted=glossary.find(GIFT)))
    (repaired,) = made.repairs
    assert (repaired.term, repaired.written) == ("fear of the lord", "temor del Señor")
    assert made.text == plain.text.replace(repaired.found, repaired.written)


def test_it_is_put_into_the_sentence_that_it_was_said_in(
    marian: Marian, glossary: Glossary
) -> None:
    said = f"God is good. {GIFT}"
    made = marian.translate(
        said, TranslationRequest(standing=Standing(), wanted=glossary.find(said))
    )
    assert made.text.startswith("Dios es bueno. El temor del Señor es")
    assert [each.term for each in made.repairs] == ["fear of the lord"]


def test_what_is_right_already_costs_nothing_and_changes_nothing(
    marian: Marian, glossary: Glossary
) -> None:
    said = "The grace of our Lord be with you."
    wanted = glossary.find(said)
    assert wanted
    assert marian.translate(said, TranslationRequest(wanted=wanted)) == marian.translate(said)


WORDS = ("el", "acuerdo", "eterno", "fue", "hecho", "con", "12", "reyes", "no", "hoy")


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), st.data())
def test_no_repair_loses_a_word_outside_its_slot(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    draw = st.floats(0, 1)
    terms = [
        WantedTerm("covenant", 0, 1, ("pacto",), "es", "pactos?"),
        WantedTerm("grace", 2, 3, ("gracia",), "es", "gracias?"),
    ]

    def weigh(_: WantedTerm) -> list[float]:
        return [data.draw(draw) for _ in words_in(text)]

    def score(texts: Sequence[str]) -> list[float]:
        return [-data.draw(draw) for _ in texts]

    done = repair(text, -0.1, terms, said="", weigh=weigh, score=score)
    left = Counter(done.text.split())
    for each in done.repairs:
        left.subtract(each.written.split())
        left.update(each.found.split())
    assert +left == Counter(words)


SENTENCES = (ROOT / "scripts/bench/church/terms_en.txt").read_text("utf-8").splitlines()
NAMES = {"Paul": "Pablo", "John": "Juan", "Peter": "Pedro", "Moses": "Moisés"}


@pytest.mark.slow
@given(st.sampled_from(SENTENCES), st.sampled_from(sorted(NAMES)), st.data())
def test_no_repair_takes_the_place_of_another_term_or_of_a_name(
    glossary: Glossary, sentence: str, name: str, data: st.DataObject
) -> None:
    """Any benchmark term, at any place that a translator may choose, in any text."""
    said = f"{sentence} And {name} knew it."
    wanted = glossary.find(said)
    present = data.draw(st.lists(st.sampled_from(wanted), unique=True)) if wanted else []
    words = [term.forms[0] for term in present if term.forms] * 2  # some occur twice
    words += data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
    text = " ".join(["Hoy", *data.draw(st.permutations([*words, NAMES[name]]))])

    def weigh(_: WantedTerm) -> list[float]:
        return [data.draw(st.floats(0, 1)) for _ in words_in(text)]

    def agree(texts: Sequence[str]) -> list[float]:
        return [0.0] * len(texts)

    done = repair(text, 0.0, wanted, said=said, weigh=weigh, score=agree)
    assert NAMES[name] in done.text
    for term in wanted:
        assert len([*shown_all(done.text, term)]) >= len([*shown_all(text, term)])


def test_a_name_that_was_said_is_no_slot_and_a_word_that_only_looks_like_one_is() -> None:
    said = "Paul knew that John is the Holy Ghost's witness."
    text = "Pablo sabía que Juan es testigo del Fantasma Santo."
    own = [WantedTerm("holy spirit", 27, 39, ("Espíritu Santo",), "es", "espiritu santo")]
    assert [text[a:b] for a, b in names(text, said, own)] == ["Pablo", "Juan"]


@pytest.mark.parametrize(("objected", "shows"), [(-0.5, "el pacto"), (-3.0, "el acuerdo")])
def test_what_the_translator_resists_stays_out(objected: float, shows: str) -> None:
    wanted = [WantedTerm("covenant", 0, 1, ("pacto",), "es", "pactos?")]

    def score(texts: Sequence[str]) -> list[float]:
        return [objected] * len(texts)

    done = repair("el acuerdo", -0.2, wanted, said="", weigh=lambda _: [0, 1], score=score)
    assert done.text == shows
    assert bool(done.repairs) is (shows == "el pacto")


def test_a_term_that_is_only_looked_for_is_never_written() -> None:
    wanted = [WantedTerm("covenant", 0, 1, (), "es", "pactos?")]

    def never(_: object) -> list[float]:
        raise AssertionError

    assert repair("el acuerdo", 0.0, wanted, said="", weigh=never, score=never).text == "el acuerdo"


def test_a_word_weighs_what_its_heaviest_piece_weighs() -> None:
    assert word_weights([(0, 2), (3, 8)], [2, 5, 8, 9], [0.1, 0.2, 0.7, 0.9]) == [0.1, 0.7]

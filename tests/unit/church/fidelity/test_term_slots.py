"""Where a missing church word belongs, and how the text reads with it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.church.fidelity.term_slots import fillings, names, slot, taken, words_in
from pipeline.core.terms import WantedTerm


def term(*forms: str, pattern: str = "zz", lang: str = "es") -> WantedTerm:
    return WantedTerm("covenant", 0, 1, forms, lang, pattern)


def in_words(text: str, weights: list[float]) -> str:
    place = slot(text, weights, ())
    return text[slice(*place)] if place else ""


def test_the_heaviest_word_is_the_slot_and_its_like_neighbours() -> None:
    assert in_words("hizo un acuerdo eterno", [0, 0.1, 0.9, 0.2]) == "acuerdo"
    assert in_words("las buenas noticias hoy", [0.1, 0.6, 0.9, 0]) == "buenas noticias"


def test_articles_stay_outside_and_weak_signs_lead_nowhere() -> None:
    assert in_words("tres de mi casa", [0, 0.9, 0.9, 0.95]) == "casa"
    assert in_words("nadie sabe nada", [0.01, 0.02, 0.01]) == ""


def test_whose_it_is_stays_with_the_noun_behind_it() -> None:
    assert slot("Jesús nuestro Salvador", [0.9, 0.7, 0], [(14, 22)]) == (0, 5)
    assert slot("La sangre de nuestro hogar", [0, 0.9, 0.5, 0.5, 0.8], ()) == (3, 26)


def test_what_another_term_has_is_not_touched() -> None:
    text = "la gracia y el acuerdo"
    grace = term("gracia", pattern="gracia")
    assert taken(text, [grace]) == [(3, 9)]
    assert slot(text, [0, 0.9, 0, 0, 0.3], taken(text, [grace])) == (15, 22)


def test_the_article_may_change_its_gender() -> None:
    text = "Hizo una promesa con él."
    ways = [way.text for way in fillings(text, (9, 16), term("pacto"))]
    assert ways == ["Hizo una pacto con él.", "Hizo un pacto con él."]


def test_a_french_article_is_elided_and_written_out() -> None:
    text = "Il garde l'accord."
    ways = fillings(text, (9, 17), term("pacte", "alliance", lang="fr"))
    assert [(way.text, way.found) for way in ways] == [
        ("Il garde le pacte.", "l'accord"),
        ("Il garde la pacte.", "l'accord"),
        ("Il garde l'alliance.", "accord"),
    ]


def test_a_name_behind_an_elided_word_is_not_touched() -> None:
    text = "La promesse d'Abraham tient."
    assert names(text, "The promise of Abraham holds.", []) == [(14, 21)]
    assert fillings(text, (12, 21), term("alliance", lang="fr")) == []


def test_a_capital_stays_where_a_sentence_begins() -> None:
    (way,) = fillings("Acuerdos hay.", (0, 8), term("pactos"))
    assert way.text == "Pactos hay."


def test_a_name_gives_way_to_a_name_only() -> None:
    text = "Mi ayuda viene del Señor."
    assert fillings(text, (19, 24), term("cielo")) == []
    assert [way.text for way in fillings(text, (19, 24), term("Cristo"))] == [
        "Mi ayuda viene del Cristo.",
        "Mi ayuda viene de la Cristo.",
    ]


def test_a_word_with_a_capital_that_was_made_of_the_term_is_no_name() -> None:
    said, text = "The Levite went by.", "El Leví pasó junto al Señor."
    levite = WantedTerm("levite", 4, 10, ("levita",), "es", "levita")
    # "La levita" is a coat: the article stays as it was before "Leví".
    (way,) = fillings(text, (3, 7), levite, said=said)
    assert way.text == "El levita pasó junto al Señor."
    assert fillings(text, (22, 27), levite, said=said) == []
    # A term spoken without a capital did not become a word with one.
    assert fillings(text, (3, 7), levite, said=said.lower()) == []


def test_what_was_made_of_a_word_is_no_slip_of_it() -> None:
    assert fillings("El pastorcito vino.", (3, 13), term("pastor")) == []
    assert fillings("Un angelito.", (3, 11), term("ángel")) == []
    assert fillings("Fueron a Corinth.", (9, 16), term("Corinto")) != []
    assert fillings("El demón vino.", (3, 8), term("demonio")) != []


def test_no_word_stands_twice_neither_in_a_row_nor_within_another() -> None:
    assert fillings("el pacto acuerdo", (9, 16), term("pacto")) == []
    assert fillings("Jesús Cristo nuestro Señor", (0, 5), term("Jesucristo")) == []


def test_words_that_the_rendering_has_stand_once() -> None:
    armor = WantedTerm("armor of God", 0, 12, ("armadura de Dios",), "es", "armadura de dios")
    text = "Vístete del brazo de Dios hoy."
    ways = [way.text for way in fillings(text, (12, 17), armor, said="armor of God")]
    assert ways == ["Vístete del armadura de Dios hoy.", "Vístete de la armadura de Dios hoy."]
    bread = term("pan de vida")
    (way,) = fillings("Yo soy el pan de la vida.", (17, 24), bread)[:1]
    assert (way.text, way.found) == ("Yo soy el pan de vida.", "pan de la vida")


def test_a_word_of_another_term_is_not_drawn_into_the_slot() -> None:
    armor = WantedTerm("armor of God", 0, 12, ("armadura de Dios",), "es", "armadura de dios")
    (way,) = fillings("El brazo de Dios.", (3, 8), armor, [(12, 16)], "armor of God")[:1]
    assert way.slot == (3, 8)
    (way,) = fillings("El brazo, de Dios.", (3, 8), armor, said="armor of God")[:1]
    assert way.slot == (3, 8)


@settings(max_examples=50)
@given(
    st.text(max_size=60) | st.text("ledu'’ aL", max_size=40),
    st.sampled_from(["es", "fr"]),
    st.data(),
)
def test_no_letter_outside_the_slot_changes(text: str, lang: str, data: st.DataObject) -> None:
    places = words_in(text)
    weights = [data.draw(st.floats(0, 1)) for _ in places]
    place = slot(text, weights, ())
    pact = term("pacto de paz", "alianza", lang=lang)
    for way in fillings(text, place, pact) if place else ():
        start, end = way.slot
        assert text[start:end] == way.found
        assert way.text == text[:start] + way.written + text[end:]

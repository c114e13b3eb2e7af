"""Nouns unknown to the starter are put in the target language, with the right determiner."""

import re
import tomllib
from pathlib import Path

import pytest

from pipeline.core.resources import bundled
from pipeline.engines.borrowed_words import _read, borrowed, keeps_borrowed
from pipeline.engines.prompts import render

FILES = sorted(bundled("languages", "words").glob("*.toml"))


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ("We carried the coffin out.", "We carried el ataúd out."),
        ("The coffins were empty.", "Los ataúdes were empty."),
        ("A leper came to our retreat.", "Un leproso came to nuestro retiro."),
        ("His ankles and my napkin.", "Sus tobillos and mi servilleta."),
        ("Wolves came, and an old wolf.", "Lobos came, and an old lobo."),
        ("Lent begins; he lent me a pen.", "Cuaresma begins; he lent me a pen."),
        ("The kids saw Mr. Wolf and Wolf Creek.", "The kids saw Mr. Wolf and Wolf Creek."),
        ("They retreat, and I hail from Leeds.", "They retreat, and I hail from Leeds."),
        ("Olive brought plums. Loneliness hurts.", "Olive brought ciruelas. Soledad hurts."),
        (
            "Proverbs 3:5 is a proverb, and he goes to First Baptist.",
            "Proverbs 3:5 is un proverbio, and he goes to First Baptist.",
        ),
        ("A wheelchair-bound man.", "A wheelchair-bound man."),
        ("The eagles and two athletes.", "Las águilas and two atletas."),
        ("The cypresses and search warrants.", "Los cipreses and órdenes de registro."),
        ("The newborn baby and a cotton bag.",) * 2,
        ("The ruins of my Beatitudes.", "Las ruinas of mis Bienaventuranzas."),
        # Verbs, and nouns that only qualify another noun.
        ("God is blessing us, his blessing.", "God is blessing us, su bendición."),
        ("Jacob was wrestling; they mourn, sin ruins us.",) * 2,
        ("Those who hunger and thirst.",) * 2,
        ("We must plunder and you plunder.",) * 2,
        ("The prison chapel door, a wolf pack.",) * 2,
    ],
)
def test_a_noun_takes_number_and_gender(said: str, given: str) -> None:
    assert borrowed(said, "en", "es") == given


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ("We saw the owl and an owl.", "We saw le hibou and un hibou."),
        ("Our inheritance and her inheritances.", "Notre héritage and ses héritages."),
        ("The inheritance was short.", "L'héritage was short."),
        ("Our grandchildren and the rainbows.", "Nos petits-enfants and les arcs-en-ciel."),
        ("My inheritance was small.", "Mon héritage was small."),
    ],
)
def test_french_elides(said: str, given: str) -> None:
    assert borrowed(said, "en", "fr") == given


def test_other_pairs_and_other_prompts_get_the_text_as_it_is() -> None:
    said = "We carried the coffin out."
    assert borrowed(said, "en", "de") == said
    assert render("starter", said, "en", "es").text == "We carried el ataúd out."
    assert render("translategemma", said, "en", "es").text == said


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_can_be_read(file: Path) -> None:
    target = file.stem.partition("-")[2]
    lines = tomllib.loads(file.read_text("utf-8"))["nouns"]
    assert len(lines) > 400
    words = [word for said, text in lines.items() for word, _ in _read(said, text, target)]
    assert len(words) > 700
    assert [word for word in words if not re.fullmatch(r"[A-Za-z' -]+", word)] == []
    written = [noun.text for said, text in lines.items() for _, noun in _read(said, text, target)]
    assert [text for text in written if re.match(r"s |(?:el|la|los|las|le|les) ", text)] == []


def test_another_translation_must_have_the_nouns_that_were_copied() -> None:
    said, langs = "We carried the coffin out.", ("en", "es")
    assert keeps_borrowed(said, "Sacamos el ataúd.", "Llevamos el Ataúd afuera.", langs)
    assert not keeps_borrowed(said, "Sacamos el ataúd.", "Sacamos la caja.", langs)
    # A noun that the first translation lacks too is not required.
    assert keeps_borrowed(said, "Sacamos la caja.", "Sacamos el cofre.", langs)
    assert keeps_borrowed("We carried it out.", "Lo sacamos.", "La sacamos.", langs)

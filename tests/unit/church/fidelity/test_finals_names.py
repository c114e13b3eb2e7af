from pathlib import Path

import pytest

from pipeline.church.fidelity.finals import kept
from pipeline.dictionary.glossary import Glossary, compile_glossary, parse_terms
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def glossary() -> Glossary:
    file = Path(ROOT, "dictionary", "glossary", "en-es.toml")
    return compile_glossary(parse_terms(file.read_text("utf-8"), file.name), "es")


@pytest.mark.parametrize(
    ("said", "text", "wanted"),
    [
        ("Grace, would you read it?", "Gracia, ¿la leerías?", "Grace, ¿la leerías?"),
        ("Pray for Faith Miller.", "Oren por la fe Miller.", "Oren por Faith Miller."),
        ("Thank Sister Hope for it.", "Gracias a la esperanza.", "Gracias a Hope."),
        # Names that no translator of ours has met.
        ("We drove past Peterborough.", "Pasamos por Pedroboro.", "Pasamos por Peterborough."),
    ],
)
def test_a_name_is_put_back(said: str, text: str, wanted: str, glossary: Glossary) -> None:
    made, (check,) = kept(said, text, ("en", "es"), glossary)
    assert made == wanted
    assert (check.kind, check.outcome) == ("name", "repaired")


def test_a_name_of_the_service_is_put_back_and_another_is_marked(glossary: Glossary) -> None:
    said, text = "Please pray for Faith today.", "Oren hoy por la fe."
    assert kept(said, text, ("en", "es"), glossary, known={"faith"})[0] == "Oren hoy por Faith."
    same, (check,) = kept(said, text, ("en", "es"), glossary)
    assert same == text
    assert (check.said, check.outcome) == ("Faith", "doubtful")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Grace, mercy and peace to you.", "Gracia, misericordia y paz a ustedes."),
        ("Hope is what we need.", "La esperanza es lo que necesitamos."),
        ("We met Peter on Thursday.", "Nos reunimos con Pedro el jueves."),
        ("Nobody in Philippi slept.", "Nadie durmió en Filipos."),
        ("I love the Lord Jesus.", "Amo al Señor Jesús."),
        ("Beware of the Pharisees, says James.", "Cuídense de los fariseos, dice Santiago."),
        ("Ahithophel hanged himself.", "Ahitofel se ahorcó."),
        ("She was born in Azerbaijan.", "Ella nació en Azerbaiyán."),
        ("We met the Lindsays.", "Conocimos a los Lindsay."),
        ("A Moabite came to us on Palm Sunday.", "Una moabita vino el Domingo de Ramos."),
    ],
)
def test_common_words_and_translated_names_stay(said: str, text: str, glossary: Glossary) -> None:
    assert kept(said, text, ("en", "es"), glossary) == (text, [])


def test_a_name_that_is_said_as_a_word_too_is_left_alone(glossary: Glossary) -> None:
    said, text = "Grace, would you tell us of grace?", "Gracia, ¿nos hablas de la gracia?"
    assert kept(said, text, ("en", "es"), glossary)[0] == text


def test_a_language_without_words_for_names_is_left_alone() -> None:
    assert kept("Frau Grace kam.", "La gracia vino.", ("de", "es")) == ("La gracia vino.", [])


def test_a_name_of_this_service_is_known_with_its_accents() -> None:
    terms = parse_terms('[[term]]\nsay = "noël"\nwrite = "villancico"\n', "test")
    glossary = compile_glossary(terms, "es")
    said, written = "Today Noël read the psalm.", "Hoy el villancico leyó el salmo."
    assert (
        kept(said, written, ("en", "es"), glossary, known={"noël"})[0] == "Hoy Noël leyó el salmo."
    )

"""Final captions compared with what was said."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.church.fidelity.finals import checked, contracted, lost_negation
from pipeline.config.schema import Church
from pipeline.core.terms import TermRepair
from pipeline.core.types import Caption, Translation
from pipeline.dictionary.glossary import compile_glossary, parse_terms
from scripts.support.records import caption
from tests.support.paths import ROOT

ON = Church()
OFF = Church(references=False, numbers=False, negation=False, glossary=False)


def final(said: str, text: str) -> Caption:
    return caption(1, said, text, final=True)


REFERENCES = {
    "en es written": [
        ("Romans eight twenty-eight is it.", "Romanos ocho veintiocho es.", "Romanos 8:28 es."),
        ("Open John 316.", "Abran John 316.", "Abran Juan 3:16."),
        (
            "Psalms 120 through 134 are songs.",
            *("Los Salmos 120 al 134 son cantos.", "Los Salmos 120-134 son cantos."),
        ),
        (
            "It is Isaiah fifty-two thirteen through fifty-three twelve.",
            "Es Isaías 52:13 hasta 53:12.",
            "Es Isaías 52:13-53:12.",
        ),
    ],
    "en es repaired": [
        (
            "Turn to First Corinthians thirteen four through eight.",
            "Vayan a Primera de Corintios trece en ocho.",
            "Vayan a 1 Corintios 13:4-8 en ocho.",
        ),
        ("Isaiah fifty-three five.", "Isaías, cincuenta y tres tres, hoy.", "Isaías 53:5, hoy."),
        ("Look at Hebrews 4:12.", "Miren a Santiago 4:12.", "Miren a Hebreos 4:12."),
        ("Ruth 1:16 says it.", "Rut 1:166 lo dice.", "Rut 1:16 lo dice."),
        ("Read 1 John 1:5-2:2.", "Lean 1 Juan 1:5.", "Lean 1 Juan 1:5-2:2."),
        ("Acts 1:8 says it.", "Los 1:8 lo dice.", "Los Hechos 1:8 lo dice."),
        ("Judges chapter six.", "Jueces, capítulo.", "Jueces 6, capítulo."),
        ("Read Romans 9 through 11.", "Lean Romanos 911.", "Lean Romanos 9-11."),
        ("Zephaniah 3:17.", "Zephanías 3:17.", "Sofonías 3:17."),
    ],
    "en es doubtful": [
        ("Philemon verse six.", "Filipenses 6.", "Filipenses 6."),
        ("Look at Hebrews 4:12.", "Miren esto.", "Miren esto."),
        (
            "Read Romans 9 through 11.",
            "Lean capítulos 9, 10 y 11 de Romanos.",
            "Lean capítulos 9, 10 y 11 de Romanos.",
        ),
        ("Acts 1:8 says it.", "El tiempo 1:8.", "El tiempo 1:8."),
    ],
    "en fr written": [("From Isaiah 53:5.", "D'Isaiah 53, 5.", "D'Ésaïe 53:5.")],
    "en fr repaired": [
        ("See Revelation 3:20.", "Lisez l'Apocalypse 3.", "Lisez l'Apocalypse 3:20.")
    ],
    "fr en repaired": [
        (
            "Le psaume quatre-vingt-dix verset douze le dit.",
            "Psalm 90 verse 2 says it.",
            "Psalm 90:12 says it.",
        )
    ],
    "fr es written": [("Romains 8:28 le dit.", "Romanos 8.28 lo dice.", "Romanos 8:28 lo dice.")],
}


@pytest.mark.parametrize(
    ("case", "said", "translated", "shown"),
    [(case, *texts) for case, table in REFERENCES.items() for texts in table],
)
def test_references_are_shown_as_they_are_printed(
    case: str, said: str, translated: str, shown: str
) -> None:
    source, target, outcome = case.split()
    made = final(said, translated)
    made = replace(made, transcript=replace(made.transcript, lang=source), lang=target)
    result = checked(made, ON)
    assert result.text == shown
    assert [check.outcome for check in result.checks if check.kind == "reference"] == [outcome]
    assert result.stable == len(shown)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("In Philippians 4, 6 and 7, is peace.", "En Filipenses 4:6-7 hay paz."),
        ("Go to Mark, second chapter, first verse.", "Vayan a Marcos 2:1."),
        ("Today the eighth chapter of Romans.", "Hoy el capítulo ocho de Romanos."),
        ("In Daniel five, a hand.", "En Daniel 5 una mano."),
        ("Read Matthew 5 through 7.", "Lean los capítulos 5 al 7 de Mateo."),
        ("Read Matthew 5 through 7.", "Lean los capítulos del 5 al 7 de Mateo."),
        ("Romans chapter eight, beginning at verse 28.", "Romanos 8, a partir del versículo 28."),
    ],
)
def test_a_reference_that_the_texts_say_in_different_ways_is_right(said: str, text: str) -> None:
    result = checked(final(said, text), ON)
    assert (result.text, [check.outcome for check in result.checks]) == (text, ["right"])


def test_two_references_of_one_book_are_not_mixed_up() -> None:
    said = "Compare Romans 8:1 with Romans 5:1."
    result = checked(final(said, "Compare Romanos 8:1 con Romanos 5:3."), ON)
    assert result.text == "Compare Romanos 8:1 con Romanos 5:3."
    assert [check.outcome for check in result.checks] == ["right", "doubtful"]


def test_the_places_of_a_list_are_all_compared_and_stay_in_its_form() -> None:
    text = "Los Salmos 1 y 2, y Romanos 7:15-25 y 8:1-4."
    result = checked(final("Psalms 1 and 2, and Romans 7:15 to 25 and 8:1 to 4.", text), ON)
    assert (result.text, [check.outcome for check in result.checks]) == (text, ["right"] * 4)


def test_a_wrong_number_is_put_right_where_only_one_can_be_meant() -> None:
    result = checked(final("Twelve men came.", "Vinieron trece hombres."), ON)
    assert result.text == "Vinieron doce hombres."
    (check,) = result.checks
    assert (check.kind, check.outcome) == ("number", "repaired")
    assert (check.said, check.found, check.written) == ("Twelve", "trece", "doce")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("He lost thirty grand.", "Perdió 30,000 dólares."),
        ("About a hundred grand.", "Unos cien mil dólares."),
        ("For three decades she wrote.", "Durante treinta años escribió."),
        ("It is a hundred miles.", "Son 160 kilómetros."),
    ],
)
def test_a_number_that_differs_by_zeros_or_a_unit_is_marked_and_left(said: str, text: str) -> None:
    result = checked(final(said, text), ON)
    assert result.text == text
    assert {check.outcome for check in result.checks} == {"doubtful"}


def test_more_than_one_wrong_number_is_left_and_marked() -> None:
    text = "Vinieron trece hombres y cinco mujeres."
    result = checked(final("Twelve men and six women came.", text), ON)
    assert result.text == text
    assert {check.outcome for check in result.checks} == {"doubtful"}
    assert len(result.checks) == 4


CONTRACTED = {
    "fr": {
        "Je étais avec le argent que elle a.": "J'étais avec l'argent qu'elle a.",
        "Il ne va à la Église, la histoire.": "Il ne va à l'Église, l'histoire.",
        "Je y vais si il vient, ce est sûr.": "J'y vais s'il vient, c'est sûr.",
        "2000 millions, 1 000 millions, 12.000 millions et neuf heures et demi.": (
            "2 milliards, un milliard, 12 milliards et neuf heures et demie."
        ),
        "200 millions, une heure et demie.": None,
        "De A à Z, sur une échelle de un à dix.": None,
        "La honte, le onze, le huitième, la une, que oui, la haine.": None,
        "Parle-le à elle, donne-la ici, ma âme, mais qui aime le pain.": None,
    },
    "es": {
        "El 21 de el mes va a el culto.": "El 21 del mes va al culto.",
        "Isaías y Isabel y Hilda, siete o ocho o hombres.": (
            "Isaías e Isabel e Hilda, siete u ocho u hombres."
        ),
        "Nueve horas y medio, y medio día.": "Nueve horas y media, y medio día.",
        "Es de él; de El Salvador a El Paso; agua y hielo. Y iba.": None,
    },
}


@pytest.mark.parametrize(
    ("lang", "text", "written"),
    [(lang, *each) for lang, texts in CONTRACTED.items() for each in texts.items()],
)
def test_contractions_are_written(lang: str, text: str, written: str | None) -> None:
    assert contracted(text, lang) == (written or text)


@pytest.mark.parametrize(
    ("said", "text", "lang"),
    [
        ("He did not die.", "Él murió.", "es"),
        ("He did not eat bread.", "Il n'a mangé que du pain.", "fr"),
    ],
)
def test_a_lost_negation_is_marked(said: str, text: str, lang: str) -> None:
    result = checked(replace(final(said, text), lang=lang), ON)
    assert [(c.kind, c.outcome, c.said) for c in result.checks] == [("negation", "doubtful", "not")]
    assert result.text == text


def test_what_is_right_or_in_the_spoken_language_stays_the_same_object() -> None:
    right = final("He is good.", "Él es bueno.")
    assert checked(right, ON) is right
    source = replace(final("Romans 8 28 x", "Romans 8 28 x"), lang="en")
    assert checked(source, ON) is source


@settings(deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_switched_off_nothing_changes(said: str, text: str) -> None:
    whole = final(said, text)
    assert checked(whole, OFF) is whole


VOCABULARY = ["la", "casa,", "Romanos", "8:28", "ocho", "veintiocho", "Juan", "tres", "no", "12"]
WORDS = st.lists(st.sampled_from([*VOCABULARY, "de"]))


@settings(deadline=None)
@given(WORDS, WORDS)
def test_no_word_outside_of_a_repaired_slot_is_lost(said: list[str], words: list[str]) -> None:
    loses_no_word(final(ROMANS + " ".join(said), " ".join(words)), words)


ROMANS = "Romans 8:28 and John 3 and 12 "


def loses_no_word(made: Caption, words: list[str]) -> None:
    """Assert that a final keeps all its words except the repaired ones."""
    result = checked(made, ON)
    changed = [check for check in result.checks if check.outcome in ("written", "repaired")]
    kept = SequenceMatcher(None, words, result.text.split(), autojunk=False).get_matching_blocks()
    lost = len(words) - sum(block.size for block in kept)
    assert lost <= sum(len(check.found.split()) for check in changed)


COVENANT = """
[[term]]
say = "covenant"
write = "pacto"
also = "alianza"
"""


@pytest.mark.parametrize(
    ("text", "repairs", "expected"),
    [
        ("El pacto es nuevo.", (), ("right", "pacto", "pacto")),
        ("La Alianza es nueva.", (), ("right", "Alianza", "Alianza")),
        (
            "El pacto es nuevo.",
            (TermRepair("covenant", "acuerdo", "pacto"),),
            ("repaired", "acuerdo", "pacto"),
        ),
        ("El acuerdo es nuevo.", (), ("doubtful", "", "pacto")),
    ],
)
def test_what_became_of_a_church_word_is_told(
    text: str, repairs: tuple[TermRepair, ...], expected: tuple[str, str, str]
) -> None:
    glossary = compile_glossary(parse_terms(COVENANT, "own"), "es")
    made = final("The covenant is new.", text)
    made = replace(made, translation=Translation(text, "marian", repairs=repairs))
    result = checked(made, ON, glossary)
    assert result.text == text
    (check,) = result.checks
    assert (check.kind, check.term, check.said) == ("term", "covenant", "covenant")
    assert (check.outcome, check.found, check.written) == expected
    assert checked(made, OFF, glossary) == made


def french(said: str, text: str) -> Caption:
    return replace(final(said, text), lang="fr")


@pytest.mark.parametrize(
    ("said", "text", "shown"),
    [
        ("Twelve men came.", "Treize hommes sont venus.", "Douze hommes sont venus."),
        ("The roof costs $40,000.", "Le toit coûte 4 000 dollars.", None),
        ("In nineteen eighty-four.", "En 1948.", "En 1984."),
        ("He is ninety-five.", "Il a quatre-vingt-cinq ans.", "Il a 95 ans."),
        ("We need 40,000 chairs.", "Il faut 14 000 chaises.", "Il faut 40\u00a0000 chaises."),
    ],
)
def test_a_wrong_number_is_put_right_in_french(said: str, text: str, shown: str | None) -> None:
    result = checked(french(said, text), ON)
    assert result.text == (shown or text)
    assert {check.outcome for check in result.checks} == {"repaired" if shown else "doubtful"}


FRENCH_WORDS = ["la", "maison,", "Romains", "8:28", "huit", "quatre-vingt-dix", "cents", "mille"]
FRENCH_WORDS += ["15 h 30", "40 000", "pas", "12", "de", "à", "heures", "et", "demie", "XXe siècle"]
FRENCH = st.lists(st.sampled_from(FRENCH_WORDS))


@settings(deadline=None)
@given(FRENCH, FRENCH)
def test_no_word_outside_of_a_repaired_slot_is_lost_in_french(
    said: list[str], words: list[str]
) -> None:
    result = french(ROMANS + " ".join(said), " ".join(words))
    loses_no_word(result, contracted(" ".join(words), "fr").split())


def test_the_words_of_a_reference_are_no_church_words_that_are_missing() -> None:
    verse = '[[term]]\nsay = "verse"\nwrite = "versículo"\n'
    glossary = compile_glossary(parse_terms(verse, "own"), "es")
    result = final("Turn to John chapter 3, verse 16.", "Vayan a Juan 3:16.")
    assert [check.outcome for check in checked(result, ON, glossary).checks] == ["right"]
    other = final("I love this verse.", "Me encanta este pasaje.")
    assert [check.outcome for check in checked(other, ON, glossary).checks] == ["doubtful"]


def test_numbers_are_compared_with_the_digits_that_the_translator_got() -> None:
    for said, target in (
        ("About half a million people fled.", "Unas 500.000 personas huyeron."),
        ("Back in the eighteen nineties.", "Allá por los años 1890."),
    ):
        assert checked(final(said, target), ON).checks == ()


def test_a_name_that_is_put_back_is_no_church_word_that_is_missing() -> None:
    entries = Path(ROOT, "dictionary", "glossary", "en-es.toml").read_text("utf-8")
    glossary = compile_glossary(parse_terms(entries, "en-es.toml"), "es")
    made = final("Grace, would you read it?", "Gracia, ¿la leerías?")
    result = checked(made, ON, glossary)
    assert result.text == "Grace, ¿la leerías?"
    assert [(each.kind, each.outcome) for each in result.checks] == [("name", "repaired")]


LOST = {
    "en es": [
        ("He did not die in vain.", "Él murió en vano."),
        ("You shall never thirst.", "Tendrás sed."),
        ("Nothing can separate us.", "Todo puede separarnos."),
    ],
    "en fr": [
        ("They have no more wine.", "Ils ont plus de vin."),
        ("He did not take a step.", "Il a fait un pas."),
        ("I am not greater than you.", "Je suis plus grand que vous."),
        ("God does not forget you.", "Dieu pense à vous à jamais."),
        ("Nobody saw the person.", "Il a vu la personne."),
        ("They have no bread left.", "Ils ont encore du pain."),
    ],
    "fr en": [
        ("Personne ne vous condamne.", "Someone condemns you."),
        ("Il n'est pas mort.", "He died."),
        ("J'ai jamais dit ça.", "I said that."),
        ("On sait rien de lui.", "We know him."),
        ("Il n'y a plus de vin.", "There is wine."),
        ("Personne ne croit que Dieu dort.", "They think that God sleeps."),
        ("Il n'est pas encore venu.", "He has come."),
        ("Je ne vois que la personne qui n'écoute pas.", "I see the person who listens."),
    ],
    "es fr": [
        ("No murió.", "Il est mort."),
    ],
    "fr es": [
        ("Il n'est pas mort.", "Murió."),
    ],
}
NOT_LOST = {
    "en es": [
        ("He did not die in vain.", "Él no murió en vano."),
        ("It is not possible.", "Es imposible."),
        ("He is not only good but holy.", "Él es bueno y también santo."),
        ("It's good, isn't it?", "Es bueno, ¿verdad?"),
        ("Why don't we pray?", "¿Oremos?"),
        ("No doubt he is risen.", "Sin duda ha resucitado."),
        ("There was nobody.", "La casa estaba vacía."),
        ("He gave it for nothing.", "Lo regaló."),
        ("She couldn't pay.", "Para ella fue gratis."),
        ("He is good.", "No es malo."),
    ],
    "en fr": [
        ("It is not possible.", "C'est impossible."),
        ("It isn't far.", "C'est à moins d'un kilomètre."),
        ("I do not want you to be alone.", "Je refuse que tu restes ainsi."),
        ("He did not die in vain.", "Il n’est pas mort en vain."),
        ("I don't know.", "Je sais pas."),
        ("Nobody came.", "Personne."),
        ("They have no more wine.", "Ils n'ont plus de vin."),
        ("I have nothing but my voice.", "Je n'ai que ma voix."),
        ("No one can come except through me.", "On ne vient que par moi."),
        ("Don't forget your Bible.", "Pensez à votre Bible."),
        ("There was nobody.", "La maison était vide."),
        ("You will not pay.", "C'est gratuit."),
        ("Do not leave me.", "Reste sans me quitter."),
        ("He is good.", "Il n'est pas mauvais."),
        ("She has never lied.", "Elle a jamais menti."),
        ("Neither of them came.", "Aucun des deux n'est venu."),
        ("There is no hope left.", "C'est fini. Plus d'espoir."),
        ("You cannot outgive God.", "On ne peut pas donner plus que Dieu."),
    ],
    "fr en": [
        ("Avant qu'il ne vienne, priez.", "Pray, since he comes."),
        ("Il n'a que deux fils.", "He has two sons."),
        ("Il ne reste plus que deux jours.", "Two days are left."),
        ("C'est bien, n'est-ce pas ?", "It is good."),
        ("Pas à pas, il avance.", "Step by step he goes on."),
        ("Il a fait un pas vers moi.", "He took a step towards me."),
        ("À lui la gloire, à jamais.", "His is the glory for ever."),
        ("Il est non seulement bon, mais saint.", "He is good, and holy too."),
        ("De rien, mon frère.", "You are welcome, brother."),
        ("N'oubliez pas vos enfants.", "Remember your children."),
        ("Que tu le veuilles ou non.", "Whether you like it."),
        ("Pourquoi ne pas prier ?", "Let us pray."),
        ("Il n'est pas venu.", "He stayed away, he did not come."),
        ("N'importe qui peut venir.", "Anybody can come."),
        ("Elles comptent plus que vous ne le saurez jamais.", "They matter more than you know."),
    ],
    "fr es": [
        ("Il n'est pas mort.", "No murió."),
    ],
    "en de": [
        ("He did not die.", "Er starb."),
    ],
}


@pytest.mark.parametrize("langs", LOST)
def test_a_negation_that_a_translation_lost_is_found(langs: str) -> None:
    said, written = langs.split()
    for text, translation in LOST[langs]:
        assert lost_negation(text, translation, (said, written)), text


@pytest.mark.parametrize("langs", NOT_LOST)
def test_what_is_only_said_otherwise_is_no_lost_negation(langs: str) -> None:
    said, written = langs.split()
    for text, translation in NOT_LOST[langs]:
        assert lost_negation(text, translation, (said, written)) == "", text

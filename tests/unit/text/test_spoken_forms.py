"""Abbreviations and numbers are written as they are spoken; all other text stays."""

from __future__ import annotations

import pytest

from pipeline.engines.speech.espeak import phonemes
from pipeline.text.spoken import sayable
from tests.support.needs import needs_program

FORMS = {
    "es": [
        ("Lean 1 Corintios 13:4-7.", "Lean primera de Corintios 13, 4, 7."),
        ("2 Timoteo 3:16", "segunda de Timoteo 3, 16"),
        ("III Juan 4", "tercera de Juan 4"),
        ("1 Reyes 19", "primero de Reyes 19"),
        ("En Apocalipsis 1 Juan ve", "En Apocalipsis 1 Juan ve"),
        ("Sal. 23 (v. 4, cap. 3)", "Salmo 23 (versículo 4, capítulo 3)"),
        ("v.4", "versículo 4"),
        ("Cap. 3", "capítulo 3"),
        ("V. Hugo", "V. Hugo"),
        ("3 500 personas", "3500 personas"),
        ("10\u202f000 y 1 000 000", "10000 y 1000000"),
        ("Salmo 119 105", "Salmo 119 105"),
        ("600 123 456 789", "600 123 456 789"),
        ("en 2020 500 personas", "en 2020 500 personas"),
        ("3.500 y 2,5 millones", "3.500 y 2,5 millones"),
        ("a las 9:30 h", "a las 9, 30 horas"),
        ("a las 9 h.", "a las 9 horas."),
        ("el 1.er día y la 2.ª vez", "el primer día y la 2ª vez"),
        ("n.º 5, nº 6, N.° 7", "número 5, número 6, número 7"),
        ("siglo XVI, siglo V", "siglo 16, siglo 5"),
        ("Dr. Martín y la Sra. Ana", "doctor Martín y la señora Ana"),
        ("30 a. C. y 70 d.C.", "30 antes de Cristo y 70 después de Cristo."),
        ("panes, peces, etc.", "panes, peces, etcétera."),
        ("Vino el hno. Juan a 5 km", "Vino el hno. Juan a 5 kilómetros"),
        # A word that begins like a Roman numeral.
        ("En el capítulo Isaías", "En el capítulo Isaías"),
    ],
    "fr": [
        ("1 Corinthiens 13:4-7", "1 Corinthiens 13, 4, 7"),
        ("II Corinthiens et I Corinthiens", "2 Corinthiens et 1 Corinthiens"),
        ("Ps. 23, v. 4, ch. 3, p. 12", "Psaume 23, verset 4, chapitre 3, page 12"),
        ("3\u202f500 et 2,5 millions", "3 500 et 2,5 millions"),
        ("à 9 h 30, 9h05 et 21 h.", "à 9 heures 30, 9 heures 05 et 21 heures."),
        ("1 h 15, 1h", "une heure 15, une heure"),
        ("1er, 1re, 2e, 21e", "1er, première, 2ème, 21ème"),
        ("la 2nde et le 2nd", "la seconde et le second"),
        ("XVIe siècle, XIXᵉ, Ier", "16ème siècle, 19ème, premier"),
        ("Louis XIV et Jean-Paul II", "Louis 14 et Jean-Paul 2"),
        ("Vers lui, Malcolm X, DVD", "Vers lui, Malcolm X, DVD"),
        ("n° 5", "numéro 5"),
        ("M. Martin, MM. Dupont, Dr. Luc", "monsieur Martin, messieurs Dupont, docteur Luc"),
        ("en 70 apr. J.-C.", "en 70 après Jésus-Christ."),
        ("p. ex. Paul, c.-à-d. Saul", "par exemple Paul, c'est-à-dire Saul"),
        ("VIVE LE SEIGNEUR", "VIVE LE SEIGNEUR"),
        ("Le chapitre Vingt", "Le chapitre Vingt"),
    ],
}


@pytest.mark.parametrize(
    ("lang", "written", "said"), [(lang, *form) for lang, forms in FORMS.items() for form in forms]
)
def test_forms_are_written_out_and_other_text_stays(lang: str, written: str, said: str) -> None:
    assert sayable(written, lang) == said


@pytest.mark.parametrize(
    ("lang", "written", "words"),
    [
        ("es", "1 Corintios", "primera de Corintios"),
        ("es", "3 500", "tres mil quinientos"),
        ("es", "2.º", "segundo"),
        ("es", "9 h", "nueve horas"),
        ("fr", "XVIe siècle", "seizième siècle"),
        ("fr", "4 h 30", "quatre heures trente"),
        ("fr", "1re", "première"),
        ("fr", "Jean XXIII", "Jean vingt-trois"),
        ("fr", "2,5", "deux virgule cinq"),
        ("fr", "en 2020 500 personnes", "en 2020, cinq cents personnes"),
        ("fr", "Psaume 119 105", "Psaume 119, cent cinq"),
        ("fr", "12 000 000", "12 millions"),
    ],
)
def test_espeak_reads_them_as_the_words(lang: str, written: str, words: str) -> None:
    needs_program("espeak-ng")

    def sounds(text: str) -> str:
        read = phonemes(sayable(text, lang), lang, 10.0)
        return "".join(sign for sign in read if sign not in "ˈˌ ^-")

    assert sounds(written) == sounds(words)

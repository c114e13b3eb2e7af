"""When a meaning counts as conveyed, and the file of sentences with their meanings."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import UsageError
from pipeline.evaluation.meaning import is_met, read, words

ENTRY = """
[[sentence]]
id = "number-01"
kind = "number"
en = "Two hens."
es = { must = ["dos|2", "gallin*"], never = ["doce"], ref = "Dos gallinas." }
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("L’Évangile, s'il vous plaît", ["l", "evangile", "s", "il", "vous", "plait"]),
        ("Porte-clés", ["porte", "cles"]),
        ("Cœur et Æon", ["coeur", "et", "aeon"]),
        ("¡Mañana, niño, qué vergüenza!", ["mañana", "niño", "que", "verguenza"]),
        ("42 300 $, 42\N{NARROW NO-BREAK SPACE}300, 42\N{NO-BREAK SPACE}300", ["42", "300"] * 3),
        ("42.300, 42,300, 12 %.", ["42.300", "42,300", "12"]),
        ("Efesios 2:8-10.", ["efesios", "2:8", "10"]),
        ("Éphésiens 2.8–10", ["ephesiens", "2.8", "10"]),
        ("à 8 h 45", ["a", "8", "h", "45"]),
        ("nin\N{COMBINING TILDE}o", ["niño"]),
    ],
)  # fmt: skip
def test_what_parts_words(text: str, said: list[str]) -> None:
    assert words(text) == said


@pytest.mark.parametrize(
    ("condition", "text", "expected"),
    [
        ("no", "No lo digo.", True),
        ("no", "Noé lo dice.", False),
        ("gallin*", "Dos gallinas", True),
        ("gallin*", "¡Gallin!", True),
        ("gallin", "Dos gallinas", False),
        ("ano", "el año", False),
        ("dos|2", "Tengo 2.", True),
        ("primera vez", "por primera vez", True),
        ("primera vez", "la primera y otra vez", False),
        ("primera vez", "una vez, la primera", False),
        ("deb* mucho", "debemos mucho", True),
        ("efesios 2:8 10|efesios 2:8-10", "Efesios 2:8-10", True),
        ("2:8", "Efesios 2:8-10", True),
        ("8", "Efesios 2:8", False),
        ("42.300|42 300", "42\N{THIN SPACE}300 dollars", True),
        ("demi-million", "un demi million", True),
        ("coeur", "le cœur", True),
        ("", "nada", False),
    ],
)
def test_what_counts_as_said(condition: str, text: str, expected: bool) -> None:
    assert is_met(condition, words(text)) is expected


def test_the_sentences_that_ship_are_whole_and_no_two_are_alike() -> None:
    sentences = read()
    assert len(sentences) == len({each.said.casefold() for each in sentences}) == 330
    assert {tuple(each.meanings) for each in sentences} == {("es", "fr")}
    least = {each.id: 3 if each.before else 5 for each in sentences}
    assert [s.id for s in sentences if not least[s.id] <= len(s.said.split()) <= 25] == []
    odd = [
        each.id for each in sentences if each.is_spoken and set(each.said) & set("0123456789$%/")
    ]
    assert odd == [], "nobody could say these"
    assert sum(each.is_spoken for each in sentences) > 100


def test_a_file_of_sentences_is_read(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(ENTRY, "utf-8")
    (sentence,) = read(file)
    assert (sentence.id, sentence.kind, sentence.is_spoken) == ("number-01", "number", False)
    meaning = sentence.meanings["es"]
    assert meaning.mistakes("2 gallinas") == ()
    assert meaning.mistakes("Doce perros") == ("lacks dos|2", "lacks gallin*", "says doce")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[[sentence]]", "[[sentences]]", "has no [[sentence]]"),
        ('kind = "number"', "", "number-01 lacks kind"),
        ('id = "number-01"', "", "number 1 lacks id"),
        ('kind = "number"', 'kind = "number"\nspoken = 1', "spoken is true or false"),
        ('en = "Two hens."', 'en = " "', "lacks en"),
        ('"gallin*"', '"gallin*|"', "must has a condition without a word"),
        ('["doce"]', "[12]", "never has a condition without a word"),
        ("never", "newer", "must, never and ref are asked for"),
        ('ref = "Dos gallinas."', 'ref = ""', "lacks ref"),
        ('ref = "Dos gallinas."', 'ref = "Doce gallinas."', "its own ref lacks dos|2; says doce"),
        ('must = ["dos|2", "gallin*"], never = ["doce"]', "must = [], never = []", "for nothing"),
        ("[[sentence]]", f"{ENTRY}\n[[sentence]]", "two sentences have the id 'number-01'"),
        ("ref =", "ref", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    file = tmp_path / "own.toml"
    file.write_text(ENTRY.replace(old, new), "utf-8")
    with pytest.raises(UsageError) as error:
        read(file)
    assert told in str(error.value)
    assert str(file) in str(error.value)


def test_a_file_without_translations_or_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(ENTRY[: ENTRY.index("es =")], "utf-8")
    for path, message in ((file, "says nothing of any translation"), (tmp_path / "no", "No such")):
        with pytest.raises(UsageError, match=message):
            read(path)

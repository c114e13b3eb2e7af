"""The benchmark sentences: their number, their terms, and that no training used them."""

from __future__ import annotations

import random
import re
from pathlib import Path

import orjson
import pytest

from pipeline.core.errors import UsageError
from pipeline.evaluation import sentences as data
from pipeline.evaluation.sentences import KINDS, Sentence
from pipeline.text.words import words
from scripts.quality.evaluate import few
from tests.support.paths import ROOT
from training.data import references

SENTENCES = data.read()
FRENCH = data.read(None, "en", "fr")


def key(text: str) -> str:
    return " ".join(words(text))


def test_fifty_of_each_kind_short_and_long() -> None:
    counts = {kind: sum(s.kind == kind for s in SENTENCES) for kind in KINDS}
    assert counts == {"general": 50, "theological": 50}
    lengths = [len(s.source.split()) for s in SENTENCES]
    assert (min(lengths), max(lengths)) == (5, 40)
    assert sum(length <= 12 for length in lengths) >= 15
    assert sum(length >= 20 for length in lengths) >= 10


def test_no_sentence_comes_twice() -> None:
    assert len({key(s.source) for s in SENTENCES}) == len(SENTENCES)
    assert len({key(s.target) for s in SENTENCES}) == len(SENTENCES)


def test_a_reference_has_its_own_terms_and_its_source_does_not_by_chance() -> None:
    for sentence in (*SENTENCES, *FRENCH):
        assert sentence.terms, sentence
        assert sentence.missing(sentence.target) == [], sentence
        assert len(set(sentence.terms)) == len(sentence.terms), sentence
        # Names and numbers alone would let a translator pass that returns the English.
        assert sentence.found(sentence.source) < len(sentence.terms), sentence


def test_references_are_written_as_spanish_is() -> None:
    of_spain = {"vosotros", "vuestro", "vuestra", "vuestros", "vuestras", "habéis", "sois"}
    for sentence in SENTENCES:
        target = sentence.target
        assert target.count("¿") == target.count("?") == sentence.source.count("?"), target
        assert target.count("¡") == target.count("!"), target
        assert target == target.strip()
        assert "  " not in target, target
        assert target[-1] in ".?!", target
        assert not of_spain & set(words(target)), target


def test_the_french_sentences_say_the_same_english() -> None:
    assert [(s.kind, s.source) for s in FRENCH] == [(s.kind, s.source) for s in SENTENCES]
    assert len({key(s.target) for s in FRENCH}) == len(FRENCH)


def test_references_are_written_as_our_french_is() -> None:
    for sentence in FRENCH:
        target = sentence.target
        assert target.count("?") == sentence.source.count("?"), target
        assert target == target.strip()
        assert target[-1] in ".?!", target
        # As on our pages: plain apostrophes, and no space before closing punctuation.
        assert not re.search(r"  |’| [?!:;]", target), target
        assert target.count('"') % 2 == 0, target


def test_a_pair_without_sentences_of_its_own_says_so() -> None:
    with pytest.raises(UsageError, match="from en to de") as raised:
        data.read(None, "en", "de")
    assert raised.value.code == "sentences-none"


def test_no_sentence_is_in_the_demo_or_was_trained_on() -> None:
    sermon = orjson.loads((ROOT / "demo" / "sermon.json").read_bytes())
    known = {key(sentence["en"]) for sentence in sermon["sentences"]}
    phrases = (ROOT / "training/data/sermon_phrases.tsv").read_text(encoding="utf-8")
    known |= {key(line.split("\t")[0]) for line in phrases.splitlines()}
    assert len(known) > 600
    assert [s.source for s in SENTENCES if key(s.source) in known] == []


@pytest.mark.slow
def test_no_sentence_is_a_made_up_reference_of_the_training() -> None:
    """Training references are built from patterns, so one could equal a sentence of ours."""
    made = {key(pair.en) for pair in references.references(5000, random.Random(1))}
    assert len(made) > 1000
    assert [s.source for s in SENTENCES if key(s.source) in made] == []


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("gracia", "La Gracia, dijo.", True),
        ("gracia", "Las gracias", False),
        ("gracia*", "Las gracias", True),
        ("buena* noticia*", "¡Buenas noticias!", True),
        ("no", "No, hermano", True),
        ("no", "noche", False),
        ("vacía|vacío", "el sepulcro vacío", True),
        ("vacía", "el sepulcro vacío", False),
        ("6:30|seis y media", "a las 6:30 en punto", True),
        ("6:30|seis y media", "a las seis y media", True),
        ("6:30", "16:30", False),
        ("4275|4,275", "4.275 dólares", True),
        ("reino de Dios", "el reino, de Dios", True),
        ("alliance", "L'Alliance", True),
        ("alliance", "qu’une alliance", True),
        ("homme", "jusqu'à l'homme", True),
        ("lui", "aujourd'lui", False),
    ],
)
def test_terms_are_whole_words_in_any_case(term: str, text: str, found: bool) -> None:
    assert Sentence("general", "", "", (term,)).found(text) == int(found)


def test_the_first_of_each_kind() -> None:
    chosen = few(SENTENCES, 2)
    assert [s.kind for s in chosen] == ["general"] * 2 + ["theological"] * 2
    assert chosen[2] == SENTENCES[50]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("general = [", "cannot be read"),
        ("general = []", "lacks 'theological'"),
        ('general = [{en = "x", terms = []}]', "lacks 'es'"),
    ],
)
def test_a_file_that_is_none_is_refused(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(content)
    with pytest.raises(UsageError, match=says) as raised:
        data.read(path)
    assert raised.value.code == "sentences-unreadable"

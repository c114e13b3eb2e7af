"""The split of the corpora: what is held out, what is dropped, what is modernized."""

from __future__ import annotations

import argparse
import lzma
import re
from pathlib import Path

import pytest

from pipeline.core.errors import ModelError
from pipeline.evaluation import sentences as gate
from training.data import corpora

HEADER = "book\tchapter\tverse\tes_rv1909\ten_kjv\ten_asv\ten_nheb\ten_bbe\n"
VERSES = [
    'Genesis\t1\t1\tEN el principio crió Dios.\tGod made.\tGod made it.\tGod "created.\tGod did.',
    "Ruth\t1\t1\tY ACONTECIÓ que fué hambre.\tA famine.\tThere was.\tThere was a famine.\tNeed.",
    "I John\t4\t8\tDios es amor.\tGod is love.\tGod is love.\tGod is love.\t",
    "Psalms\t121\t1\tAlzaré mis ojos.\tI lift.\tI will lift.\tI lift my eyes.\tMy eyes.",
    "John\t1\t1\tEn el principio ó antes.\t\tIn the beginning.\tGod is love!\tThe Word.",
]
SENTENCES = [f"Sentence {n}.\tFrase {n}." for n in range(40)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    bible, tatoeba = tmp_path / "bible.tsv.xz", tmp_path / "tatoeba.tsv"
    with lzma.open(bible, "wt", encoding="utf-8") as file:
        file.write(HEADER + "\n".join(VERSES) + "\n")
    tatoeba.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return bible, tatoeba


@pytest.mark.slow
def test_books_and_sentences_are_held_out_and_their_english_never_trained_on(
    files: tuple[Path, Path],
) -> None:
    split = corpora.load(*files, sermon=None, held_out_count=10)

    assert [pair.en for pair in split.held_out_books] == ["There was a famine.", "God is love."]
    learnt = [pair for pairs in split.training.values() for pair in pairs]
    held = {corpora.words(pair.en) for pair in (*split.held_out_books, *split.held_out_tatoeba)}
    assert not {corpora.words(pair.en) for pair in learnt} & held
    # A book that is not held out has the same words; an empty cell gives no pair.
    assert [pair.en for pair in split.training["nheb"]] == ["God created."]
    assert [pair.en for pair in split.training["kjv"]] == ["God made."]
    # The chapter of the demo is neither trained on nor held out.
    ours = (corpora.MODERN, corpora.TALK)
    pairs = [pair for pair in (*learnt, *split.held_out_books) if pair.source not in ours]
    assert not [pair for pair in pairs if "lift" in pair.en]
    # The choice of sentences does not depend on the order of the file.
    assert len(split.training["tatoeba"]) == 30
    files[1].write_text("\n".join(reversed(SENTENCES)) + "\n", encoding="utf-8")
    again = corpora.load(*files, sermon=None, held_out_count=10)
    assert again.held_out_tatoeba == split.held_out_tatoeba
    assert len(again.held_out_tatoeba) == 10


@pytest.mark.slow
def test_sermon_phrases_are_a_source_and_may_be_absent(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    phrases = tmp_path / "phrases.tsv"
    absent = corpora.load(*files, sermon=phrases, held_out_count=10)
    phrases.write_text("# own\nGrace to you.\tGracia a vosotros.\nGod is love.\tDios es amor.\n")
    present = corpora.load(*files, sermon=phrases, held_out_count=10)

    assert absent.training["sermon"] == ()
    assert present.training["sermon"] == (
        corpora.Pair("Grace to you.", "Gracia a vosotros.", "sermon"),
    )


def test_a_line_without_a_tab_is_named(files: tuple[Path, Path]) -> None:
    files[1].write_text("Sentence 1.\tFrase 1.\nno tab\n", encoding="utf-8")

    with pytest.raises(
        ValueError, match=r"tatoeba\.tsv:2: expected English, a tab and its translation"
    ):
        corpora.load(*files, sermon=None)


OTHER_BIBLE = [
    "book\tchapter\tverse\tfr_lsg1910\tde_elberfelder1905",
    "Genesis\t1\t1\tAu commencement, Dieu créa.\tIm Anfang.",
    "Ruth\t1\t1\tIl y eut une famine.\tEs war.",
    "I John\t4\t8\tDieu est amour.\tGott ist Liebe.",
    "Psalms\t121\t1\t(121:2) Je lève mes yeux.\tIch hebe.",
    "John\t1\t1\t(1:2) Au commencement.\tIm Anfang war.",
    "Jude\t1\t1\tPas d'anglais.\t",
]


@pytest.mark.slow
def test_another_language_has_the_same_verses_held_out(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    french = tmp_path / "french.tsv"
    french.write_text("\n".join(OTHER_BIBLE) + "\n", encoding="utf-8")

    split = corpora.load_other(files[0], french, "fr")

    assert [(p.en, p.target) for p in split.held_out_books] == [
        ("There was a famine.", "Il y eut une famine."),
        ("God is love.", "Dieu est amour."),
    ]
    # No version trains on a verse that one holds out; another edition's verse number is removed.
    assert [p.target for p in split.training["nheb"]] == ["Au commencement, Dieu créa."]
    assert [p.target for p in split.training["asv"]][-1] == "Au commencement."
    assert split.training["sermon"]
    assert len(split.sermon_test) == 60
    assert split.target == "fr"


def test_a_bible_without_the_language_is_named(files: tuple[Path, Path]) -> None:
    with pytest.raises(ValueError, match="no column begins with fr_"):
        corpora.load_other(files[0], files[0], "fr")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["--target", "fr", "--bible", "b.tsv"], "corpora-missing"),
        (["--bible", "b.tsv"], "corpora-missing"),
        (["--target", "es", "fr"], "targets-several"),
        (["--target", "xx", "--mix", "mix"], "preaching-missing"),
    ],
)
def test_what_is_missing_or_too_much_is_said(given: list[str], code: str) -> None:
    options = argparse.ArgumentParser()
    corpora.add_options(options)
    with pytest.raises(ModelError) as error:
        corpora.split_of(options.parse_args(given))
    assert error.value.code == code


@pytest.mark.parametrize(
    ("old", "modern"),
    [
        ("Y ACONTECIÓ que dió á Él pan", "Y aconteció que dio a Él pan"),
        ("EN el principio", "En el principio"),
        ("¿PORQUÉ vió ó fuí?", "¿Porqué vio o fui?"),
        ("Ezechîas fué é hizo", "Ezechías fue e hizo"),
        ("Él está aquí", "Él está aquí"),
    ],
)
def test_spanish_of_1909_becomes_modern(old: str, modern: str) -> None:
    assert corpora.modern_spanish(old) == modern


@pytest.mark.parametrize(
    ("verse", "plain"),
    [
        ('He said, "Go.', "He said, Go."),
        ("\u201cGo,\u201d he said.", '"Go," he said.'),
        ("Don\u2019t go.", "Don't go."),
    ],
)
def test_quotes_that_do_not_pair_up_are_dropped(verse: str, plain: str) -> None:
    assert corpora.balanced(verse) == plain


FRENCH = {
    "sermon_phrases_fr.tsv": corpora.SERMON_PHRASES,
    "sermon_test_fr.tsv": corpora.SERMON_TEST,
}
"""French files, and the Spanish files with the same English, line for line."""
EVERYDAY = corpora.SERMON_TEST.with_name("everyday_fr.tsv")


def cells(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


@pytest.mark.parametrize("name", FRENCH)
def test_french_texts_have_the_english_of_the_spanish_ones(name: str) -> None:
    spanish = FRENCH[name]
    french = spanish.with_name(name)
    assert [line[0] for line in cells(french)] == [line[0] for line in cells(spanish)]


@pytest.mark.parametrize("name", [*FRENCH, EVERYDAY.name])
def test_french_texts_are_whole_and_written_one_way(name: str) -> None:
    lines = cells(EVERYDAY.with_name(name))
    assert {len(line) for line in lines} == {2}
    for english, french in lines:
        assert english.strip() == english != ""
        assert french.strip() == french != ""
        # As on our pages: plain apostrophes, and no space before punctuation.
        assert not re.search(r"  |[’“”«»¿¡]| [?!:;,.]", french), french
        assert english.count('"') % 2 == french.count('"') % 2 == 0
        assert french[-1] in '.?!"', french
    assert len({corpora.words(english) for english, _ in lines}) == len(lines)


def test_the_sermon_test_has_sixty_pairs_that_no_training_source_has() -> None:
    test = list(corpora.read_pairs(corpora.SERMON_TEST, "sermon-test"))
    phrases = list(corpora.read_pairs(corpora.SERMON_PHRASES, "sermon"))

    assert len({pair.en for pair in test}) == 60
    assert not {corpora.words(p.en) for p in test} & {corpora.words(p.en) for p in phrases}
    assert not {corpora.words(p.target) for p in test} & {corpora.words(p.target) for p in phrases}


def test_everyday_sentences_are_many_and_none_is_measured_with() -> None:
    english = {corpora.words(line[0]) for line in cells(EVERYDAY)}
    assert len(english) == 400
    measured = [line[0] for line in cells(corpora.SERMON_TEST)]
    measured += [sentence.source for sentence in gate.read()]
    assert not english & {corpora.words(text) for text in measured}

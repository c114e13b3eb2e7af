"""Which part of a caption's text can be spoken, and in which pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pipeline.text.spoken import phrase_ends, pieces, sayable


@pytest.mark.parametrize(
    ("lang", "text", "said"),
    [
        ("es", "Juan 3:16-17 dice: «Amén».", "Juan 3, 16, 17 dice: «Amén»."),
        ("fr", "M. Martin lit Jean 3:16.", "monsieur Martin lit Jean 3, 16."),
        ("es", "Gloria 😀🙏 a Dios ♪", "Gloria a Dios"),
        ("es", "La palabra ἀγάπη es amor, 上帝.", "La palabra es amor,"),
        ("ko", "하나님은 사랑입니다 2", "하나님은 사랑입니다 2"),
        ("es", "Cuesta 1.250 € y 3,5 %.", "Cuesta 1.250 € y 3,5 %."),
        ("es", "😀 … — «»", ""),
        ("es", "\ud83d", ""),
        ("xx", "Whatever it is", "Whatever it is"),
    ],
)
def test_what_nobody_says_is_left_out(lang: str, text: str, said: str) -> None:
    assert sayable(text, lang) == said


@pytest.mark.parametrize(
    ("lang", "phrases"),
    [
        ("es", "Dios te ama | de la misma manera, | vuelve | a casa"),
        ("fr", "C'est lui | qui nous aime | d'un amour fidèle"),
        ("pt", "Deus cuida | de você | e da sua família"),
        ("de", "Gott liebt dich, | und er hilft dir"),
    ],
)
def test_phrases_end_at_a_stop_and_before_a_word_that_begins_one(lang: str, phrases: str) -> None:
    words = phrases.replace("| ", "").split()
    ends = [0, *phrase_ends(words, lang), len(words)]
    cut = [" ".join(words[at:end]) for at, end in pairwise(ends)]
    assert " | ".join(cut) == phrases


def test_a_text_is_cut_at_ends_of_clauses_else_of_words() -> None:
    text = "Dios es fiel; y no te dejará solo. Vuelve a casa esta noche"
    assert list(pieces(text, 40)) == [
        "Dios es fiel; y no te dejará solo.",
        "Vuelve a casa esta noche",
    ]
    assert list(pieces("a " * 50, 21)) == [" ".join("a" * 10)] * 4 + [" ".join("a" * 10)]
    assert list(pieces("神" * 25, 10)) == ["神" * 10, "神" * 10, "神" * 5]
    assert list(pieces("  ", 10)) == []
    long = " ".join(f"palabra{number}." for number in range(200))
    assert " ".join(pieces(long, 200)) == long
    assert max(map(len, pieces(long, 200))) <= 200


@pytest.mark.parametrize("most", [20, 21, 22, 24])
def test_no_number_is_cut(most: int) -> None:
    cut = list(pieces("Eran unos cinco o 3.500 personas", most))
    assert any("3.500" in piece for piece in cut)
    assert max(map(len, cut)) <= most

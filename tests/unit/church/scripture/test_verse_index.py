"""The index of verses on disk."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pipeline.church.scripture import verse_index
from pipeline.church.scripture.books import Reference
from pipeline.church.scripture.editions import Edition
from pipeline.church.scripture.passages import search
from pipeline.church.scripture.verse_index import VerseIndex, words_of
from pipeline.core.errors import VersesError
from tests.support.verses import small_index


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> VerseIndex:
    return small_index(tmp_path_factory.mktemp("index"))


def test_words_have_no_case_accent_or_sign() -> None:
    assert words_of("¡Jehová, mi PASTOR: “nada”, pro-fe!") == [
        "jehova",
        "mi",
        "pastor",
        "nada",
        "pro",
        "fe",
    ]


@pytest.mark.parametrize(
    ("lang", "verse", "said"),
    [
        ("zh", "神爱世人，甚至将他的独生子赐给他们", "我们今天读到神爱世人甚至将他的独生子"),
        (
            "ja",
            "神はそのひとり子を賜わったほどに、この世を愛して",
            "今日は神はそのひとり子を賜わった",
        ),
    ],
)
def test_a_verse_without_spaces_is_found(tmp_path: Path, lang: str, verse: str, said: str) -> None:
    edition = Edition("x", lang, "X", "-", {(43, 3, 16): verse, (43, 11, 35): "耶稣哭了。"})
    index = verse_index.build([edition], tmp_path / lang)
    best = search(index, words_of(said))[0]
    assert (best.reference, best.run >= 5) == (Reference(43, 3, 16), True)


def test_a_verse_is_found_by_some_of_its_words(index: VerseIndex) -> None:
    word_ids = index.ids(words_of("um the Lord is my shepherd I shall not zorbex want"))
    assert -1 in word_ids
    best = index.candidates(word_ids, 3)[0]
    assert index.reference(best) == Reference(19, 23, 1)
    assert index.text(best) == index.ids(words_of("The LORD is my shepherd; I shall not want."))
    assert index.texts_of(Reference(19, 23, 1)) == [best]
    assert index.candidates(index.ids(["zorbex", "blubb"]), 3) == []
    assert index.candidates([], 3) == []


def test_it_is_the_same_when_it_is_loaded_again(tmp_path: Path) -> None:
    edition = Edition("x", "en", "X", "-", {(43, 11, 35): "Jesus wept.", (43, 11, 36): ""})
    built = verse_index.build([edition], tmp_path / "en")
    again = verse_index.load(tmp_path / "en")
    assert again.editions == built.editions == ("x",)
    assert again.text(0) == built.text(0) == [0, 1]
    assert again.text(1) == []
    assert not (tmp_path / "en.partial").exists()


def test_an_index_that_is_missing_broken_or_of_another_version_says_what_to_do(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "en"
    edition = Edition("x", "en", "X", "-", {(43, 11, 35): "Jesus wept."})

    def code() -> str:
        with pytest.raises(VersesError) as error:
            verse_index.load(folder)
        assert "verses build" in error.value.fix
        return error.value.code

    assert code() == "verses-not-built"
    verse_index.build([edition], folder)
    (folder / "keys.npy").write_bytes(b"\x93NUMPY")
    assert code() == "verses-broken"
    verse_index.build([edition], folder)
    facts = (folder / "index.json").read_text()
    (folder / "index.json").write_text(facts.replace('"format": 3', '"format": 1'))
    assert code() == "verses-outdated"
    for facts in ("[]", '{"format": 3, "sources": []}', "{"):
        (folder / "index.json").write_text(facts)
        assert code() == "verses-broken"


def test_the_format_is_raised_when_the_same_text_makes_another_index(tmp_path: Path) -> None:
    """If this fails, raise `_FORMAT` and put the new digest here: existing indexes are outdated."""
    text = "¡Jehová, mi PASTOR: “nada” — l’Éternel don't 3 Ça pro-fe ñandú!"
    verses = {(19, 23, 1): text, (43, 11, 35): "Jesus wept.", (43, 11, 36): ""}
    verse_index.build([Edition("x", "en", "X", "-", verses)], tmp_path / "en")
    digest = hashlib.sha256()
    for name in ("keys", "starts", "postings", "words", "offsets", "verses"):
        digest.update((tmp_path / "en" / f"{name}.npy").read_bytes())
    digest.update((tmp_path / "en" / "index.json").read_bytes())
    assert digest.hexdigest()[:16] == "148372eb3c685162"


def test_no_text_and_no_room_are_told(tmp_path: Path) -> None:
    with pytest.raises(VersesError) as error:
        verse_index.build([], tmp_path / "en")
    assert error.value.code == "verses-empty"
    (tmp_path / "file").touch()
    edition = Edition("x", "en", "X", "-", {(43, 11, 35): "Jesus wept."})
    with pytest.raises(VersesError) as error:
        verse_index.build([edition], tmp_path / "file" / "en")
    assert error.value.code == "verses-unwritable"


def test_a_pair_that_no_verse_has_does_not_count_the_next_pair_twice(tmp_path: Path) -> None:
    # Word numbers follow word order: "a c" would come right before "a d".
    texts = ["b c", "a d", "e f g", "h i j"]
    verses = {(1, 1, verse): text for verse, text in enumerate(texts, 1)}
    index = verse_index.build([Edition("mine", "en", "", "", verses)], tmp_path / "index")
    word_ids = index.ids(["a", "c", "x", "a", "d", "x", "e", "f", "g"])
    assert [index.reference(n).verse for n in index.candidates(word_ids, 2)] == [3, 2]

"""Bibles in files."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from pipeline.church.scripture import editions
from pipeline.church.scripture.books import VERSES, Reference
from pipeline.church.scripture.editions import Edition, VerseId
from pipeline.core.errors import VersesError
from pipeline.core.resources import bundled

CANON = {
    (book, chapter, verse)
    for book, counts in enumerate(VERSES, 1)
    for chapter, last in enumerate(counts, 1)
    for verse in range(1, last + 1)
}
# Mark 11:26 and 15:28, Luke 17:36 and 23:17, Acts 15:34 and 24:7: missing in older manuscripts.
NOT_IN_NHEB = {(41, 11, 26), (41, 15, 28), (42, 17, 36), (42, 23, 17), (44, 15, 34), (44, 24, 7)}
# Some of the 32 places where the printed Reina-Valera numbers differently or joins two verses.
BEGINNINGS: tuple[tuple[VerseId, str, str], ...] = (
    ((4, 12, 16), "And afterward the people removed from", "Y después movió el pueblo de"),
    ((4, 13, 1), "And the Lord spake unto Moses,", "Y Jehová habló á Moisés,"),
    ((4, 13, 30), "And Caleb stilled the people before", "Entonces Caleb hizo callar el pueblo"),
    ((7, 14, 20), "But Samson’s wife was given to his", "Y la mujer de Samsón fué dada á su"),
    ((9, 24, 1), "And it came to pass, when Saul was", "Y como Saúl volvió de los Filisteos,"),
    ((13, 21, 16), "And David lifted up his eyes, and saw", "Y alzando David sus ojos, vió al"),
    ((18, 40, 15), "Behold now behemoth, which I made", "He aquí ahora behemoth, al cual yo"),
    ((19, 54, 1), "Save me, O God, by thy name, and", "OH Dios, sálvame por tu nombre, y con"),
    ((32, 2, 1), "Then Jonah prayed unto the Lord his", "Y oró Jonás desde el vientre del pez"),
    ((41, 6, 28), "And brought his head in a charger,", "y trajo su cabeza en un plato, y la"),
    ((44, 19, 41), "And when he had thus spoken, he", "Y habiendo dicho esto, despidió la"),
    ((47, 13, 13), "All the saints salute", "Todos los santos os"),
    ((47, 13, 14), "The grace of the Lord Jesus Christ,", "La gracia del Señor Jesucristo, y el"),
)


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return editions.own_directory()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rv1909", "kjv", "nheb"])
def test_what_ships_is_whole_and_free(name: str) -> None:
    edition = editions.load(name)
    assert edition.licence == "public domain"
    assert len(edition.verses) > 31_000
    assert editions.outside_numbering(edition) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lacks"), [("rv1909", set()), ("kjv", set()), ("nheb", NOT_IN_NHEB)]
)
def test_every_verse_of_the_canon_is_in_what_ships_exactly_once(
    name: str, lacks: set[VerseId]
) -> None:
    with lzma.open(bundled("verses") / f"{name}.tsv.xz", "rt", encoding="utf-8") as stream:
        lines = [line.split("\t", 3) for line in list(stream)[1:]]
    places = [(int(book), int(chapter), int(verse)) for book, chapter, verse, _ in lines]
    assert places == sorted(CANON - lacks)
    assert all(text.strip() for *_, text in lines)


@pytest.mark.slow
def test_a_number_is_the_same_verse_in_both_languages() -> None:
    english, spanish = editions.load("kjv").verses, editions.load("rv1909").verses
    for place, said, shown in BEGINNINGS:
        assert english[place].startswith(said), place
        assert spanish[place].startswith(shown), place
    assert spanish[47, 13, 14].endswith("sea con vosotros todos. Amén.")  # no "fué enviada de"


def test_what_ships_is_small() -> None:
    assert sum(file.stat().st_size for file in bundled("verses").iterdir()) < 3_000_000


def test_verses_in_a_row_are_one_text() -> None:
    bible = Edition("x", "es", "X", "-", {(43, 3, 16): "Porque", (43, 3, 17): "no"})
    assert bible.text(Reference(43, 3, 16, 17)) == "Porque no"
    chinese = Edition("x", "zh", "X", "-", {(43, 3, 16): "神爱世人。", (43, 3, 17): "因为神"})
    assert chinese.text(Reference(43, 3, 16, 17)) == "神爱世人。因为神"
    assert bible.text(Reference(43, 3, 17, 18)) == ""
    assert bible.text(Reference(43, 3)) == ""


@pytest.mark.slow
def test_a_churchs_own_edition_comes_first(own: Path) -> None:
    mine = Edition("mine", "es", "Mía", "ours", {(43, 3, 16): "Porque tanto amó Dios"})
    assert editions.for_language("es").name == "rv1909"
    file = editions.write(mine, own)
    assert file.parent == own
    assert editions.for_language("es") == mine
    assert editions.for_language("es", "rv1909").title == "Reina-Valera 1909"


def test_a_language_without_a_bible_and_a_wrong_name_are_told() -> None:
    for lang, name, code in (
        ("sw", "", "verses-none"),
        ("es", "kjv", "verses-other-language"),
        ("es", "niv", "verses-unknown"),
    ):
        with pytest.raises(VersesError) as error:
            editions.for_language(lang, name)
        assert error.value.code == code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "verses-no-head"),
        (b"1\t1\t1\tIn the beginning", "verses-no-head"),
        (b"# en\tX\t-\nJohn 3:16 For God", "verses-bad-line"),
        (b"# en\tX\t-\n67\t1\t1\tFor God", "verses-bad-line"),
        (b"# en\tX\t-\n1\t1\t1\t\xff", "verses-unreadable"),
    ],
)
def test_a_broken_file_is_refused_by_name(tmp_path: Path, content: bytes, code: str) -> None:
    plain, packed = tmp_path / "x.tsv", tmp_path / "x.tsv.xz"
    plain.write_bytes(content)
    packed.write_bytes(lzma.compress(content))
    torn = tmp_path / "torn.tsv.xz"
    torn.write_bytes(lzma.compress(content)[:-4])
    for file, wanted in ((plain, code), (packed, code), (torn, "verses-unreadable")):
        with pytest.raises(VersesError) as error:
            editions.read(file, "x")
        assert error.value.code == wanted
        assert str(file) in error.value.message


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(VersesError) as error:
        editions.write(Edition("x", "es", "X", "-", {}), tmp_path / "file")
    assert error.value.code == "verses-unwritable"

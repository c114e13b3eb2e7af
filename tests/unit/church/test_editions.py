"""Bibles in files."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from pipeline.church import editions
from pipeline.church.editions import Edition
from pipeline.church.mention import Reference
from pipeline.core.errors import VersesError
from pipeline.core.resources import bundled


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
    assert editions.outside_numbering(edition) < 10


def test_what_ships_is_small() -> None:
    assert sum(file.stat().st_size for file in bundled("verses").iterdir()) < 3_000_000


def test_verses_in_a_row_are_one_text() -> None:
    bible = Edition("x", "es", "X", "-", {(43, 3, 16): "Porque", (43, 3, 17): "no"})
    assert bible.text(Reference(43, 3, 16, 17)) == "Porque no"
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
    for file in (plain, packed):
        with pytest.raises(VersesError) as error:
            editions.read(file, "x")
        assert error.value.code == code
        assert str(file) in error.value.message


def test_a_torn_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.tsv.xz"
    file.write_bytes(lzma.compress(b"# en\tX\t-\n")[:-4])
    with pytest.raises(VersesError) as error:
        editions.read(file, "x")
    assert error.value.code == "verses-unreadable"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(VersesError) as error:
        editions.write(Edition("x", "es", "X", "-", {}), tmp_path / "file")
    assert error.value.code == "verses-unwritable"

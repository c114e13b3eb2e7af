"""SWORD modules, written by the test in the format of each driver."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.church.scripture import editions, sword
from pipeline.core.errors import VersesError
from tests.support.sword_module import Module, zipped

RUTH, JOHN, THIRD_JOHN, REVELATION = 8, 43, 64, 66
SOME = {
    (1, 1, 1): "EN el principio crió Dios los cielos y la tierra.",
    (1, 1, 2): "Y la tierra estaba desordenada y vacía.",
    (RUTH, 1, 1): "Y ACONTECIÓ en los días que gobernaban los jueces.",
    (39, 4, 6): "El convertirá el corazón de los padres á los hijos.",
    (40, 1, 1): "LIBRO de la generación de Jesucristo.",
    (THIRD_JOHN, 1, 14): "Porque espero verte en breve.",
    (REVELATION, 22, 21): "La gracia de nuestro Señor Jesucristo sea con todos vosotros. Amén.",
}
"""Verses at the ends of the index of each testament, and between."""


def refused(file: Path) -> VersesError:
    with pytest.raises(VersesError) as error:
        sword.read(file)
    assert error.value.fix or error.value.code == "verses-too-large"
    return error.value


@pytest.mark.parametrize(
    "module",
    [
        *(Module(kind=kind) for kind in "bcv"),
        *(Module(driver=driver) for driver in ("zText4", "RawText", "RawText4")),
        Module(markup="Plaintext", encoding="Latin-1", more=""),
        Module(driver="RawText", markup="plaintext"),
    ],
    ids=lambda m: f"{m.driver}-{m.kind}-{m.markup}-{m.encoding}",
)
def test_a_module_of_each_kind_gives_the_verses_that_it_was_made_of(
    tmp_path: Path, module: Module
) -> None:
    module.write(tmp_path / "mine", SOME)
    assert sword.is_module(tmp_path / "mine")
    assert sword.read(tmp_path / "mine") == SOME


@pytest.mark.slow
@pytest.mark.parametrize("module", [Module(), Module(driver="RawText")], ids=lambda m: m.driver)
def test_a_whole_bible_comes_back_from_an_archive_verse_by_verse(
    tmp_path: Path, module: Module
) -> None:
    bible = editions.load("rv1909").verses
    module.write(tmp_path / "mine", bible)
    assert sword.read(zipped(tmp_path / "mine")) == bible


def test_an_archive_a_folder_and_a_description_are_the_same_module(tmp_path: Path) -> None:
    verses = {place: text for place, text in SOME.items() if place[0] == RUTH}
    Module().write(tmp_path / "mine", verses)
    archive = zipped(tmp_path / "mine")
    conf = tmp_path / "mine" / "mods.d" / "mine.conf"
    assert sword.is_module(archive)
    assert sword.is_module(conf)
    assert sword.read(archive) == sword.read(conf) == sword.read(tmp_path / "mine") == verses


def test_what_is_read_aloud_is_taken_from_the_markup(tmp_path: Path) -> None:
    markup = (
        '<div type="x-milestone" sID="p"/><title type="psalm">A Psalm</title><l level="1" sID="g"/>'
        '¶ <q who="Jesus"><w lemma="strong:G1063">For</w> <w>God</w><lb/>so <hi>l</hi>oved<note>'
        '<reference type="x">3.16</reference>a note</note> the</q><transChange>one</transChange>'
        '<w>world</w>, &amp; <transChange>more</transChange>. <l eID="g"/> <div eID="x"/>'
    )
    Module().write(tmp_path / "mine", {(JOHN, 3, 16): markup})
    wanted = "For God so loved the one world, & more."
    assert sword.read(tmp_path / "mine") == {(JOHN, 3, 16): wanted}


def test_a_testament_alone_is_read(tmp_path: Path) -> None:
    folder = Module().write(tmp_path / "mine", SOME)
    for file in folder.glob("ot.*"):
        file.unlink()
    assert {book for book, _, _ in sword.read(tmp_path / "mine")} == {40, THIRD_JOHN, REVELATION}


def test_verses_that_are_printed_as_one_are_found_under_the_first_number(tmp_path: Path) -> None:
    folder = Module(driver="RawText").write(tmp_path / "mine", {(JOHN, 3, 16): "Porque de tal"})
    index = bytearray((folder / "nt.vss").read_bytes())
    at = next(n for n in range(0, len(index), 6) if any(index[n : n + 6]))
    index[at + 6 : at + 12] = index[at : at + 6]
    (folder / "nt.vss").write_bytes(index)
    assert sword.read(tmp_path / "mine") == {(JOHN, 3, 16): "Porque de tal"}


@pytest.mark.parametrize(
    ("module", "said", "code"),
    [
        (Module(more="Versification=NRSVA\n"), "'NRSVA'", "verses-other-module"),
        (Module(more="CipherKey=\n"), "enciphered", "verses-enciphered"),
        (Module(more="CipherKey=abc123\n"), "enciphered", "verses-enciphered"),
        (Module(markup="ThML"), "'ThML'", "verses-other-module"),
        (Module(encoding="SCSU"), "'SCSU'", "verses-other-module"),
    ],
)
def test_a_module_that_is_not_supported_says_what_it_is(
    tmp_path: Path, module: Module, said: str, code: str
) -> None:
    module.write(tmp_path / "mine", {})
    error = refused(tmp_path / "mine")
    assert error.code == code
    assert said in error.message
    assert "mine.conf" in error.message


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("ModDrv=zText", "ModDrv=zCom", "verses-other-module"),
        ("ModDrv=zText", "", "verses-other-module"),
        ("CompressType=ZIP", "CompressType=LZSS", "verses-other-module"),
        ("DataPath=./modules", "DataPath=../modules", "verses-broken-file"),
        ("DataPath=", "Path=", "verses-broken-file"),
        ("/mine/", "/elsewhere/", "verses-empty"),
    ],
)
def test_a_description_that_leads_to_nothing_is_refused(
    tmp_path: Path, old: str, new: str, code: str
) -> None:
    Module().write(tmp_path / "mine", SOME)
    conf = tmp_path / "mine" / "mods.d" / "mine.conf"
    conf.write_text(conf.read_text().replace(old, new))
    assert refused(tmp_path / "mine").code == code


def test_what_is_no_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert refused(tmp_path / "empty").code == "verses-no-module"
    (tmp_path / "text.zip").write_bytes(b"PK no archive")
    assert refused(tmp_path / "text.zip").code == "verses-unreadable"
    assert refused(tmp_path / "gone.zip").code == "verses-unreadable"
    Module().write(tmp_path / "none", {})
    assert refused(tmp_path / "none").code == "verses-empty"


def test_of_several_modules_one_has_to_be_named(tmp_path: Path) -> None:
    Module().write(tmp_path / "all", {(JOHN, 3, 16): "Porque de tal"})
    other = tmp_path / "all" / "mods.d" / "other.conf"
    other.write_text("[Other]\nModDrv=RawCom\n")
    error = refused(tmp_path / "all")
    assert error.code == "verses-several-modules"
    assert "mine.conf, other.conf" in error.message
    assert (JOHN, 3, 16) in sword.read(tmp_path / "all" / "mods.d" / "mine.conf")


@pytest.mark.parametrize("name", ["nt.bzv", "nt.bzs", "nt.bzz"])
def test_a_module_that_is_cut_short_is_refused(tmp_path: Path, name: str) -> None:
    folder = Module().write(tmp_path / "mine", SOME)
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) - 30])
    error = refused(tmp_path / "mine")
    assert error.code == "verses-broken-file"
    assert "mine.conf" in error.message


def test_a_damaged_block_and_a_wrong_index_are_refused(tmp_path: Path) -> None:
    folder = Module().write(tmp_path / "mine", {(JOHN, 3, 16): "Porque de tal manera"})
    whole = (folder / "nt.bzz").read_bytes()
    (folder / "nt.bzz").write_bytes(whole[:12] + b"\xff\xff\xff" + whole[15:])
    assert "block 0" in refused(tmp_path / "mine").message
    (folder / "nt.bzz").write_bytes(whole)
    index = bytearray((folder / "nt.bzv").read_bytes())
    at = next(n for n in range(0, len(index), 10) if any(index[n : n + 10]))
    index[at + 8 : at + 10] = b"\xff\xff"
    (folder / "nt.bzv").write_bytes(index)
    assert "John 3:16 lies outside" in refused(tmp_path / "mine").message


def test_text_in_another_encoding_is_refused_by_verse(tmp_path: Path) -> None:
    module = Module(encoding="Latin-1")
    module.write(tmp_path / "mine", {(JOHN, 3, 16): "tal manera amó"})
    conf = tmp_path / "mine" / "mods.d" / "mine.conf"
    conf.write_text(replace(module, encoding="UTF-8").conf())
    assert "John 3:16" in refused(tmp_path / "mine").message


@pytest.mark.slow
def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sword, "MOST_BYTES", 1 << 20)
    zeros = Module().write(tmp_path / "zeros", {(JOHN, 3, 16): "x"})
    packed = zlib.compress(bytes(8 << 20))
    (zeros / "nt.bzz").write_bytes(packed)
    (zeros / "nt.bzs").write_bytes(struct.pack("<III", 0, len(packed), 1))
    assert refused(tmp_path / "zeros").code == "verses-too-large"
    # Every verse is 60 kB of the same file, from varying first bytes.
    many = Module(driver="RawText").write(tmp_path / "many", {(JOHN, 3, 16): "x"})
    (many / "nt").write_bytes(b"x" * 70_000)
    records = len((many / "nt.vss").read_bytes()) // 6
    index = b"".join(struct.pack("<IH", n % 1000, 60_000) for n in range(records))
    (many / "nt.vss").write_bytes(index)
    assert refused(tmp_path / "many").code == "verses-too-large"
    # A small archive of a large file.
    Module(driver="RawText").write(tmp_path / "packed", {(JOHN, 3, 16): "x" * 60_000})
    large = tmp_path / "packed" / "modules" / "texts" / "rawtext" / "mine" / "nt"
    large.write_bytes(bytes(8 << 20))
    assert refused(zipped(tmp_path / "packed")).code == "verses-too-large"


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.binary(max_size=300), st.sampled_from(["bzs", "bzz"]))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, ending: str
) -> None:
    root = tmp_path_factory.mktemp("module") / "mine"
    folder = Module().write(root, {(JOHN, 3, 16): "Porque de tal"})
    (folder / f"nt.{ending}").write_bytes(data)
    with suppress(VersesError):
        assert sword.read(root).keys() == {(JOHN, 3, 16)}

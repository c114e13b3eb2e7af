"""The command `verses`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.church.scripture import editions, verse_index
from pipeline.church.scripture.books import Reference
from tests.support.cli import Cli
from tests.support.sword_module import Module, zipped

TABS = "John\t3\t16\tFor God so loved the world\nJohn\t3\t99\tno such verse\n"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def adding(tmp_path: Path, **changes: str) -> list[str]:
    """Return the command that adds a Bible of two lines."""
    file = tmp_path / "mine.tsv"
    file.write_text(TABS)
    options = {"--name": "mine", "--lang": "sw", "--title": "Mine [new]", "--licence": "ours"}
    pairs = (options | changes).items()
    return ["verses add", str(file), *(x for pair in pairs for x in pair)]


@pytest.mark.slow
def test_an_added_bible_is_listed_indexed_and_used(tmp_path: Path, cli: Cli) -> None:
    assert "No index yet" in cli("verses list").out
    assert "1 of them are numbered" in cli(*adding(tmp_path)).out
    assert editions.for_language("sw").text(Reference(43, 3, 16)) == "For God so loved the world"
    cli("verses build --lang sw")
    assert verse_index.load(editions.cache_directory() / "sw").editions == ("mine",)
    out = cli("verses list").out
    assert "Index for spoken sw: mine" in out
    assert "Reina-Valera 1909" in out
    assert "Mine [new]" in out
    # The build is automatic.
    assert "verses build" not in cli(*adding(tmp_path, **{"--name": "other"})).out
    (editions.own_directory() / "torn.tsv").write_text("no head\n")
    out = cli("verses list").out
    assert "other new. It is built anew" in out
    assert "torn.tsv: the first line is not" in out
    assert "Reina-Valera 1909" in out


@pytest.mark.slow
def test_what_counts_otherwise_is_told(cli: Cli) -> None:
    """In this Bible Malachi has three chapters, and John has one verse."""
    counts = {1: 14, 2: 17, 3: 24}
    lines = [f"Mal\t{c}\t{v}\tverse {c}.{v}\n" for c, n in counts.items() for v in range(1, n + 1)]
    Path("mal.tsv").write_text("".join([*lines, "John\t3\t16\tFor God so loved the world\n"]))
    named = ["--name", "m", "--lang", "sw", "--title", "M", "--licence", "ours"]
    output = cli("verses add mal.tsv", *named).out
    assert "Numbered anew, as the King James Version counts: Malachi." in output
    assert "878 verses are lacking, in John." in output
    assert editions.for_language("sw").text(Reference(39, 4, 6)) == "verse 3.24"


@pytest.mark.slow
def test_a_sword_module_is_added_like_any_other_bible(tmp_path: Path, cli: Cli) -> None:
    Module().write(tmp_path / "folder", {(43, 3, 16): "Porque de tal manera amó Dios"})
    archive = zipped(tmp_path / "folder")
    options = ["--name", "rv", "--lang", "es", "--title", "RV", "--licence", "by permission"]
    cli("verses add", str(archive), *options)
    shown = editions.for_language("es").text(Reference(43, 3, 16))
    assert shown == "Porque de tal manera amó Dios"
    archive.write_bytes(b"no archive")
    assert "Unpack it" in cli("verses add", str(archive), *options, code=1).err


@pytest.mark.parametrize("changes", [{"--name": "../x"}, {"--lang": "Spanish"}, {"--licence": " "}])
def test_wrong_options_are_refused(tmp_path: Path, cli: Cli, changes: dict[str, str]) -> None:
    cli(*adding(tmp_path, **changes), code=2)
    assert not editions.own_directory().exists()


@pytest.mark.slow
def test_a_file_that_is_no_bible_is_refused(tmp_path: Path, cli: Cli) -> None:
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 \xff\xfe")
    rest = ["--name", "x", "--lang", "es", "--title", "X", "--licence", "y"]
    for file in (bad, tmp_path / "none"):
        assert "[verses-" in cli("verses add", str(file), *rest, code=1).err
    assert "[verses-" in cli("verses build --lang xx", code=1).err

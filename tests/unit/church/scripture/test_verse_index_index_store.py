"""Indexes in the cache, and the Bibles that they are built from."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.church.scripture import editions, verse_index
from pipeline.church.scripture.books import Reference
from pipeline.church.scripture.editions import Edition
from pipeline.core.errors import VersesError

SHEPHERD, JOHN = (19, 23, 1), (43, 3, 16)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def add(name: str, verses: dict[editions.VerseId, str]) -> Path:
    """Add a Bible in a language without a shipped one."""
    return editions.write(Edition(name, "sw", name, "ours", verses), editions.own_directory())


def code(says: str | None = None) -> str:
    with pytest.raises(VersesError, match=says) as error:
        verse_index.load_built("sw")
    return error.value.code


def test_an_index_is_old_as_soon_as_a_bible_is_new_changed_or_gone() -> None:
    add("mine", {SHEPHERD: "Bwana ndiye mchungaji wangu"})
    assert code() == "verses-not-built"
    verse_index.build_index("sw")
    assert verse_index.load_built("sw").editions == ("mine",)
    other = add("other", {JOHN: "Kwa maana jinsi hii Mungu"})
    assert code("Bibles: other new") == "verses-outdated"
    verse_index.build_index("sw")
    add("mine", {(19, 22, 1): "Bwana ndiye mchungaji wangu"})
    assert code("Bibles: mine changed") == "verses-outdated"
    other.unlink()
    assert code("Bibles: mine changed; other gone") == "verses-outdated"


def test_a_bible_of_another_language_or_one_that_is_only_touched_changes_nothing() -> None:
    file = add("mine", {SHEPHERD: "Bwana ndiye mchungaji wangu"})
    verse_index.build_index("sw")
    file.touch()
    editions.write(Edition("y", "yy", "Y", "ours", {JOHN: "x"}), editions.own_directory())
    assert verse_index.load_built("sw").editions == ("mine",)


def test_a_verse_that_has_moved_is_found_where_it_is_now() -> None:
    text = "Bwana ndiye mchungaji wangu, sitapungukiwa na kitu"
    add("mine", {(19, 22, 1): text})
    assert verse_index.build_index("sw").reference(0) == Reference(19, 22, 1)
    add("mine", {SHEPHERD: text})
    assert verse_index.renew("sw").reference(0) == Reference(19, 23, 1)
    built = (verse_index.folder("sw") / "index.json").stat()
    verse_index.renew("sw")
    # An index as new as its Bibles is not built again.
    assert (verse_index.folder("sw") / "index.json").stat().st_ino == built.st_ino


def test_without_an_index_one_is_built_and_a_damaged_one_is_left_and_told() -> None:
    add("mine", {SHEPHERD: "Bwana"})
    assert verse_index.renew("sw").reference(0) == Reference(19, 23, 1)
    (verse_index.folder("sw") / "index.json").write_text("{}")
    with pytest.raises(VersesError) as error:
        verse_index.renew("sw")
    assert error.value.code == "verses-broken"


def test_a_bible_that_cannot_be_read_is_named_and_leaves_the_old_index_unused() -> None:
    file = add("mine", {SHEPHERD: "Bwana ndiye mchungaji wangu"})
    verse_index.build_index("sw")
    file.unlink()
    torn = file.with_name("mine.tsv")
    torn.write_text("# sw\tMine\tours\nnonsense\n")
    with pytest.raises(VersesError) as error:
        verse_index.renew("sw")
    assert error.value.code == "verses-bad-line"
    assert code() == "verses-outdated"


def test_a_language_without_a_bible_is_told() -> None:
    with pytest.raises(VersesError) as error:
        verse_index.build_index("sw")
    assert error.value.code == "verses-none"

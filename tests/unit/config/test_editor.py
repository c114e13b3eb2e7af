from __future__ import annotations

import os
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.editor import Value, edit, section, write
from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from pipeline.config.spelling import without_expert
from pipeline.core.errors import ConfigError
from pipeline.core.resources import bundled

NOW = datetime(2026, 11, 20, 9, 30, 5, tzinfo=UTC)
KEYS = {
    path: value
    for path, value in leaves(Settings().model_dump())
    if path.count(".") and not isinstance(value, tuple)  # no program edits a list
}
OTHERS: dict[type, Value] = {bool: True, int: -1000000, float: 1e-05, str: 'a "b" \\ñ = ]'}


def keys(text: str) -> dict[str, Any]:
    return dict(leaves(without_expert(tomllib.loads(text))))


def test_a_value_changes_and_its_comment_keeps_its_column() -> None:
    text = '[stt]\nmodel = "starter"        # a # in a comment\nthreads = 2              # CPU\n'
    assert edit(text, {"stt.model": "small.en", "stt.threads": 16}) == (
        '[stt]\nmodel = "small.en"       # a # in a comment\nthreads = 16             # CPU\n'
    )


def test_a_value_too_long_for_its_column_pushes_the_comment() -> None:
    text = '[stt]\nmodel = "x" # which\n'
    edited = edit(text, {"stt.model": "distil-large-v3"})
    assert edited == '[stt]\nmodel = "distil-large-v3" # which\n'


def test_a_list_of_tables_on_one_line() -> None:
    text = '[translate]\ntarget = "es"\ntargets = []  # more\n'
    two = {"translate.targets": [{"lang": "fr"}, {"lang": "pt"}]}
    edited = edit(text, two)
    assert 'targets = [{ lang = "fr" }, { lang = "pt" }]' in edited
    assert edited.endswith("# more\n")
    assert tomllib.loads(edit(edited, {"translate.targets": []})) == tomllib.loads(text)


def test_a_key_of_experts_is_edited_where_it_stands() -> None:
    text = "[expert]\nstt.commit_s = 0.5 # age\n\n[stt]\nthreads = 2\n"
    assert edit(text, {"stt.commit_s": 1.5}) == text.replace("0.5", "1.5")


def test_only_the_key_of_its_own_table() -> None:
    text = (
        "[stt]\nthreads = 2\n\n[translate.partial]\nthreads = 1\n\n[translate.final]\nthreads = 1\n"
    )
    edited = edit(text, {"translate.final.threads": 4})
    assert edited == text[:-2] + "4\n"


def test_a_key_that_is_not_there_goes_to_the_end_of_its_table() -> None:
    text = "# mine\n[stt]\nthreads = 2\n\n# next\n[server]\nport = 1\n"
    assert edit(text, {"stt.window_s": 5.0}) == (
        "# mine\n[stt]\nthreads = 2\nwindow_s = 5.0\n\n# next\n[server]\nport = 1\n"
    )


def test_a_table_that_is_not_there_goes_to_the_end() -> None:
    assert edit("[server]\nport = 1", {"stt.threads": 2, "stt.window_s": 5.0}) == (
        "[server]\nport = 1\n\n[stt]\nthreads = 2\nwindow_s = 5.0\n"
    )


def test_the_values_alone() -> None:
    values: dict[str, Value] = {
        "stt.threads": 2,
        "translate.final.stream": False,
        "stt.model": 'a "b"',
    }
    assert section(values) == (
        '[stt]\nthreads = 2\nmodel = "a \\"b\\""\n\n[translate.final]\nstream = false'
    )


@pytest.mark.parametrize(
    "text",
    [
        "stt.threads = 2\n",
        "stt = {threads = 2}\n",
        "x = '''\n[stt]\nthreads = 9\n'''\n",
        "[ stt ]\nthreads = 2\n",
        '[stt]\n"threads" = 2\n',
    ],
)
def test_another_way_of_writing_is_left_to_a_person(text: str) -> None:
    with pytest.raises(ConfigError, match=r"by hand: stt\.threads = 4.*\[config-not-edited\]"):
        edit(text, {"stt.threads": 4})


def test_line_ends_stay() -> None:
    assert edit("[stt]\r\nthreads = 2\r\n", {"stt.threads": 4}) == "[stt]\r\nthreads = 4\r\n"


def test_every_key_of_the_shipped_file_can_be_edited_and_the_rest_stays() -> None:
    text = bundled("config.toml").read_text()
    there = KEYS.keys() & keys(text).keys()
    changes = {path: OTHERS[type(KEYS[path])] for path in there}
    edited = edit(text, changes)
    assert keys(edited) == keys(text) | changes
    comments = [line.partition(" # ")[2] for line in text.split("\n")]
    assert [line.partition(" # ")[2] for line in edited.split("\n")] == comments


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20))
def test_any_text_can_be_a_value(value: str) -> None:
    text = '[stt]\nmodel = "x"  # which\nthreads = 2\n'
    once = edit(text, {"stt.model": value})
    assert tomllib.loads(once) == {"stt": {"model": value, "threads": 2}}
    assert tomllib.loads(edit(once, {"stt.model": "x"})) == tomllib.loads(text)


def test_the_file_is_written_and_its_copy_kept(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[stt]\nthreads = 2 # two\n")
    file.chmod(0o640)
    diff, copy = write(file, {"stt.threads": 4}, NOW)
    assert file.read_text() == "[stt]\nthreads = 4 # two\n"
    assert file.stat().st_mode & 0o777 == 0o640
    assert copy == tmp_path / "config.toml.20261120-093005.bak"
    assert diff.splitlines()[-2:] == ["-threads = 2 # two", "+threads = 4 # two"]
    _, second = write(file, {"stt.threads": 8}, NOW)
    assert second == tmp_path / "config.toml.20261120-093005.2.bak", "the first copy stays"
    kept = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert kept == {
        file.name: "[stt]\nthreads = 8 # two\n",
        copy.name: "[stt]\nthreads = 2 # two\n",
        second.name: "[stt]\nthreads = 4 # two\n",
    }


def test_nothing_to_change(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[stt]\nthreads = 2\n")
    assert write(file, {"stt.threads": 2}, NOW) == ("", None)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    diff, copy = write(file, {"stt.threads": 4}, NOW)
    assert file.read_text() == "[stt]\nthreads = 4\n"
    assert copy is None
    assert "+threads = 4" in diff


def test_a_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "config.toml"
    real.write_text("[stt]\nthreads = 2\n")
    link.symlink_to(real)
    write(link, {"stt.threads": 4}, NOW)
    assert link.is_symlink()
    assert real.read_text() == "[stt]\nthreads = 4\n"


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[stt\n")
    with pytest.raises(ConfigError, match=r"config\.toml.*\[config-not-toml\]"):
        write(file, {"stt.threads": 4}, NOW)
    assert file.read_text() == "[stt\n"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere, so here the disk is full."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "config.toml"
    file.write_text("[stt]\nthreads = 2\n")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match=r"No space left.*\[config-unwritable\]"):
        write(file, {"stt.threads": 4}, NOW)
    assert file.read_text() == "[stt]\nthreads = 2\n"
    assert not list(tmp_path.glob("*.tmp"))


def test_a_power_cut_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy and the new file are flushed before the rename, the folder after it."""
    file = tmp_path / "config.toml"
    file.write_text("[stt]\nthreads = 2\n")
    calls: list[tuple[str, str, str]] = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        calls.append(("fsync", path.name, "" if path.is_dir() else path.read_text()))
        fsync(fd)

    def watched_replace(source: Path, target: Path) -> None:
        calls.append(("replace", source.name, target.name))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    _, copy = write(file, {"stt.threads": 4}, NOW)
    assert copy is not None
    assert calls == [
        ("fsync", copy.name, "[stt]\nthreads = 2\n"),
        ("fsync", "config.toml.tmp", "[stt]\nthreads = 4\n"),
        ("replace", "config.toml.tmp", "config.toml"),
        ("fsync", tmp_path.name, ""),
    ]


def test_the_mark_that_windows_puts_before_a_text(tmp_path: Path) -> None:
    """The loader reads such a file, so it can be edited as well."""
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbf[stt]\r\nthreads = 2\r\n")
    write(file, {"stt.threads": 4}, NOW)
    assert file.read_bytes().removeprefix(b"\xef\xbb\xbf") == b"[stt]\r\nthreads = 4\r\n"

"""A page is opened on request, or when somebody sits at a terminal."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import webbrowser
from pathlib import Path

import pytest

from pipeline.cli.browser import add_browser, open_page, open_with_token, printed
from tests.support.programs import put_program


@pytest.mark.parametrize(
    ("flag", "is_terminal", "opened"),
    [
        ([], True, True),
        ([], False, False),
        (["--browser"], False, True),
        (["--no-browser"], True, False),
    ],
)
def test_a_page_is_opened_where_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch, flag: list[str], is_terminal: bool, opened: bool
) -> None:
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    parser = argparse.ArgumentParser()
    add_browser(parser)
    open_page("http://127.0.0.1/", parser.parse_args(flag).browser)
    assert pages == ["http://127.0.0.1/"] * opened


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    return pages


def test_a_token_reaches_the_browser_by_a_file_of_its_owner(
    opened: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "open-operator.html"
    file.write_text("what others may read")
    file.chmod(0o666)
    with file.open() as others:
        open_with_token('to"ken', "http://127.0.0.1:8123/operator", tmp_path, True)
        assert others.read() == "what others may read"
    assert opened == [file.as_uri()]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert 'href="http://127.0.0.1:8123/operator#token=to%22ken"' in file.read_text()


def test_without_a_place_for_that_file_no_browser_is_opened(
    opened: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    open_with_token("hush", "http://127.0.0.1:8123/operator", tmp_path / "gone", True)
    assert opened == []
    output = capsys.readouterr().err
    assert "Open the address yourself" in output
    assert "hush" not in output
    open_with_token("hush", "http://127.0.0.1:8123/operator", tmp_path, False)
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_printed_where_users_have_no_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = 'for each; do case $each in --print-to-pdf=*) printf made > "${each#*=}";; esac; done'
    put_program(tmp_path, writes, monkeypatch, "chromium")
    monkeypatch.delattr(os, "geteuid")
    assert printed("<p>Amen.</p>") == b"made"

"""A page is opened where that was asked for, or where somebody sits at a terminal."""

from __future__ import annotations

import argparse
import sys
import webbrowser

import pytest

from pipeline.cli.browser import add_browser, open_page


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

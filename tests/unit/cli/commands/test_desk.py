"""`desk` as it is typed."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from pipeline.cli.main import main


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the browser was asked to open."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "operator-token").write_text("se-cret_1\n")
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    return pages


def test_it_opens_the_page_with_the_token(
    opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desk", "--port", "8123", "--browser"]) == 0
    assert opened == ["http://127.0.0.1:8123/operator#token=se-cret_1"]
    assert opened[0] in capsys.readouterr().out


def test_the_link_for_a_tablet_has_this_machines_address(
    opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desk", "--port", "8123", "--host", "0.0.0.0"]) == 0
    told = capsys.readouterr().out
    assert "0.0.0.0" not in told
    assert ":8123/operator#token=se-cret_1" in told
    assert opened == [], "there is no terminal here"


def test_what_stands_in_the_way_is_told(
    opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desk", "--port", "0"]) == 2
    assert "[port-unknown]" in capsys.readouterr().err
    assert main(["desk", "--sessions", "elsewhere", "--port", "1"]) == 1
    assert "[token-missing]" in capsys.readouterr().err
    assert opened == []

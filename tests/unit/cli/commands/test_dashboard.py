"""`dashboard` as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.main import main
from tests.support.services import GOOD, NAME, hold


def test_the_page_is_kept_beside_the_sessions_or_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["dashboard"]) == 1
    assert "[session-missing]" in capsys.readouterr().err
    hold(tmp_path / "sessions", [GOOD])
    assert main(["dashboard"]) == 0
    assert NAME in Path("sessions/dashboard.html").read_text(encoding="utf-8")
    assert main(["dashboard", "--out", "all.html"]) == 0
    assert "1 services are in all.html" in capsys.readouterr().err

"""The commands `report` and `dashboard`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.main import main
from scripts.support.browser import CHROMIUM
from scripts.support.journal import message, record, session
from tests.support.needs import needs_file
from tests.support.services import GOOD, hold

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_the_page_is_kept_beside_the_session_or_where_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    captions, records = [message(1, "Grace", "Gracia")], [record(1, "Grace", "Gracia")]
    folder = session(tmp_path / "sessions", captions, records=records)
    assert main(["report", "last"]) == 0
    assert capsys.readouterr().err == f"{folder.name} is in sessions/{folder.name}/report.html\n"
    assert main(["report", folder.name, "--out", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == (folder / "report.html").read_text(encoding="utf-8")
    assert "Gracia" in page
    assert main(["report", "last", "--reference", "nothing.json"]) == 1
    assert capsys.readouterr().err.strip().endswith("[reference-unreadable]")


def test_the_page_is_kept_beside_the_sessions_or_where_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dashboard"]) == 1
    assert "[session-missing]" in capsys.readouterr().err
    hold(tmp_path / "sessions", [GOOD])
    assert main(["dashboard"]) == 0
    assert "Sun 22 Nov, 9:30" in Path("sessions/dashboard.html").read_text(encoding="utf-8")
    assert main(["dashboard", "--out", "all.html"]) == 0
    assert "1 service is in all.html" in capsys.readouterr().err


@pytest.mark.slow
def test_a_pdf_is_one_and_other_names_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_file(CHROMIUM)
    hold(tmp_path / "sessions", [GOOD])
    # The tests' own browser may have another name than a user's.
    (tmp_path / "chromium").symlink_to(CHROMIUM)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["report", "last", "--out", "r.pdf"]) == 0, capsys.readouterr().err
    assert Path("r.pdf").read_bytes().startswith(b"%PDF-")
    monkeypatch.setenv("PATH", "")
    assert main(["dashboard", "--out", "all.pdf"]) == 2
    assert "[pdf-no-browser]" in capsys.readouterr().err
    assert main(["report", "last", "--out", "r.docx"]) == 2
    assert "[report-format]" in capsys.readouterr().err
    assert not Path("all.pdf").exists()
    assert not Path("r.docx").exists()

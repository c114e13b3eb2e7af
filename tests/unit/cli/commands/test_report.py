"""The commands `report` and `dashboard`."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.support.browser import CHROMIUM
from scripts.support.journal import message, record, session
from tests.support.cli import Cli
from tests.support.needs import needs_file
from tests.support.services import GOOD, hold

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_the_page_is_kept_beside_the_session_or_where_asked(tmp_path: Path, cli: Cli) -> None:
    captions, records = [message(1, "Grace", "Gracia")], [record(1, "Grace", "Gracia")]
    folder = session(tmp_path / "sessions", captions, records=records)
    assert cli("report last").err == f"{folder.name} is in sessions/{folder.name}/report.html\n"
    cli("report", folder.name, "--out", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == (folder / "report.html").read_text(encoding="utf-8")
    assert "Gracia" in page
    assert "[reference-unreadable]" in cli("report last --reference nothing.json", code=1).err


def test_the_page_is_kept_beside_the_sessions_or_where_asked(tmp_path: Path, cli: Cli) -> None:
    assert "[session-missing]" in cli("dashboard", code=1).err
    hold(tmp_path / "sessions", [GOOD])
    cli("dashboard")
    assert "Sun 22 Nov, 9:30" in Path("sessions/dashboard.html").read_text(encoding="utf-8")
    assert "1 service is in all.html" in cli("dashboard --out all.html").err


@pytest.mark.slow
def test_a_pdf_is_one_and_other_names_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    needs_file(CHROMIUM)
    hold(tmp_path / "sessions", [GOOD])
    # The tests' own browser may have another name than a user's.
    (tmp_path / "chromium").symlink_to(CHROMIUM)
    monkeypatch.setenv("PATH", str(tmp_path))
    cli("report last --out r.pdf")
    assert Path("r.pdf").read_bytes().startswith(b"%PDF-")
    monkeypatch.setenv("PATH", "")
    assert "[pdf-no-browser]" in cli("dashboard --out all.pdf", code=2).err
    assert "[report-format]" in cli("report last --out r.docx", code=2).err
    assert not Path("all.pdf").exists()
    assert not Path("r.docx").exists()

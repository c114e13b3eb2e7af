"""`report` as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.main import main
from scripts.support.journal import message, record, session


def test_the_page_is_kept_beside_the_session_or_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
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

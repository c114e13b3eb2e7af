"""The page of all services, from real sessions."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.dictionary.rules import Rule
from pipeline.learning.compare import COMPARISONS, ModelComparison
from pipeline.learning.cycle import keep_focus
from pipeline.learning.dashboard import dashboard, figures
from pipeline.learning.data.collect import CollectSettings, collect
from pipeline.learning.data.folder import DataFolder
from tests.support.services import GOOD, NAME, STARTED, UNSURE, WRONG, decide, hold

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [hold(tmp_path, [GOOD, UNSURE, WRONG])]
    decide(made[0], 1, "approved", GOOD.source, GOOD.target)
    decide(made[0], 2, "corrected", "Turn with me to the book of Esther.", UNSURE.target)
    made.append(hold(tmp_path, [GOOD], started=STARTED + timedelta(days=7)))
    return made


def test_a_service_in_figures(folders: list[Path]) -> None:
    found = figures(folders[0])
    assert (found.name, found.captions, found.minutes) == (NAME, 3, 15.0)
    assert found.good == pytest.approx(2 / 3)
    assert found.wer == pytest.approx(1 / 14, abs=1e-3), "Ezra was said for Esther"
    assert found.reviewed_minutes == pytest.approx(0.1)
    assert len(found.estimates) == 3
    assert figures(folders[1]).wer is None


def test_the_page_tells_what_to_look_at_next(folders: list[Path], tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "learning")
    assert "What to look at next" not in dashboard(folders, data)
    assert "Church words misheard" not in dashboard(folders, data)
    rule = Rule("esther", ("as tar",), "Esther")
    with data.hold():
        collect(data, folders, CollectSettings(rules=[rule], speaker="<Ana>"))
        keep_focus(data, folders[0].parent)
    assert figures(folders[0], data.harvest(NAME)).terms == 1.0, "extra was heard for Esther"
    page = dashboard(folders, data)
    for said in (
        "What to look at next",
        "Esther: misheard",
        "&lt;Ana&gt; is heard worst",
        "Church words misheard",
    ):
        assert said in page
    assert "<Ana>" not in page


def test_the_page_tells_of_all_services_and_models(folders: list[Path], tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "learning")
    compared = ModelComparison(
        utc="2026-11-22T09:30:00.000+00:00",
        role="gemma",
        old="starter",
        new=HOSTILE,
        old_sha256="",
        new_sha256="",
        measured=(),
        old_ms=None,
        new_ms=None,
        verdict="keep",
        reasons=("chrF++ of gate -3.0 (-4.0 to -2.0)",),
    )
    COMPARISONS.append(data, compared)
    page = dashboard(folders, data)
    for said in (
        "Sun 22 Nov, 9:30",
        "2 services",
        "Words misheard",
        "How sure",
        "7.1 %",
        "keep",
        "chrF++",
    ):
        assert said in page
    assert "What went wrong" not in page.split("<table>")[0], "nothing did"
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_a_broken_session_is_named_and_left_out(folders: list[Path], tmp_path: Path) -> None:
    (folders[1] / "diagnostics.jsonl").unlink()
    page = dashboard(folders, DataFolder(tmp_path / "learning"))
    assert "1 service," in page
    assert "diagnostics.jsonl cannot be read: No such file" in page


def test_a_service_without_speech_has_no_figures(tmp_path: Path) -> None:
    silent = hold(tmp_path, [])
    found = figures(silent)
    assert (found.captions, found.p95_s, found.good, found.estimates) == (0, None, None, ())

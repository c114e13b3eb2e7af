"""What the last review has taught."""

from __future__ import annotations

from pathlib import Path

from pipeline.learning.data.collect import CollectSettings, collect
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.data.lesson import last_lesson
from tests.support.services import GOOD, UNSURE, decide, hold


def test_the_next_review_is_told_what_the_last_one_taught(tmp_path: Path) -> None:
    data, settings = DataFolder(tmp_path / "learning"), CollectSettings(rules=())
    folder = hold(tmp_path, [GOOD, UNSURE])
    with data.hold():
        collect(data, [folder], settings)
    assert last_lesson(data) == ""
    decide(folder, 2, "corrected", UNSURE.source, "Vayan conmigo a Esdras.")
    with data.hold():
        collect(data, [folder], settings)
    assert last_lesson(data) == (
        "Last time: 1 correction. They taught 1 sentence and 1 misheard word."
    )

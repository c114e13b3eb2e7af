"""The list of the starter models' files equals the script's output."""

from __future__ import annotations

from pipeline.core.resources import bundled
from pipeline.models.integrity import shipped_files
from tests.support.needs import needs_file
from training.export.list_shipped_files import listed


def test_it_lists_what_is_there() -> None:
    folder = bundled("models", "starter")
    needs_file(folder / "stt")
    assert listed(folder) == shipped_files(folder)

"""A shipped edition is built again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.church.scripture import editions
from pipeline.church.scripture.editions import Edition
from pipeline.church.scripture.numbering import changes_of, renumber
from scripts.quality.verse_numbering import main


@pytest.mark.slow
def test_an_edition_is_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = changes_of("kjv")
    lacking = Edition("kjv", "en", "King James", "public domain", {(1, 1, 1): "In the beginning."})
    before = editions.write(lacking, tmp_path)
    assert main(["kjv", str(before), "--to", str(tmp_path / "out")]) == 0
    assert "18 changes, 1 verses before, 19 now" in capsys.readouterr().out
    found = editions.read(tmp_path / "out" / "kjv.tsv.xz", "kjv")
    assert found == replace(lacking, verses=renumber(lacking.verses, changes))

from __future__ import annotations

import json
from pathlib import Path

import pytest
import soundfile

from pipeline.core.errors import SessionError
from pipeline.core.resources import bundled
from pipeline.evaluation.reference import read_voices


def test_the_recordings_that_ship_are_all_described() -> None:
    voices = read_voices(bundled("demo", "voices"))
    assert {file.name for file in voices} == {
        file.name for file in bundled("demo", "voices").glob("*.flac")
    }
    for file, voice in voices.items():
        assert soundfile.info(file).duration > 3
        assert voice.text
        assert voice.note, "source and licence"


@pytest.mark.parametrize("content", [None, "", "[]", '{"a.flac": {}}', json.dumps({"a": "b"})])
def test_descriptions_that_are_none(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "voices.json").write_text(content)
    with pytest.raises(SessionError, match=r"voices\.json.*\[reference-unreadable\]"):
        read_voices(tmp_path)

"""The real program with a streaming recognizer: captions and records."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.resources import bundled
from scripts.support.program import started
from tests.support.needs import needs_file, needs_module
from tests.support.schemas import problems

pytestmark = pytest.mark.slow

KENNEDY = bundled("demo", "voices", "jfk_1961.flac")
ENGINE, MODEL = "STARK_TRANSLATE__STT__ENGINE", "STARK_TRANSLATE__STT__MODEL"


def test_moonshine_captions_a_human_voice(tmp_path: Path) -> None:
    needs_module("moonshine_voice")
    needs_file(KENNEDY)
    chosen = {ENGINE: "moonshine"}
    with started("run", "--input", str(KENNEDY), "--pace", "fast", cwd=tmp_path, **chosen) as run:
        assert run.end(120) == 0
        finals = run.records()
        said = " ".join(each["raw_text"] for each in finals)
        assert "what you can do for your country." in said, said
        assert {each["filtered"] for each in finals} <= {None, ""}, finals
        assert [each["source"]["text"] for each in run.journal()][-1].endswith("country.")
        (models,) = [each for each in run.records("event") if each["event"] == "models"]
        hears = models["models"][0]
        assert (hears["engine"], hears["file"]) == ("moonshine", "decoder_model_merged.ort")
        for record in (*finals, models):
            assert problems(f"records/{record['type']}", record) == [], record

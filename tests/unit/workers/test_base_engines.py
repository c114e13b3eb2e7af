"""The engines of a service: which have their own process, and which stage each belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.loader import load
from pipeline.engines.process.factory import engine_processes
from pipeline.workers.base import Engines
from tests.support.fakes import FakeDetector, FakeSource, pcm_of

pytestmark = pytest.mark.usefixtures("own_final_model")


def test_what_languages_share_is_one_process_of_the_first_of_them(tmp_path: Path) -> None:
    gguf = tmp_path / "any.gguf"
    gguf.touch()
    (tmp_path / "config.toml").write_text(
        f"""
        [stt]
        model = "starter"
        [translate.final]
        model = "{gguf}"
        [[translate.targets]]
        lang = "fr"
        partial = {{ engine = "none" }}
        [[translate.targets]]
        lang = "de"
        partial = {{ engine = "none" }}
        final = {{ deadline_s = 20.0 }}
        [[translate.targets]]
        lang = "ko"
        partial = {{ engine = "none" }}
        final = {{ threads = 3 }}
        """
    )
    made = engine_processes(load(tmp_path / "config.toml").settings, compare=False)
    engines = Engines(
        source=FakeSource(pcm_of([], 1.0)),
        detector=FakeDetector(),
        recognizer=made.recognizer,
        targets=made.targets,
    )
    stages = [stage for stage, _ in engines.by_stage()]
    assert stages == ["transcribe", "transcribe", "translate", "translate-ko"]
    assert [engine.part.key for _, engine in engines.by_stage()] == [
        *("stt", "partial", "final", "final-ko")
    ]

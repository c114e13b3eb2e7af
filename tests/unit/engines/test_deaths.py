"""What an engine's process died of, as errors that say what to do."""

from __future__ import annotations

from pathlib import Path

from pipeline.engines.deaths import Cause, crashed_before, crashes_always, died
from pipeline.engines.specification import FINAL, EngineSpec
from pipeline.models.crash_history import Crashes

SPEC = EngineSpec("gemma", "gemma", Path("/m/g.gguf"), {})
CAUSE = Cause("engine-crashed", "crashed (SIGSEGV: free(): invalid pointer)")


def test_a_death_names_engine_cause_and_model() -> None:
    loading = died(SPEC, FINAL, CAUSE, has_loaded=False)
    assert loading.code == "engine-crashed"
    assert loading.message == (
        "The final translator crashed (SIGSEGV: free(): invalid pointer) while it loaded /m/g.gguf."
    )
    assert "with /m/g.gguf" in died(SPEC, FINAL, CAUSE, has_loaded=True).message


def test_a_model_that_is_given_up_says_when_it_is_tried_again() -> None:
    now = crashes_always(SPEC, FINAL, CAUSE)
    assert "3 times in a row" in now.message
    assert "`stark-translate check`" in now.fix
    before = crashed_before(SPEC, Crashes(3, "2026-11-22T10:00:00+00:00", CAUSE.words))
    assert "/m/g.gguf is not loaded: on 2026-11-22" in before.message
    assert "free(): invalid pointer" in before.message
    assert (now.code, now.exit_code) == (before.code, before.exit_code) == ("model-crashes", 70)

"""Unavailable engines: they give the reason when they are loaded, and at each call."""

from __future__ import annotations

import pytest

from pipeline.core.errors import EngineError, ModelError
from pipeline.engines.process.broken import BrokenEngine

ERROR = ModelError("model-broken", "It is damaged.", "Pull it again.")


def test_each_tells_of_its_model_at_its_start_and_at_each_call() -> None:
    engine = BrokenEngine(ERROR)
    with pytest.raises(ModelError, match="Pull it again"):
        engine.load()
    with pytest.raises(EngineError, match="damaged"):
        engine.translate("Grace.")
    with pytest.raises(EngineError, match="damaged"):
        engine.speak("Gracia.", "es", 1.0)

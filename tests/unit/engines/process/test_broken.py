"""Unavailable engines: they give the reason when they are loaded, and at each call."""

from __future__ import annotations

import pytest

from pipeline.core.errors import EngineError, ModelError
from pipeline.engines.process.broken import BrokenSpeaker, BrokenTranslator

ERROR = ModelError("model-broken", "It is damaged.", "Pull it again.")


def test_each_tells_of_its_model_at_its_start_and_at_each_call() -> None:
    translator, speaker = BrokenTranslator(ERROR), BrokenSpeaker(ERROR)
    for load in (translator.load, speaker.load):
        with pytest.raises(ModelError, match="Pull it again"):
            load()
    with pytest.raises(EngineError, match="damaged"):
        translator.translate("Grace.")
    with pytest.raises(EngineError, match="damaged"):
        speaker.speak("Gracia.", "es", 1.0)

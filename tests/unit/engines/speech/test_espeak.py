"""espeak-ng speaks: every input gives sound, silence or an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import EngineError, ModelError
from pipeline.engines.speech import espeak
from pipeline.engines.speech.espeak import RATE_HZ, Espeak
from tests.support.needs import needs_program


@pytest.fixture
def voice() -> Espeak:
    needs_program("espeak-ng")
    made = Espeak(Path("espeak-ng"), section="speech", deadline_s=20.0)
    made.load()
    return made


def test_it_speaks_and_faster_where_it_is_asked_to(voice: Espeak) -> None:
    usual, faster = (voice.speak("Dios es fiel, y vuelve.", "es", rate) for rate in (1.0, 1.25))
    assert usual.dtype == np.float32
    assert 1.0 < len(usual) / RATE_HZ < 4.0
    assert 0.02 < float(np.sqrt(np.mean(usual**2))) < 0.5
    assert 0.7 < len(faster) / len(usual) < 0.9


@pytest.mark.parametrize("text", ["", "   ", "😀🙏", "... — !", "上帝 мир", "\ud83d"])
def test_where_nothing_can_be_said_it_is_silent(voice: Espeak, text: str) -> None:
    assert voice.speak(text, "es", 1.0).shape == (0,)


def test_a_very_long_text_and_one_like_an_option_are_spoken(voice: Espeak) -> None:
    assert len(voice.speak("Dios es amor. " * 143, "es", 1.0)) > 60 * RATE_HZ
    assert len(voice.speak("--version -v en hola", "es", 1.0)) > 0


def test_an_unknown_language_and_a_slow_machine_are_reasons(voice: Espeak) -> None:
    with pytest.raises(EngineError, match="does not exist") as failed:
        voice.speak("hola", "xx", 1.0)
    assert failed.value.code == "speech-failed"
    assert not espeak.can_speak("xx")
    assert espeak.can_speak("pt")
    slow = Espeak(Path("espeak-ng"), section="speech", deadline_s=0.0001)
    with pytest.raises(EngineError) as late:
        slow.speak("hola", "es", 1.0)
    assert late.value.code == "speech-late"


def test_a_missing_program_is_named_with_what_to_do(
    voice: Espeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ModelError, match="sudo apt install espeak-ng") as missing:
        voice.load()
    assert missing.value.code == "espeak-missing"
    assert espeak.can_speak("es")  # unknown without the program


def test_a_program_that_goes_away_in_a_service_costs_clauses_and_no_more(
    voice: Espeak, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setenv("PATH", "/nowhere")
        with pytest.raises(EngineError, match="not installed") as missing:
            voice.speak("hola", "es", 1.0)
    assert missing.value.code == "espeak-missing"
    assert len(voice.speak("hola", "es", 1.0)) > 0

"""A service's captions as one MP3."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.errors import EngineError, EngineGoneError
from pipeline.core.types import Pcm, Verse
from pipeline.engines.speech.espeak import Espeak
from pipeline.voice.voice import recorded
from scripts.support.journal import message
from tests.support.needs import needs_program


class Listening(Espeak):
    """Espeak that keeps the texts that it is asked to say."""

    def __init__(self) -> None:
        super().__init__(Path("espeak-ng"), section="speech", deadline_s=20.0)
        self.asked: list[str] = []
        self.errors: dict[str, EngineError] = {}

    def speak(self, text: str, lang: str, rate: float) -> Pcm:
        self.asked.append(text)
        if error := self.errors.get(text):
            raise error
        return super().speak(text, lang, rate)


@pytest.fixture
def voice() -> Listening:
    needs_program("espeak-ng")
    return Listening()


VERSE = Verse("Juan 3:16", "De tal manera amó Dios al mundo.", "rv1909", "es")


def test_it_says_the_newest_version_and_nothing_that_was_hidden(voice: Listening) -> None:
    messages = [
        message(1, "said", "Esto se oyó mal."),
        message(1, "said", "Dios es fiel.", seq=9),
        message(2, "said", "Esto se ocultó."),
        message(2, "", "", seq=10, engine="operator"),
        message(3, "only heard", "only heard", lang="en"),
        replace(message(4, "said", "Porque Dios amó tanto"), verse=VERSE),
    ]
    sound = b"".join(recorded(messages, "es", voice))
    assert voice.asked == ["Dios es fiel.", "De tal manera amó Dios al mundo."]
    assert len(sound) > 6_000


def test_what_cannot_be_said_is_left_out_and_a_dead_engine_ends_it(voice: Listening) -> None:
    messages = [message(key, "said", text) for key, text in enumerate(("Uno.", "😀", "Dos."), 1)]
    voice.errors["Uno."] = EngineError("speech-late", "It took too long.")
    assert b"".join(recorded(messages, "es", voice))
    assert voice.asked == ["Uno.", "😀", "Dos."]
    voice.errors["Dos."] = EngineGoneError("engine-gone", "It is gone.")
    with pytest.raises(EngineGoneError):
        list(recorded(messages, "es", voice))

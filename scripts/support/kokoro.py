"""The church's voice, as scripts use it: loaded, and with time enough on a busy machine."""

from __future__ import annotations

from pathlib import Path

from pipeline.engines.speech.kokoro import Kokoro
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve


def kokoro(*langs: str, library: ModelLibrary | None = None, voices: Path | None = None) -> Kokoro:
    """Return Kokoro for some languages, from the user's own `library` unless another is given.

    `voices` is a folder of other voices than the shipped ones. Raises StarkError.
    """
    model = resolve("speech", "kokoro-82m-int8", library)
    voice = Kokoro(
        model, section="speech", languages=langs, threads=1, deadline_s=600.0, voices=voices
    )
    voice.load()
    return voice

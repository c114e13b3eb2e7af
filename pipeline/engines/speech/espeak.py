"""espeak-ng, a separate program (GPL-3) that speaks many languages and gives phonemes."""

from __future__ import annotations

import io
import shutil
import subprocess
import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.types import Pcm
from pipeline.text.spoken import sayable

PROGRAM = "espeak-ng"
RATE_HZ = 24_000
"""Samples per second of every voice."""
_VOICES = {"fr": "fr-fr", "pt": "pt-br", "en": "en-us", "zh": "cmn", "no": "nb"}
"""espeak-ng's language names that differ from our codes."""
_WORDS_A_MINUTE = 160


def program() -> Path:
    """Return the path of espeak-ng. Raises ModelError (espeak-missing)."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise ModelError(
            "espeak-missing",
            f"[speech] needs the program {PROGRAM}, which is not installed.",
            f"Install it: sudo apt install {PROGRAM}",
        )
    return Path(found)


def can_speak(lang: str) -> bool:
    """Return whether espeak-ng has a voice for a language; True if that cannot be found out."""
    try:
        listed = _run([f"--voices={_VOICES.get(lang, lang)}"], "", 10.0)
    except EngineError:
        return True
    return len(listed.splitlines()) > 1  # the first line is the table's header


def phonemes(text: str, lang: str, timeout_s: float) -> str:
    """Return a text in the phonetic alphabet (IPA); a ^ joins the letters of one sound.

    Raises EngineError.
    """
    said = _run(["-q", "--ipa", "--tie=^", *_voice(lang)], text, timeout_s)
    return " ".join(said.decode(errors="replace").split())


class Espeak:
    """Speaks with espeak-ng's own voice. Belongs to one thread."""

    name = "espeak"
    degraded_reason = ""
    gpu_layers = 0

    def __init__(self, model: Path, *, section: str, deadline_s: float) -> None:  # noqa: ARG002
        self._deadline_s = deadline_s

    def load(self) -> None:
        """Raises ModelError if the program is missing."""
        program()

    def speak(self, text: str, lang: str, rate: float) -> Pcm:
        """See `Speaker`. Raises EngineError (speech-late, speech-failed, espeak-missing)."""
        if not (said := sayable(text, lang)):
            return np.zeros(0, np.float32)
        words = round(_WORDS_A_MINUTE * rate)
        sound = _run(["--stdout", "-s", str(words), *_voice(lang)], said, self._deadline_s)
        try:
            with wave.open(io.BytesIO(sound)) as file:
                # The audio comes from a pipe: its 44-byte header does not know the length.
                samples = np.frombuffer(sound[44:], "<i2").astype(np.float32) / 32768
                rate_hz = file.getframerate()
        except (wave.Error, EOFError, ValueError) as error:
            raise EngineError("speech-failed", f"{PROGRAM} gave no sound: {error}.") from None
        import soxr  # noqa: PLC0415 - heavy libraries load with an engine

        resampled: Pcm = soxr.resample(samples, rate_hz, RATE_HZ)
        return resampled


def _voice(lang: str) -> Sequence[str]:
    # Text on stdin: an argument may begin with a hyphen, and other users can read it.
    return ("-v", _VOICES.get(lang, lang), "--stdin")


def _run(arguments: Sequence[str], text: str, timeout_s: float) -> bytes:
    try:
        path = program()
    except ModelError as missing:
        # Fail only this clause: later ones work once the program is back, as after an upgrade.
        raise EngineError(missing.code, missing.message, missing.fix) from None
    try:
        done = subprocess.run(  # noqa: S603 - the text goes to its standard input
            [path, *arguments],
            # espeak-ng ends a text at a line break.
            input=" ".join(text.split()).encode(),
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        said = f"{PROGRAM} took longer than {timeout_s:.1f} s."
        raise EngineError("speech-late", said) from None
    except OSError as error:
        raise EngineError("speech-failed", f"{PROGRAM}: {error.strerror}.") from None
    if done.returncode:
        reason = " ".join(done.stderr.decode(errors="replace").split()).rstrip(".")
        raise EngineError("speech-failed", f"{PROGRAM}: {reason or done.returncode}.")
    return done.stdout

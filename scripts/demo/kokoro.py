"""Speaks English with the program's own Kokoro, in any of its American voices.

    stark-translate models pull kokoro-82m-int8
    npm pack kokoro-js && tar xzf kokoro-js-*.tgz package/voices    # a voice is half a megabyte

Only the demo's recording needs it, when it is made again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from pipeline.core.errors import StarkError, UsageError
from pipeline.engines.speech.kokoro import Kokoro
from scripts.demo.music import Samples
from scripts.support.kokoro import kokoro


def speak(text: str, voice: str, speed: float) -> Samples:
    """Return a sentence in an American voice such as am_michael, at 24 kHz.

    KOKORO_VOICES names the folder of voices (package/voices). Raises UsageError if one is missing.
    """
    return _speaker(voice).speak(text, "en", speed).astype(np.float64)


@cache
def _speaker(voice: str) -> Kokoro:
    folder = Path(tempfile.mkdtemp())
    try:
        named = Path(os.environ.get("KOKORO_VOICES", "package/voices"), f"{voice}.bin")
        shutil.copyfile(named, folder / "en.bin")
        return kokoro("en", voices=folder)
    except (OSError, StarkError) as problem:
        fix = "scripts/demo/kokoro.py says what is needed."
        raise UsageError("no-kokoro", f"{problem}", fix) from None

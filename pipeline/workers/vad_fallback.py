"""Speech or not, also when the voice activity model fails: then loudness decides, until it works.

Loudness takes coughs and the organ for speech, which the recognizer then has to make out. But it
takes speech for speech, and a service without a single caption is worse.
"""

from __future__ import annotations

import time

from pipeline.audio.level import level_dbfs
from pipeline.audio.protocols import SpeechDetector
from pipeline.core.backoff import Backoff
from pipeline.core.errors import EngineError
from pipeline.core.reports import Emit, Fault
from pipeline.core.types import Pcm

LOUD_DBFS = -45.0
"""A block that is louder may be speech, which is 15 dB above that or more."""

_REST_S = (2.0, 60.0)


class FallbackDetector:
    """A SpeechDetector that never fails, around one that may."""

    def __init__(self, detector: SpeechDetector, emit: Emit) -> None:
        """Take the detector, and whom to tell when it fails."""
        self._detector = detector
        self._emit = emit
        # At the first error: it is asked 31 times a second, and would report as many.
        self._backoff = Backoff(after=1, first_s=_REST_S[0], most_s=_REST_S[1])

    @property
    def degraded_reason(self) -> str:
        """Why it is degraded, "" when it is not. Any thread may ask."""
        if not self._backoff.is_exhausted:
            return ""
        return "the voice activity model failed; loudness decides what is speech"

    def load(self) -> None:
        """Load the model. Raises ModelError."""
        self._detector.load()

    def probability(self, pcm: Pcm) -> float:
        """Return the model's probability of speech; where it has none 1.0 or 0.0 by loudness."""
        now_s = time.monotonic()
        if not self._backoff.is_active(now_s):
            try:
                probability = self._detector.probability(pcm)
            except EngineError as error:
                self._backoff.failed(now_s)
                self._emit(Fault("listen", error.code, error.message))
                # A nan stays in the model's state until then.
                self._detector.reset()
            else:
                self._backoff.succeeded()
                return probability
        return 1.0 if level_dbfs(pcm) > LOUD_DBFS else 0.0

    def reset(self) -> None:
        """Forget what was heard, after a gap."""
        self._detector.reset()

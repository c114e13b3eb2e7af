"""Has an operator forgotten that captions are held for a song? Counts what is spoken. Pure."""

from __future__ import annotations

from collections import deque

from pipeline.audio.song_gate import ENDED, VOICED
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE

SPOKEN_S = 20.0
"""So much speech ..."""
WITHIN_S = 30.0
"""... in so long, pauses for breath included, is nobody's song."""

_BLOCK_S = BLOCK_SAMPLES / SAMPLE_RATE
_WITHIN = round(WITHIN_S / _BLOCK_S)
_SPOKEN = round(SPOKEN_S / _BLOCK_S)


class ForgottenHold:
    """Takes what two detectors say of each block while an operator holds captions."""

    def __init__(self) -> None:
        self._spoken: deque[bool] = deque(maxlen=_WITHIN)
        self._count = 0
        self._song = 0.0

    def push(self, speech: float, song: float | None) -> bool:
        """Return whether speech has just lasted too long for a song; then it counts anew.

        `speech` and `song` are the detectors' probabilities; between two looks of the song detector
        `song` is None, and its last look holds. Without such a detector a voice is speech.
        """
        if song is not None:
            self._song = song
        is_spoken = speech >= VOICED and self._song < ENDED
        # A running count: else each block would have half a minute of them counted.
        if len(self._spoken) == _WITHIN:
            self._count -= self._spoken[0]
        self._spoken.append(is_spoken)
        self._count += is_spoken
        if self._count < _SPOKEN:
            return False
        self.reset()
        return True

    def reset(self) -> None:
        """Count anew: captions are not held by an operator."""
        # Asked with every block that is not held: seldom is there anything to do.
        if self._spoken:
            self._spoken.clear()
            self._count = 0

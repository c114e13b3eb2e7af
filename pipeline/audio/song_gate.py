"""Which sound is captioned while there is song: a state machine that counts samples. Pure.

Blocks come in with what the voice detector and the song detector think of them, and go on to the
segmenter at once, a little later, or never:

    open     everything goes on
    doubted  it may be song: blocks wait; if it was none after all, they go on, and nothing is lost
    held     five seconds of it: blocks are kept for a while, then forgotten. Two seconds of speech,
             or four without song, end it, and what is kept goes on from their beginning

Where the detector is not sure the gate is open: a lyric on screen is a blemish, a lost sentence is
more than that.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

from pipeline.audio.song_head import STEP_BLOCKS, STEP_S, WINDOW_S
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, AudioBlock, SongControl

SONG_S = 5.0
"""Seconds of song after which it is held."""
DOUBT = 0.65
"""Song is as likely as this, in the mean of three looks, when blocks begin to wait ..."""
NO_DOUBT = 0.4
"""... and less likely when they go on."""
ENDED = 0.3
"""Less likely than this it is something else ..."""
VOICED = 0.4
"""... and speech, where the mean of the voice detector's probabilities is at least this."""

_BLOCK_S = BLOCK_SAMPLES / SAMPLE_RATE
_LAG_S = 1.2
"""A look sees two seconds; about so much of them is of the new kind when it turns."""
_MEAN_OF = 3
# The first look of a new kind comes _LAG_S late, so fewer looks make up two seconds, or four.
_SPEECH_LOOKS = round((2.0 - _LAG_S) / STEP_S) + 1
_QUIET_LOOKS = round((4.0 - _LAG_S) / STEP_S) + 1
_AMONG_LOOKS = max(2 * _SPEECH_LOOKS, _QUIET_LOOKS)
# Longer than a doubt can last, so that a doubt that was none loses nothing.
_KEPT = round(12.0 / _BLOCK_S)
_GAP = round(0.6 / _BLOCK_S)
"""A silence of so many blocks is not inside a sentence."""
_LEAD = round(0.35 / _BLOCK_S)
_NOW = 2**62
"""Later than any sample."""
_SEEN = round((WINDOW_S + 0.4) / _BLOCK_S)
"""Blocks before a look in which the speech that it sees may have begun."""

SPOKEN_S = 20.0
"""So much speech ..."""
WITHIN_S = 30.0
"""... in so long, pauses for breath included, is nobody's song."""
_WITHIN = round(WITHIN_S / _BLOCK_S)
_SPOKEN = round(SPOKEN_S / _BLOCK_S)

Heard = tuple[AudioBlock, float]
"""A block, and the voice detector's probability that it is speech."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What goes on to the segmenter now, in order, and whether the gate has moved."""

    heard: tuple[Heard, ...] = ()
    song_from: int | None = None
    """It has closed: at which sample the song began. What is open was said before, or is song."""
    is_over: bool = False
    """It has opened again."""


class SongGate:
    """Decides block by block. Also holds, or stays open, because an operator wants it."""

    def __init__(self) -> None:
        self.control: SongControl = "auto"
        """What an operator wants; `steer` changes it."""
        self._kept: deque[Heard] = deque(maxlen=_KEPT)
        self._looks: deque[float] = deque(maxlen=_MEAN_OF)
        self._calls: deque[str] = deque(maxlen=_AMONG_LOOKS)
        self._doubted_from: int | None = None
        self._turned = 0
        """Blocks since the first look of those that may end the song."""
        self.is_held = False
        """Whether nothing goes on, because of song."""

    def push(self, heard: Heard, song: float | None) -> Passage:
        """Take a block; `song` is how likely the last two seconds were song, if a look was due."""
        if song is not None:
            self._looks.append(song)
        if self.is_held:
            return self._hold(heard, song)
        if self.control == "caption" or not self._looks:
            return Passage((heard,))
        start, mean = heard[0].start_sample, sum(self._looks) / len(self._looks)
        if self._doubted_from is None:
            # One or two looks prove nothing: blocks go on until there are three.
            if len(self._looks) < _MEAN_OF or mean < DOUBT:
                return Passage((heard,))
            # The looks that made the doubt saw mostly what was before: the song is older.
            self._doubted_from = max(0, start - round((_LAG_S + STEP_S) * SAMPLE_RATE))
        elif mean < NO_DOUBT:
            # All that waited goes on, in order: a doubt that was none has cost time, but no word.
            return Passage((*self._release(0), heard))
        self._kept.append(heard)
        if start - self._doubted_from < SONG_S * SAMPLE_RATE:
            return Passage()
        return self._close(self._doubted_from)

    def steer(self, control: SongControl, *, detects: bool) -> Passage:
        """Do as an operator wants: hold at once, caption whatever is heard, or decide by itself.

        Without a detector (not `detects`) nothing is held but what an operator holds.
        """
        before, self.control = self.control, control
        if control == "hold":
            if self.is_held:
                return Passage()
            # Where nothing was in doubt, all that is open was said before the song.
            return self._close(_NOW if self._doubted_from is None else self._doubted_from)
        if control == "caption" or not detects:
            # What an operator held was song; what the detector held is wanted after all, and whole.
            begin = self._begun() if before == "hold" and self.is_held else 0
            held, heard = self.is_held, self._release(begin) if self._kept else ()
            self.is_held = False
            return Passage(heard, None, held)
        if before == "hold" and self.is_held:
            return Passage(self._release(self._begun()), None, True)
        return Passage()

    def flush(self) -> Passage:
        """Let go on what may be speech: no sound follows for now. An operator's hold lasts."""
        was_held = self.is_held
        # Newest first: only what was heard last tells whether somebody was speaking.
        speaks = "speech" in islice(reversed(self._calls), _SPEECH_LOOKS)
        # Of a song that is held nothing goes on unless somebody was speaking at its end.
        begun = len(self._kept) if was_held and not speaks else self._begun() if was_held else 0
        heard = self._release(begun)
        self.is_held = self.control == "hold"
        return Passage(() if self.is_held else heard, None, was_held and not self.is_held)

    def discard(self) -> bool:
        """Throw away what is kept, and what was thought; return whether that has opened it."""
        was_held = self.is_held
        self._release(0)
        self.is_held = self.control == "hold"
        return was_held and not self.is_held

    def _close(self, song_from: int) -> Passage:
        self.is_held = True
        self._doubted_from = None
        self._calls.clear()
        return Passage(song_from=song_from)

    def _release(self, begin: int) -> tuple[Heard, ...]:
        """Open, with a new mind; return what is kept from the index `begin` on."""
        heard = tuple(islice(self._kept, begin, None))
        self._kept.clear()
        self._looks.clear()
        self._calls.clear()
        self._doubted_from = None
        self.is_held = False
        return heard

    def _hold(self, heard: Heard, song: float | None) -> Passage:
        self._kept.append(heard)
        self._turned += 1
        if song is None:
            return Passage()
        call = self._call(song)
        # The first look that is of another kind: from it on the end of the song is counted back.
        if call != "song" and set(self._calls) <= {"song"}:
            self._turned = 0
        self._calls.append(call)
        if self.control == "hold" or not self._has_ended():
            return Passage()
        return Passage(self._release(self._begun()), None, True)

    def _call(self, song: float) -> str:
        if song >= ENDED:
            return "song"
        # Only the newest quarter second: the look itself still sees the song of before.
        latest = [speech for _, speech in islice(reversed(self._kept), STEP_BLOCKS)]
        return "speech" if sum(latest) / len(latest) >= VOICED else "quiet"

    def _has_ended(self) -> bool:
        last = list(islice(reversed(self._calls), _QUIET_LOOKS))
        if len(last) == _QUIET_LOOKS and "song" not in last:
            return True
        # Not in a row: between two sentences a speaker breathes.
        return last[0] == "speech" and self._calls.count("speech") >= _SPEECH_LOOKS

    def _begun(self) -> int:
        """Return the index of the kept block with which what is said now began.

        A look turns later than the sound does: from there back to a silence, by the voice detector.
        """
        kept = list(self._kept)
        since = self._turned if set(self._calls) - {"song"} else 0
        turned = max(0, len(kept) - 1 - since)
        first, silence = turned, 0
        for index in range(turned, max(-1, turned - _SEEN), -1):
            silence = 0 if kept[index][1] >= VOICED else silence + 1
            if not silence:
                first = index
            elif silence >= _GAP and first < turned:
                break
        return max(0, first - _LEAD)


class ForgottenHold:
    """Counts what is spoken while an operator holds captions for a song: has he forgotten that?"""

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

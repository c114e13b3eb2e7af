"""Keep song from being captioned: a state machine that counts samples. Pure.

Blocks arrive with the probabilities of the voice detector and the song detector. The gate passes
them to the segmenter at once, a little later, or never:

    open     all blocks pass
    doubted  it may be song: blocks wait; if it was none, they all pass, and nothing is lost
    held     after five seconds of song: blocks are kept for a while, then dropped. Two seconds of
             speech, or four without song, end it, and blocks pass from their beginning on

If the detector is not sure, the gate is open: a lyric on screen does less harm than a lost
sentence.
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
"""Probability of song, as the mean of three looks, from which blocks wait."""
NO_DOUBT = 0.4
"""Probability of song below which waiting blocks pass."""
ENDED = 0.3
"""Probability of song below which a look is not song."""
VOICED = 0.4
"""Mean of the voice detector's probabilities from which a look without song is speech."""

_BLOCK_S = BLOCK_SAMPLES / SAMPLE_RATE
_LAG_S = 1.2
"""A look sees two seconds; it changes when about so much of them is of the new kind."""
_MEAN_OF = 3
# The first look of a new kind is _LAG_S late, so fewer looks make two seconds, or four.
_SPEECH_LOOKS = round((2.0 - _LAG_S) / STEP_S) + 1
_QUIET_LOOKS = round((4.0 - _LAG_S) / STEP_S) + 1
_AMONG_LOOKS = max(2 * _SPEECH_LOOKS, _QUIET_LOOKS)
# Longer than a doubt can last, so that a wrong doubt loses nothing.
_KEPT = round(12.0 / _BLOCK_S)
_GAP = round(0.6 / _BLOCK_S)
"""Blocks of silence that do not occur inside a sentence."""
_LEAD = round(0.35 / _BLOCK_S)
_NOW = 2**62
"""Later than any sample."""
_SEEN = round((WINDOW_S + 0.4) / _BLOCK_S)
"""Blocks before a look in which the speech that it sees may have begun."""

SPOKEN_S = 20.0
"""Speech within WITHIN_S that is too much for a song."""
WITHIN_S = 30.0
"""Time in which SPOKEN_S is counted, pauses for breath included."""
_WITHIN = round(WITHIN_S / _BLOCK_S)
_SPOKEN = round(SPOKEN_S / _BLOCK_S)

Heard = tuple[AudioBlock, float]
"""A block and its speech probability."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The blocks that pass to the segmenter now, in order, and the gate's change of state."""

    heard: tuple[Heard, ...] = ()
    song_from: int | None = None
    """The sample at which the song began, if the gate has closed; before it there is speech."""
    is_over: bool = False
    """Whether the gate has opened again."""


class SongGate:
    """Decides block by block. An operator can hold it or keep it open."""

    def __init__(self) -> None:
        self.control: SongControl = "auto"
        """The operator's choice; `steer` changes it."""
        self._kept: deque[Heard] = deque(maxlen=_KEPT)
        self._looks: deque[float] = deque(maxlen=_MEAN_OF)
        self._calls: deque[str] = deque(maxlen=_AMONG_LOOKS)
        self._doubted_from: int | None = None
        self._turned = 0
        """Blocks since the first of the looks that may end the song."""
        self.is_held = False
        """Whether no blocks pass, because of song."""

    def push(self, heard: Heard, song: float | None) -> Passage:
        """Take a block; `song` is the song probability of the last two seconds, None if not due."""
        if song is not None:
            self._looks.append(song)
        if self.is_held:
            return self._hold(heard, song)
        if self.control == "caption" or not self._looks:
            return Passage((heard,))
        start, mean = heard[0].start_sample, sum(self._looks) / len(self._looks)
        if self._doubted_from is None:
            # One or two looks prove nothing: blocks pass until there are three.
            if len(self._looks) < _MEAN_OF or mean < DOUBT:
                return Passage((heard,))
            # The looks are late, so the song began before this block.
            self._doubted_from = max(0, start - round((_LAG_S + STEP_S) * SAMPLE_RATE))
        elif mean < NO_DOUBT:
            # All waiting blocks pass, in order: a wrong doubt has cost time, but no word.
            return Passage((*self._release(0), heard))
        self._kept.append(heard)
        if start - self._doubted_from < SONG_S * SAMPLE_RATE:
            return Passage()
        return self._close(self._doubted_from)

    def steer(self, control: SongControl, *, detects: bool) -> Passage:
        """Follow the operator: hold at once, caption all sound, or decide automatically.

        Without a detector (not `detects`) only an operator can hold.
        """
        before, self.control = self.control, control
        if control == "hold":
            if self.is_held:
                return Passage()
            # Without a doubt, the whole open utterance is speech from before the song.
            return self._close(_NOW if self._doubted_from is None else self._doubted_from)
        if control == "caption" or not detects:
            # What an operator held was song; what the detector held is wanted after all.
            begin = self._begun() if before == "hold" and self.is_held else 0
            held, heard = self.is_held, self._release(begin) if self._kept else ()
            self.is_held = False
            return Passage(heard, None, held)
        if before == "hold" and self.is_held:
            return Passage(self._release(self._begun()), None, True)
        return Passage()

    def flush(self) -> Passage:
        """Pass what may be speech, since no audio follows for now. An operator's hold lasts."""
        was_held = self.is_held
        # Newest first: only the last looks show whether somebody was speaking.
        speaks = "speech" in islice(reversed(self._calls), _SPEECH_LOOKS)
        # Nothing of a held song passes unless somebody was speaking at its end.
        begun = len(self._kept) if was_held and not speaks else self._begun() if was_held else 0
        heard = self._release(begun)
        self.is_held = self.control == "hold"
        return Passage(() if self.is_held else heard, None, was_held and not self.is_held)

    def discard(self) -> bool:
        """Drop the kept blocks and looks; return whether that has opened the gate."""
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
        """Open and reset the gate; return the kept blocks from the index `begin` on."""
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
        # The first look that is not song: the end of the song is counted back from here.
        if call != "song" and set(self._calls) <= {"song"}:
            self._turned = 0
        self._calls.append(call)
        if self.control == "hold" or not self._has_ended():
            return Passage()
        return Passage(self._release(self._begun()), None, True)

    def _call(self, song: float) -> str:
        if song >= ENDED:
            return "song"
        # Only the newest quarter second: the look itself still sees the earlier song.
        latest = [speech for _, speech in islice(reversed(self._kept), STEP_BLOCKS)]
        return "speech" if sum(latest) / len(latest) >= VOICED else "quiet"

    def _has_ended(self) -> bool:
        last = list(islice(reversed(self._calls), _QUIET_LOOKS))
        if len(last) == _QUIET_LOOKS and "song" not in last:
            return True
        # Not necessarily in a row: a speaker breathes between two sentences.
        return last[0] == "speech" and self._calls.count("speech") >= _SPEECH_LOOKS

    def _begun(self) -> int:
        """Return the index of the kept block at which the current speech began.

        A look changes later than the sound, so search back to a silence of the voice detector.
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
    """Counts speech while an operator holds captions for a song: was the hold forgotten?"""

    def __init__(self) -> None:
        self._spoken: deque[bool] = deque(maxlen=_WITHIN)
        self._song = 0.0

    def push(self, speech: float, song: float | None) -> bool:
        """Return whether speech has just lasted too long for a song; then the count restarts.

        `speech` and `song` are the detectors' probabilities. Between two looks `song` is None, and
        the last look applies. Without a song detector every voice is speech.
        """
        if song is not None:
            self._song = song
        self._spoken.append(speech >= VOICED and self._song < ENDED)
        if sum(self._spoken) < _SPOKEN:
            return False
        self.reset()
        return True

    def reset(self) -> None:
        """Restart the count, because no operator holds captions."""
        self._spoken.clear()

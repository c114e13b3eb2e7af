"""The song gate: what it holds, what it passes on, and that no speech is lost."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.audio.song_gate import ForgottenHold, Passage, SongGate
from pipeline.audio.song_head import STEP_BLOCKS
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, AudioBlock

BLOCK_S = BLOCK_SAMPLES / SAMPLE_RATE
SILENT = np.zeros(BLOCK_SAMPLES, np.float32)
SPEECH, SONG, QUIET = (0.95, 0.05), (0.05, 0.95), (0.02, 0.1)
"""The outputs of the voice detector and the song detector for each."""


@dataclass
class Played:
    """A gate, the blocks that it passed on, and when it closed and opened (seconds)."""

    gate: SongGate = field(default_factory=SongGate)
    at: int = 0
    passed: list[int] = field(default_factory=list)
    closed: list[tuple[float, float]] = field(default_factory=list)
    """When it closed, and from when on it took the sound for song."""
    opened: list[float] = field(default_factory=list)

    def play(self, seconds: float, sound: tuple[float, float], lag_s: float = 1.0) -> Played:
        """Play a sound; the song detector notices after `lag_s`."""
        speech, song = sound
        for index in range(round(seconds / BLOCK_S)):
            was = self.said if index * BLOCK_S < lag_s else song
            due = was if self.at % STEP_BLOCKS == 0 else None
            block = AudioBlock(self.at * BLOCK_SAMPLES, SILENT)
            self.take(self.gate.push((block, speech), due))
            self.at += 1
        self.said = song
        return self

    said = 0.1

    def take(self, passage: Passage) -> None:
        if passage.song_from is not None:
            self.closed.append((self.now_s, passage.song_from / SAMPLE_RATE))
        if passage.is_over:
            self.opened.append(self.now_s)
        self.passed += [block.start_sample // BLOCK_SAMPLES for block, _ in passage.heard]

    @property
    def now_s(self) -> float:
        return self.at * BLOCK_S

    def has_all(self, from_s: float, to_s: float) -> bool:
        """Whether every block between two times was passed on, once and in order."""
        wanted = list(range(round(from_s / BLOCK_S), round(to_s / BLOCK_S)))
        return [each for each in self.passed if wanted[0] <= each <= wanted[-1]] == wanted


def test_speech_goes_through_at_once_whole_and_in_order() -> None:
    played = Played().play(60, SPEECH)
    assert played.passed == list(range(played.at))
    assert not played.closed


def test_song_is_held_within_six_seconds_and_nothing_of_it_goes_on() -> None:
    played = Played().play(10, SPEECH).play(60, SONG)
    ((at_s, from_s),) = played.closed
    assert 10 < at_s < 16
    assert from_s == pytest.approx(10, abs=1.5)
    assert played.passed[-1] * BLOCK_S < 12


def test_two_seconds_of_speech_end_it_and_their_beginning_is_kept() -> None:
    played = Played().play(10, SPEECH).play(60, SONG).play(20, SPEECH)
    ((opened_s),) = played.opened
    assert 70 < opened_s < 73
    assert played.has_all(70, 90)
    assert min(each for each in played.passed if each * BLOCK_S > 20) * BLOCK_S > 69


def test_music_of_three_seconds_holds_nothing_back_for_good() -> None:
    played = Played().play(10, SPEECH).play(3.0, SONG).play(10, SPEECH)
    assert not played.closed
    assert played.passed == list(range(played.at))


def test_silence_after_the_song_opens_it() -> None:
    played = Played().play(5, SPEECH).play(30, SONG).play(6, QUIET).play(1.2, SPEECH).play(5, QUIET)
    assert len(played.opened) == 1
    assert played.has_all(41, 42.2), "a short sentence after it is there"


def test_a_pause_between_verses_does_not_open_it() -> None:
    played = Played().play(5, SPEECH)
    for _ in range(4):
        played.play(20, SONG).play(1.5, QUIET)
    assert len(played.closed) == 1
    assert not played.opened


def test_the_operator_holds_at_once_for_as_long_as_wanted() -> None:
    played = Played().play(5, SPEECH)
    played.take(played.gate.steer("hold", detects=True))
    played.play(60, SPEECH)
    assert len(played.closed) == 1
    assert not played.opened
    assert played.passed[-1] * BLOCK_S < 5
    played.take(played.gate.steer("auto", detects=True))
    played.play(5, SPEECH)
    assert played.opened == [pytest.approx(65, abs=0.1)]
    assert played.has_all(65, 69.9)


def test_the_operator_has_anything_captioned_and_gets_back_what_was_kept() -> None:
    played = Played().play(5, SPEECH).play(20, SONG)
    assert played.gate.is_held
    played.take(played.gate.steer("caption", detects=True))
    played.play(60, SONG)
    assert len(played.closed) == len(played.opened) == 1
    assert played.has_all(15, 85), "ten seconds from before the command are there"


def test_without_a_detector_only_the_operator_holds() -> None:
    gate = SongGate()
    gate.steer("auto", detects=False)
    blocks = [(AudioBlock(n * BLOCK_SAMPLES, SILENT), 0.0) for n in range(400)]
    assert all(gate.push(heard, None).heard == (heard,) for heard in blocks)
    assert gate.steer("hold", detects=False).song_from is not None
    assert not gate.push(blocks[0], None).heard
    assert gate.steer("auto", detects=False).is_over


def test_a_detector_that_is_switched_off_lets_go() -> None:
    played = Played().play(5, SPEECH).play(20, SONG)
    assert played.gate.steer("auto", detects=False).is_over
    assert not played.gate.is_held


def test_what_is_in_doubt_goes_on_when_the_source_ends() -> None:
    played = Played().play(5, SPEECH).play(3, SONG)
    assert not played.closed
    played.take(played.gate.flush())
    assert played.passed == list(range(played.at))


def test_speech_that_has_not_ended_the_song_yet_goes_on_when_the_source_ends() -> None:
    played = Played().play(5, SPEECH).play(20, SONG).play(1.6, SPEECH)
    assert not played.opened
    played.take(played.gate.flush())
    assert played.opened
    assert played.has_all(25, 26.5)


def test_off_the_record_nothing_is_kept() -> None:
    played = Played().play(5, SPEECH).play(20, SONG)
    assert played.gate.discard()
    assert played.gate.flush().heard == ()


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(0.2, 9.0), st.sampled_from([SPEECH, SONG, QUIET])), max_size=12)
)
def test_no_block_goes_on_twice_or_out_of_order(
    sounds: list[tuple[float, tuple[float, float]]],
) -> None:
    played = Played()
    for seconds, sound in sounds:
        played.play(seconds, sound)
    played.take(played.gate.flush())
    assert played.passed == sorted(set(played.passed))


BLOCKS_A_S = SAMPLE_RATE / BLOCK_SAMPLES


def told_after(hold: ForgottenHold, speech: float, song: float | None, most_s: float) -> float:
    """Return after how many seconds the hold is reported, `most_s` if never."""
    for block in range(round(most_s * BLOCKS_A_S)):
        if hold.push(speech, song):
            return block / BLOCKS_A_S
    return most_s


def test_twenty_seconds_of_speech_are_told_and_again_after_twenty_more() -> None:
    hold = ForgottenHold()
    assert round(told_after(hold, 0.9, 0.1, 60)) == 20
    assert round(told_after(hold, 0.9, None, 60)) == 20
    without_song_detector = ForgottenHold()
    assert round(told_after(without_song_detector, 0.9, None, 60)) == 20


def test_a_song_is_not_told_however_loud_it_is_sung() -> None:
    assert told_after(ForgottenHold(), 0.9, 0.8, 300) == 300


def test_silence_is_not_told_and_pauses_for_breath_do_not_begin_anew() -> None:
    hold = ForgottenHold()
    assert told_after(hold, 0.0, 0.1, 60) == 60
    for _ in range(3):
        assert told_after(hold, 0.9, 0.1, 5) == 5
        assert told_after(hold, 0.1, 0.1, 1) == 1
    assert round(told_after(hold, 0.9, 0.1, 60)) == 5


def test_a_word_now_and_then_is_no_speech() -> None:
    hold = ForgottenHold()
    for _ in range(30):
        assert told_after(hold, 0.9, 0.1, 2) == 2
        assert told_after(hold, 0.0, 0.1, 4) == 4


def test_a_reset_counts_anew() -> None:
    hold = ForgottenHold()
    told_after(hold, 0.9, 0.1, 19)
    hold.reset()
    assert round(told_after(hold, 0.9, 0.1, 60)) == 20

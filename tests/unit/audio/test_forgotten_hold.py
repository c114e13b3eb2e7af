"""Speech that lasts while an operator holds captions for a song."""

from __future__ import annotations

from pipeline.audio.forgotten_hold import ForgottenHold
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE

BLOCKS_A_S = SAMPLE_RATE / BLOCK_SAMPLES


def told_after(hold: ForgottenHold, speech: float, song: float | None, most_s: float) -> float:
    """Return after how many seconds of this it is told, `most_s` if never."""
    for block in range(round(most_s * BLOCKS_A_S)):
        if hold.push(speech, song):
            return block / BLOCKS_A_S
    return most_s


def test_twenty_seconds_of_speech_are_told_and_again_after_twenty_more() -> None:
    hold = ForgottenHold()
    assert round(told_after(hold, 0.9, 0.1, 60)) == 20
    assert round(told_after(hold, 0.9, None, 60)) == 20


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


def test_without_a_song_detector_a_voice_is_speech() -> None:
    assert round(told_after(ForgottenHold(), 0.9, None, 60)) == 20

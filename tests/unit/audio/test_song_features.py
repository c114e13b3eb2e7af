"""The numbers that tell song from speech."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.audio.song_features import STEP_BLOCKS, WINDOW_BLOCKS, SongFeatures
from pipeline.core.types import BLOCK_SAMPLES, SAMPLE_RATE, Pcm
from scripts.demo.music import organ
from tests.support.sounds import speech

ORGAN = np.asarray(0.1 * organ("G3+B3+D4:4 C3+E3+G3:4", 90, SAMPLE_RATE), np.float32)


def looks(pcm: Pcm, thought: float = 0.5) -> list[np.ndarray]:
    features = SongFeatures()
    blocks = [pcm[at : at + BLOCK_SAMPLES] for at in range(0, len(pcm) - 511, BLOCK_SAMPLES)]
    found = [features.push(block, thought) for block in blocks]
    return [each for each in found if each is not None]


def test_there_is_a_look_every_quarter_of_a_second_once_two_have_been_heard() -> None:
    blocks = len(ORGAN) // BLOCK_SAMPLES
    found = looks(ORGAN)
    assert len(found) == (blocks - WINDOW_BLOCKS) // STEP_BLOCKS + 1
    assert {each.shape for each in found} == {(SongFeatures.COUNT,)}


def test_all_of_them_are_numbers_also_of_silence_and_of_full_scale() -> None:
    for pcm in (np.zeros(48_000, np.float32), np.ones(48_000, np.float32)):
        assert np.isfinite(looks(pcm)).all()


def test_they_do_not_tell_how_loud_it_is() -> None:
    noise = np.random.default_rng(1).standard_normal(len(ORGAN)).astype(np.float32)
    sound = ORGAN + np.float32(0.002) * noise
    loud, soft = looks(sound)[3], looks(sound * np.float32(0.25))[3]
    assert np.allclose(loud, soft, atol=0.15)


@pytest.mark.slow
def test_the_pitches_of_an_organ_stay_and_those_of_a_voice_do_not() -> None:
    def steadiness(pcm: Pcm) -> float:
        half_second_later = slice(92, 98)  # the middle ones of the last lag
        return float(np.mean([each[half_second_later] for each in looks(pcm)]))

    assert steadiness(ORGAN) > steadiness(speech(8.0)[32_000:]) + 0.3


@pytest.mark.slow
def test_after_a_reset_nothing_of_before_is_in_a_look() -> None:
    fresh, used = SongFeatures(), SongFeatures()
    for at in range(0, 100 * BLOCK_SAMPLES, BLOCK_SAMPLES):
        used.push(speech(4.0)[at : at + BLOCK_SAMPLES] * 2, 1.0)
    used.reset()
    for at in range(0, WINDOW_BLOCKS * BLOCK_SAMPLES, BLOCK_SAMPLES):
        block = ORGAN[at : at + BLOCK_SAMPLES]
        one, two = fresh.push(block, 0.0), used.push(block, 0.0)
    assert one is not None
    assert two is not None
    assert np.array_equal(one, two)

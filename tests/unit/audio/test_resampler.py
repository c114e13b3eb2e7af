from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipeline.audio.resampler import BlockResampler
from pipeline.core.types import AudioBlock, Pcm
from tests.support.examples import examples


def tone(hertz: float, rate: int, seconds: float = 1.0) -> Pcm:
    t = np.arange(round(rate * seconds)) / rate
    return np.asarray(0.5 * np.sin(2 * np.pi * hertz * t), np.float32)


def frames(*channels: Pcm) -> NDArray[np.float32]:
    return np.stack(channels, axis=1)


def cut(cutter: BlockResampler, audio: NDArray[np.float32], *sizes: int) -> list[AudioBlock]:
    """Push `audio` in pieces of these sizes, repeated in turn, then flush."""
    blocks: list[AudioBlock] = []
    at = turn = 0
    while at < len(audio):
        size = sizes[turn % len(sizes)]
        blocks += cutter.push(audio[at : at + size])
        at, turn = at + size, turn + 1
    return blocks + list(cutter.flush())


def heard(blocks: list[AudioBlock]) -> Pcm:
    return np.concatenate([block.pcm for block in blocks])


@pytest.mark.parametrize("rate", [8000, 22_050, 44_100, 96_000])
def test_a_tone_comes_out_as_the_same_tone_without_clicks(rate: int) -> None:
    blocks = cut(BlockResampler(rate, channel=1), frames(tone(1000, rate)), 137)
    out = heard(blocks)[1600:-1600]
    wanted = tone(1000, 16_000)[1600 : 1600 + len(out)]
    # A seam between two pieces would show as a difference of about 0.1.
    assert np.abs(out - wanted[: len(out)]).max() < 2e-3


def test_every_block_has_512_samples_and_they_are_numbered_without_holes() -> None:
    blocks = cut(BlockResampler(44_100, channel=1), frames(tone(300, 44_100)), 441, 1000)
    assert [block.start_sample for block in blocks] == [512 * i for i in range(32)]
    assert all(block.pcm.shape == (512,) and block.pcm.dtype == np.float32 for block in blocks)


@pytest.mark.parametrize("rate", [16_000, 48_000])
def test_lost_frames_make_the_sample_number_jump_and_are_counted(rate: int) -> None:
    cutter = BlockResampler(rate, channel=1)
    before = list(cutter.push(np.ones((rate, 1), np.float32)))
    lost = cutter.skip(rate // 2)
    after = list(cutter.push(np.zeros((rate, 1), np.float32)))
    assert after[0].start_sample == 16_000 + 8_000
    assert lost == 24_000 - (before[-1].start_sample + 512)
    assert not heard(after).any(), "nothing from before the hole sounds behind it"


def test_sample_numbers_start_where_they_are_told_to() -> None:
    cutter = BlockResampler(48_000, channel=1, start_sample=1_000_000)
    assert next(cutter.push(frames(tone(500, 48_000)))).start_sample == 1_000_000
    assert cutter.position == 1_016_000


@pytest.mark.parametrize("rate", [16_000, 48_000])
def test_a_block_was_there_when_its_last_sample_was_captured(rate: int) -> None:
    cutter = BlockResampler(rate, channel=1)
    blocks = list(cutter.push(frames(tone(500, rate, 2.0)), arrived_s=102.0))
    for block in blocks:
        assert block.arrived_s == pytest.approx(100.0 + (block.start_sample + 512) / 16_000)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(40))
@given(
    rate=st.sampled_from([16_000, 22_050, 44_100, 48_000]),
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=6),
)
def test_the_same_frames_give_the_same_blocks_however_divided(rate: int, sizes: list[int]) -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, (rate // 4, 1)).astype(np.float32)
    whole = cut(BlockResampler(rate, channel=1), noise, len(noise))
    pieces = cut(BlockResampler(rate, channel=1), noise, *sizes)
    assert [b.start_sample for b in pieces] == [b.start_sample for b in whole]
    assert np.array_equal(heard(pieces), heard(whole))


@pytest.mark.parametrize("channel", [0, 1])
@pytest.mark.parametrize("rate", [16_000, 44_100])
@pytest.mark.parametrize("value", [3e38, np.nan, -np.inf])  # a fuzzed header gave the first
def test_what_is_no_number_or_beyond_all_sound_is_silence_and_counted(
    value: float, rate: int, channel: int
) -> None:
    frames = np.full((rate, 2), value, np.float32)
    cutter = BlockResampler(rate, channel=channel)
    blocks = [*cutter.push(frames), *cutter.flush()]
    assert cutter.bad_samples == rate
    assert not any(block.pcm.any() for block in blocks)

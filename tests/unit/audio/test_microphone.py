"""Real capture: PulseAudio plays into a null sink, PortAudio records its monitor through ALSA."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pipeline.audio import microphone
from pipeline.audio.devices import Device
from pipeline.audio.microphone import Microphone, channels_to_open
from pipeline.core.errors import AudioError, AudioLostError
from pipeline.core.types import AudioBlock, Pcm
from tests.support.pulse import Pulse, pulse_here

pytestmark = pytest.mark.sound


@pytest.fixture
def pulse(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pulse]:
    with pulse_here(monkeypatch) as server:
        yield server


def sweep(start_hertz: float, end_hertz: float, rate: int, seconds: float = 1.0) -> Pcm:
    t = np.arange(round(rate * seconds)) / rate
    turns = start_hertz * t + (end_hertz - start_hertz) * t**2 / (2 * seconds)
    return np.asarray(0.5 * np.sin(2 * np.pi * turns), np.float32)


LEFT, RIGHT = (200, 3000), (5000, 3000)


@pytest.fixture
def wav(tmp_path: Path) -> Path:
    """Return a file with one sweep up on the left, another down on the right, at 48 kHz."""
    path = tmp_path / "sweeps.wav"
    both = np.stack([sweep(*LEFT, 48_000), sweep(*RIGHT, 48_000)], axis=1)
    soundfile.write(path, both, 48_000)
    return path


def likeness(blocks: list[AudioBlock], played: Pcm) -> float:
    """Return the highest correlation of `played` with any place in the recording.

    The resolution is an eighth of a sample: at 5 kHz, half a sample halves the correlation.
    """
    heard = np.concatenate([block.pcm for block in blocks])
    size = len(heard) + len(played)
    product = np.fft.rfft(heard, size) * np.conj(np.fft.rfft(played, size))
    peaks = 8 * np.fft.irfft(product, 8 * size)[: 8 * (len(heard) - len(played))]
    at = int(np.argmax(peaks))
    there = heard[at // 8 : at // 8 + len(played)]
    return float(peaks[at] / (np.linalg.norm(there) * np.linalg.norm(played)))


def heard_while_playing(pulse: Pulse, wav: Path, *sources: Microphone) -> list[list[AudioBlock]]:
    """Record for 2 s after all have started; a null sink takes up to 2 s to start."""
    for source in sources:
        source.open()
    streams = [source.blocks() for source in sources]
    heard = [[next(stream)] for stream in streams]
    player = pulse.play(wav)
    for blocks, stream in zip(heard, streams, strict=True):
        blocks.extend(itertools.islice(stream, 63))
    for source in sources:
        source.close()
    player.wait(10)
    for blocks in heard:
        for before, after in itertools.pairwise(blocks):
            assert after.start_sample == before.start_sample + 512
        assert blocks[-1].arrived_s - blocks[0].arrived_s == pytest.approx(63 * 0.032, abs=0.5)
    return heard


def test_what_is_played_is_heard_each_channel_for_itself_and_both_mixed(
    pulse: Pulse, wav: Path
) -> None:
    before = threading.enumerate()
    left, right = Microphone("CHUR", channel=1), Microphone("church", channel=2)
    both = Microphone("", channel=0)
    of_left, of_right, of_both = heard_while_playing(pulse, wav, left, right, both)
    assert likeness(of_left, sweep(*LEFT, 16_000)) > 0.95
    assert likeness(of_left, sweep(*RIGHT, 16_000)) < 0.3
    assert likeness(of_right, sweep(*RIGHT, 16_000)) > 0.95
    mixed = (sweep(*LEFT, 16_000) + sweep(*RIGHT, 16_000)) / 2
    assert likeness(of_both, np.asarray(mixed, np.float32)) > 0.95
    assert of_left[0].start_sample == 0
    assert (left.name, left.dropped_blocks) == ("church", 0)
    assert both.name == "default"
    assert threading.enumerate() == before, "nothing is left running"


def test_a_device_that_cannot_do_16_khz_runs_at_its_own_rate(
    pulse: Pulse, wav: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sounddevice

    rates = []
    real_stream = sounddevice.InputStream

    def refuse(**_settings: object) -> None:
        raise sounddevice.PortAudioError("Invalid sample rate")

    def opened(**settings: Any) -> Any:
        rates.append(settings["samplerate"])
        return real_stream(**settings)

    # ALSA's pulse plugin accepts every rate, so only a sound card's refusal is simulated.
    monkeypatch.setattr(sounddevice, "check_input_settings", refuse)
    monkeypatch.setattr(sounddevice, "InputStream", opened)
    source = Microphone("church")
    (blocks,) = heard_while_playing(pulse, wav, source)
    assert rates == [44_100]
    assert likeness(blocks, sweep(*LEFT, 16_000)) > 0.95
    assert source.dropped_blocks == 0


def test_an_unplugged_device_is_noticed_and_comes_back(pulse: Pulse, wav: Path) -> None:
    source = Microphone("church")
    source.open()
    stream = source.blocks()
    seen = [next(stream)]
    pulse.unplug("church")
    began_s = time.monotonic()
    with pytest.raises(AudioLostError) as caught:
        seen.extend(stream)
    assert time.monotonic() - began_s < 2
    assert caught.value.code == "audio-lost"
    assert "church" in caught.value.message
    with pytest.raises(AudioError) as refused:
        source.open()
    assert refused.value.code == "audio-device-failed"

    pulse.plug("church")
    (blocks,) = heard_while_playing(pulse, wav, source)
    assert likeness(blocks, sweep(*LEFT, 16_000)) > 0.95
    jump_s = (blocks[0].start_sample - seen[-1].start_sample) / 16_000
    assert jump_s == pytest.approx(blocks[0].arrived_s - seen[-1].arrived_s, abs=0.2)
    assert source.dropped_blocks == 0, "time without a device is not a drop"


def test_a_dead_sound_server_is_noticed_and_its_successor_is_found(pulse: Pulse) -> None:
    source = Microphone("church")
    source.open()
    stream = source.blocks()
    next(stream)
    pulse.kill()
    with pytest.raises(AudioLostError):
        list(stream)
    with pytest.raises(AudioError) as refused:
        source.open()
    assert refused.value.code == "audio-device-missing"
    pulse.start()
    source.open()
    assert next(source.blocks()).start_sample > 512
    source.close()


def test_a_sound_server_that_hangs_is_noticed_and_comes_back(pulse: Pulse) -> None:
    source = Microphone("church")
    source.open()
    stream = source.blocks()
    next(stream)
    pulse.hang()
    began_s = time.monotonic()
    with pytest.raises(AudioLostError) as caught:
        list(stream)
    assert time.monotonic() - began_s < 2
    assert "no audio for 1 s" in caught.value.message
    with pytest.raises(AudioError) as stuck:
        source.open()
    assert stuck.value.code == "audio-stuck"
    began_s = time.monotonic()
    source.close()
    assert time.monotonic() - began_s < 3, "it does not hold up the end either"
    pulse.wake()
    source.open()
    assert next(source.blocks())
    source.close()


def test_a_program_that_stands_still_is_not_a_lost_device(pulse: Pulse) -> None:
    source = Microphone("church")
    source.open()
    starts: list[int] = []
    reader = threading.Thread(target=lambda: starts.extend(b.start_sample for b in source.blocks()))
    reader.start()
    while len(starts) < 10:
        time.sleep(0.05)
    stood_still_at = starts[-1]
    ctypes.PyDLL(None).usleep(1_500_000)  # no Python runs meanwhile: PyDLL keeps the GIL
    give_up_s = time.monotonic() + 10
    while reader.is_alive() and starts[-1] < stood_still_at + 2 * 16_000:
        assert time.monotonic() < give_up_s
        time.sleep(0.05)
    assert reader.is_alive()
    source.close()
    reader.join(0.5)
    assert starts == [512 * i for i in range(len(starts))], "PulseAudio kept it meanwhile"


def test_a_reader_that_is_too_slow_loses_the_oldest_and_sees_a_jump(
    pulse: Pulse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(microphone, "QUEUE_S", 0.5)
    source = Microphone("church")
    source.open()
    stream = source.blocks()
    first = next(stream)
    time.sleep(1.5)
    starts = [first.start_sample] + [next(stream).start_sample for _ in range(40)]
    source.close()
    jumps = [after - before for before, after in itertools.pairwise(starts)]
    assert sum(jump != 512 for jump in jumps) == 1
    assert 0.5 < max(jumps) / 16_000 < 1.5
    assert source.dropped_blocks == pytest.approx(max(jumps) / 512, abs=1)


def test_close_ends_blocks_from_another_thread_at_once(pulse: Pulse) -> None:
    source = Microphone("church")
    source.open()
    reader = threading.Thread(target=lambda: list(source.blocks()))
    reader.start()
    time.sleep(0.3)
    source.close()
    source.close()
    reader.join(0.5)
    assert not reader.is_alive()


@pytest.mark.parametrize(
    ("device", "channel", "code", "told"),
    [
        ("pulpit", 1, "audio-device-missing", "'church, ALSA'; 'balcony, ALSA'"),
        ("c", 1, "audio-device-ambiguous", "'church, ALSA'; 'balcony, ALSA'"),
        ("church", 64, "audio-channel", "1..32"),
        ("balcony", 1, "audio-device-failed", "balcony"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_the_reason(
    pulse: Pulse, device: str, channel: int, code: str, told: str
) -> None:
    source = Microphone(device, channel=channel)
    with pytest.raises(AudioError) as caught:
        source.open()
    assert caught.value.code == code
    assert told in str(caught.value)
    source.close()


@pytest.mark.parametrize(
    ("name", "inputs", "channel", "opened"),
    [
        ("Mixer: USB Audio (hw:1,0)", 18, 0, 18),
        ("Mixer: USB Audio (hw:1,0)", 18, 1, 2),
        ("Mixer: USB Audio (hw:1,0)", 18, 7, 7),
        ("Mono: USB Audio (hw:2,0)", 1, 1, 1),
        ("Mono: USB Audio (hw:2,0)", 1, 0, 1),
        ("pulse", 32, 0, 2),
        ("pulse", 32, 1, 2),
    ],
)
def test_as_many_channels_are_opened_as_are_needed(
    name: str, inputs: int, channel: int, opened: int
) -> None:
    device = Device(name, "ALSA", inputs, 48_000, is_default=False, index=0)
    assert channels_to_open(device, channel) == opened

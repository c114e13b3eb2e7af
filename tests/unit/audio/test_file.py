from __future__ import annotations

import os
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from pipeline.audio import file
from pipeline.audio.file import AudioFile, fast_blocks, write_flac
from pipeline.audio.protocols import AudioSource
from pipeline.core.errors import AudioError
from pipeline.core.limited import Limits
from pipeline.core.types import AudioBlock, Pcm


def tone(rate: int, seconds: float, hertz: float = 440) -> Pcm:
    t = np.arange(round(rate * seconds)) / rate
    return np.asarray(0.5 * np.sin(2 * np.pi * hertz * t), np.float32)


def written(path: Path, audio: NDArray[Any], rate: int = 16_000, **how: Any) -> Path:
    soundfile.write(path, audio, rate, **how)
    return path


def played(source: AudioSource) -> list[AudioBlock]:
    source.open()
    try:
        return list(source.blocks())
    finally:
        source.close()


def heard(blocks: list[AudioBlock]) -> Pcm:
    return np.concatenate([block.pcm for block in blocks])


def fast(path: Path, channel: int = 1, *, loop: bool = False) -> AudioFile:
    return AudioFile(path, channel=channel, pace="fast", loop=loop)


def test_a_wav_at_16_khz_comes_out_sample_for_sample(tmp_path: Path) -> None:
    audio = tone(16_000, 1.0)
    source = fast(written(tmp_path / "a.wav", audio, subtype="FLOAT"))
    blocks = played(source)
    assert [block.start_sample for block in blocks] == [512 * i for i in range(32)]
    assert np.array_equal(heard(blocks)[:16_000], audio)
    assert not heard(blocks)[16_000:].any(), "the last block is filled up with zeros"
    assert (source.name, source.dropped_blocks, source.bad_samples) == ("a.wav", 0, 0)


@pytest.mark.parametrize(
    ("name", "rate", "how"),
    [
        ("a.flac", 44_100, {}),
        ("a.ogg", 48_000, {"format": "OGG", "subtype": "VORBIS"}),
        ("a.mp3", 44_100, {"format": "MP3"}),
        ("a.wav", 96_000, {"subtype": "PCM_24"}),
        ("a.aiff", 8_000, {}),
    ],
)
def test_every_format_and_rate_is_heard_as_what_it_was(
    tmp_path: Path, name: str, rate: int, how: dict[str, str]
) -> None:
    path = written(tmp_path / name, tone(rate, 2.0), rate, **how)
    out = heard(played(fast(path)))
    assert abs(len(out) - 32_000) < 3000  # mp3 pads
    middle = out[8000:24_000]
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle))))
    assert int(np.argmax(spectrum)) == 440  # one bin is one hertz
    assert float(np.sqrt(np.mean(middle**2))) == pytest.approx(0.5 / np.sqrt(2), rel=0.05)


def test_the_channel_is_picked(tmp_path: Path) -> None:
    left, right = np.full(512, 0.25), np.full(512, 0.75)
    path = written(tmp_path / "a.wav", np.stack([left, right], axis=1), subtype="FLOAT")
    assert set(heard(played(fast(path, 1))).tolist()) == {0.25}
    assert set(heard(played(fast(path, 2))).tolist()) == {0.75}
    assert set(heard(played(fast(path, 0))).tolist()) == {0.5}


def test_what_is_no_number_is_played_as_silence_and_counted(tmp_path: Path) -> None:
    audio = np.ones(1024, np.float32)
    audio[[5, 600]] = np.nan
    source = fast(written(tmp_path / "a.wav", audio, subtype="FLOAT"))
    out = heard(played(source))
    assert (out[5], out[600], out[6], source.bad_samples) == (0.0, 0.0, 1.0, 2)


@pytest.mark.parametrize("rate", [3999, 768_001])
def test_a_rate_that_no_sound_has_is_refused_with_the_range(tmp_path: Path, rate: int) -> None:
    path = written(tmp_path / "a.wav", np.zeros(16_000, np.float32), rate)
    with pytest.raises(AudioError, match=rf"rate is {rate} Hz, 4000 to 768000 .*audio-unreadable"):
        fast(path).open()


@pytest.mark.slow
def test_a_recording_is_tried_in_a_process_of_its_own_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast(written(tmp_path / "a.wav", tone(16_000, 1.0))).check()
    with pytest.raises(AudioError, match="audio-channel"):
        fast(tmp_path / "a.wav", channel=3).check()
    with pytest.raises(AudioError, match="audio-missing"):
        fast(tmp_path / "b.wav").check()
    monkeypatch.setattr(file, "_LIMITS", Limits(seconds=0.01, memory_bytes=2 << 30))
    with pytest.raises(
        AudioError, match=r"a\.wav cannot be read as audio: it took more than 0\.01 s"
    ):
        fast(tmp_path / "a.wav").check()


@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_a_loop_goes_on_without_a_seam(tmp_path: Path, rate: int) -> None:
    # A whole number of periods: in a loop it is one endless tone.
    source = fast(written(tmp_path / "a.wav", tone(rate, 0.5), rate, subtype="FLOAT"), loop=True)
    source.open()
    stream = source.blocks()
    blocks = [next(stream) for _ in range(100)]
    source.close()
    assert list(stream) == []
    assert [block.start_sample for block in blocks] == [512 * i for i in range(100)]
    wanted = tone(16_000, 4.0)
    out = heard(blocks)
    assert np.abs(out[2000:] - wanted[2000 : len(out)]).max() < 2e-3


@pytest.mark.slow
def test_real_time_keeps_to_the_clock_and_does_not_drift(tmp_path: Path) -> None:
    source = AudioFile(written(tmp_path / "a.wav", tone(16_000, 1.5)), pace="realtime")
    source.open()
    began_s = time.monotonic()
    late_s = []
    for index, block in enumerate(source.blocks()):
        late_s.append(time.monotonic() - block.arrived_s)
        assert block.arrived_s - began_s == pytest.approx((index + 1) * 0.032, abs=0.1)
        if index == 10:
            time.sleep(0.3)  # a slow reader catches up, and its blocks keep their own times
    source.close()
    assert min(late_s) >= 0
    assert max(late_s) >= 0.2
    assert late_s[-1] < 0.15
    assert time.monotonic() - began_s == pytest.approx(1.5, abs=0.25)


def test_close_ends_the_wait_for_the_next_block_at_once(tmp_path: Path) -> None:
    source = AudioFile(written(tmp_path / "a.wav", tone(16_000, 60.0)), pace="realtime")
    source.open()
    count: list[int] = []
    reader = threading.Thread(target=lambda: count.append(sum(1 for _ in source.blocks())))
    reader.start()
    time.sleep(0.3)
    source.close()
    source.close()
    reader.join(timeout=0.5)
    assert not reader.is_alive()
    assert 5 <= count[0] <= 12


def test_it_can_be_opened_again(tmp_path: Path) -> None:
    source = fast(written(tmp_path / "a.wav", tone(16_000, 0.1)))
    assert len(played(source)) == len(played(source)) == 4


@pytest.mark.slow
def test_a_long_file_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "a.wav", np.zeros(16_000 * 120, np.int16), subtype="PCM_16")
    tracemalloc.start()
    count = sum(1 for _ in fast_blocks(path))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 3_750
    assert peak_bytes < 1_000_000  # the samples are 8 MB


def refusal(source: AudioFile) -> AudioError:
    with pytest.raises(AudioError) as caught:
        played(source)
    return caught.value


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("sermon.wav", "audio-missing", "audio.input"),
        ("empty.wav", "audio-empty", "holds no audio"),
        ("header.wav", "audio-empty", "holds no audio"),
        ("notes.txt", "audio-unreadable", "cannot be read as audio"),
        ("pipe", "audio-unreadable", "not a file"),
        (".", "audio-unreadable", "not a file"),
        ("a" * 300, "audio-unreadable", "name too long"),
        ("a\0.wav", "audio-unreadable", "null byte"),
    ],
)
def test_what_is_no_recording_is_named_with_the_reason(
    tmp_path: Path, name: str, code: str, says: str
) -> None:
    (tmp_path / "empty.wav").touch()
    written(tmp_path / "header.wav", np.zeros(0, np.float32))
    (tmp_path / "notes.txt").write_text("In the beginning\n" * 100)
    os.mkfifo(tmp_path / "pipe")
    error = refusal(fast(tmp_path / name))
    assert error.code == code
    assert str(tmp_path / name) in error.message
    assert says in str(error)


def test_a_channel_that_the_file_does_not_have_is_refused(tmp_path: Path) -> None:
    error = refusal(fast(written(tmp_path / "a.wav", np.zeros((512, 2))), 3))
    assert error.code == "audio-channel"
    assert "2 channels, not 3" in error.message
    assert "1..2" in error.fix


def test_a_file_cut_short_is_played_as_far_as_it_goes(tmp_path: Path) -> None:
    path = written(tmp_path / "a.wav", tone(16_000, 2.0), subtype="PCM_16")
    path.write_bytes(path.read_bytes()[: 44 + 2 * 16_000])
    assert len(heard(played(fast(path)))) == 16_384


def test_a_file_damaged_further_on_is_played_up_to_there(tmp_path: Path) -> None:
    path = written(tmp_path / "a.flac", tone(16_000, 4.0))
    data = bytearray(path.read_bytes())
    half = len(data) // 2
    data[half : half + 2000] = bytes(2000)
    path.write_bytes(bytes(data))
    stream = fast_blocks(path)
    assert len([next(stream) for _ in range(40)]) == 40
    with pytest.raises(AudioError) as caught:
        list(stream)
    assert caught.value.code == "audio-unreadable"
    assert str(path) in caught.value.message


def test_samples_are_read_back_as_they_were_but_for_16_bits(tmp_path: Path) -> None:
    pcm = np.random.default_rng(1).uniform(-1, 1, 5000).astype(np.float32)
    write_flac(tmp_path / "one.flac", pcm)
    read, rate = soundfile.read(tmp_path / "one.flac", dtype="float32")
    assert rate == 16_000
    assert np.abs(read - pcm).max() <= 1 / 32_767
    assert [path.name for path in tmp_path.iterdir()] == ["one.flac"]


def test_a_folder_that_is_gone_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none"):
        write_flac(tmp_path / "none" / "one.flac", np.zeros(100, np.float32))

"""The sound of videos and compressed recordings, made here with FFmpeg's own encoders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from pipeline.audio.file import AudioFile, MediaError, MediaFile, fast_blocks
from pipeline.core.errors import AudioError
from pipeline.core.types import SAMPLE_RATE, Pcm

RATE, SECONDS = 48_000, 2.0
CODECS = {"a.mp4": "aac", "a.m4a": "aac", "a.mov": "aac", "a.webm": "libopus"}


def made(
    path: Path, codec: str, *, sound: bool = True, options: dict[str, str] | None = None
) -> Path:
    """Write a tone on the left and silence on the right, with video in a video container."""
    times = np.arange(int(RATE * SECONDS)) / RATE
    tone = (0.5 * np.sin(2 * np.pi * 440 * times)).astype(np.float32)
    with av.open(str(path), "w", options=options or {}) as container:
        audio: Any = None
        if sound:
            audio = container.add_stream(codec, rate=RATE, layout="stereo")
        if path.suffix in (".mp4", ".mov"):
            video: Any = container.add_stream("mpeg4", rate=5)
            video.width = video.height = 16
            video.pix_fmt = "yuv420p"
            for _ in range(3):
                picture = av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), "rgb24")
                container.mux(video.encode(picture))
            container.mux(video.encode(None))
        if audio is not None:
            fifo, resampler = av.AudioFifo(), av.AudioResampler(audio.format, "stereo", RATE)
            both = np.stack((tone, np.zeros_like(tone)))
            frame = av.AudioFrame.from_ndarray(both, "fltp", "stereo")
            frame.rate = RATE
            for each in resampler.resample(frame):
                fifo.write(each)
            size = audio.codec_context.frame_size or 960
            while piece := fifo.read(size, partial=True):
                container.mux(audio.encode(piece))
            container.mux(audio.encode(None))
    return path


def heard(path: Path, channel: int = 1) -> Pcm:
    return np.concatenate([block.pcm for block in fast_blocks(path, channel=channel)])


@pytest.mark.slow
@pytest.mark.parametrize("name", CODECS)
def test_a_recording_plays_like_a_wav(tmp_path: Path, name: str) -> None:
    pcm = heard(made(tmp_path / name, CODECS[name]))
    assert len(pcm) / SAMPLE_RATE == pytest.approx(SECONDS, abs=0.15)
    middle = pcm[SAMPLE_RATE // 2 : 3 * SAMPLE_RATE // 2]
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.1)
    hertz = np.argmax(np.abs(np.fft.rfft(middle)))  # one second: a bin is a hertz
    assert hertz == pytest.approx(440, abs=2)


def test_a_browsers_recording_does_not_say_how_long_it_is_and_may_be_cut(tmp_path: Path) -> None:
    path = made(tmp_path / "a.webm", "libopus", options={"live": "1"})
    with av.open(str(path)) as container:
        assert container.duration is None
    assert len(heard(path)) / SAMPLE_RATE == pytest.approx(SECONDS, abs=0.15)
    (tmp_path / "cut.webm").write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert 0.2 < len(heard(tmp_path / "cut.webm")) / SAMPLE_RATE < SECONDS, "up to there"


def test_the_other_channel_is_the_other(tmp_path: Path) -> None:
    assert np.abs(heard(made(tmp_path / "a.m4a", "aac"), channel=2)).max() < 0.01


def test_it_can_begin_again(tmp_path: Path) -> None:
    file = MediaFile(made(tmp_path / "a.m4a", "aac"))
    first = file.read(1000)
    assert first.shape == (1000, 2)
    file.seek(0)
    again = file.read(4000)
    assert again.shape == (4000, 2)
    assert np.abs(again).max() > 0.1
    file.close()


@pytest.mark.parametrize("name", ["a.mp4", "IMG_0001.MOV"])
def test_a_video_without_sound_is_refused(tmp_path: Path, name: str) -> None:
    file = made(tmp_path / "a.mp4", "", sound=False).rename(tmp_path / name)
    with pytest.raises(AudioError, match="no sound") as caught:
        AudioFile(file).open()
    assert caught.value.code == "audio-unreadable"


@pytest.mark.parametrize(
    "content",
    [
        b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"In the beginning\n" * 50,
    ],
)
def test_a_list_of_other_files_is_no_recording(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.mp4").write_bytes(content)
    with pytest.raises(MediaError):
        MediaFile(tmp_path / "a.mp4")

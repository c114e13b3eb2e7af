"""An audio file as a source: the formats of libsndfile (wav, flac, ogg, mp3 and more), and the
audio track of FFmpeg's formats (mp4, m4a, mov, webm and more).

The file is read in pieces and is never in memory as a whole.
"""

from __future__ import annotations

import asyncio
import io
import re
import threading
import time
import wave
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import structlog
from numpy.typing import NDArray

from pipeline.audio.resampler import BlockResampler
from pipeline.core.errors import AudioError
from pipeline.core.files import write_whole
from pipeline.core.formats import clock
from pipeline.core.limited import Limits, call
from pipeline.core.types import SAMPLE_RATE, AudioBlock, Pcm

_FORMATS = "mov,mp4,m4a,3gp,matroska,webm,asf,avi,aac,mpegts,flv,caf"
"""Containers that include their audio. Playlists are left out: FFmpeg would open other files."""
log = structlog.get_logger()
_READ_FRAMES = 4096
_FULL = 2**15 - 1
_LOWEST_HZ, _HIGHEST_HZ = 4_000, 768_000
"""Outside this range the header is damaged: at 1 Hz, 32 kB would become hours and gigabytes."""
_LIMITS = Limits(seconds=20, memory_bytes=2 << 30)
_MEDIA = (".mp4", ".m4a", ".mov", ".webm", ".mkv", ".aac", ".wma", ".avi", ".3gp", ".ts")
_ADDRESS = re.compile(r"https?:/", re.IGNORECASE)
_WHERE = "the name behind --input, or audio.input in config.toml"
_TOLD_S, _TOLD_TIMES = 600.0, 100
"""The position in a file is logged every ten minutes of audio, at most a hundred times."""


class MediaError(Exception):
    """The file has another format, has no audio, or is damaged."""


def _sound(container: Any) -> Any:
    track = next(iter(container.streams.audio), None)
    if track is None:
        raise MediaError("it has no sound")
    return track


class MediaFile:
    """The first audio track of a file, read in pieces like soundfile's SoundFile."""

    _rest: NDArray[np.float32]
    _pieces: Iterator[NDArray[np.float32]]

    def __init__(self, path: Path) -> None:
        """Open it. Raises MediaError."""
        import av  # noqa: PLC0415 - seldom needed

        self._failures = (av.FFmpegError, ValueError, EOFError)
        # FFmpeg gets an open file: it could take a name for an address.
        self._raw = path.open("rb")
        self._container: Any = None
        try:
            options = {"format_whitelist": _FORMATS}
            # PyAV raises for titles in another encoding, and titles are not used here.
            self._container = av.open(self._raw, options=options, metadata_errors="ignore")
            self._track = _sound(self._container)
            self.samplerate = int(self._track.rate)
            self.channels = len(self._track.layout.channels)
            self.frames = round(self._length_s() * self.samplerate)
            """As the file says; it may be slightly wrong."""
            self._start()
            # Browsers record without a length: then it is the first piece's, 0 if there is none.
            if not self.frames:
                self._rest = next(self._pieces, self._rest)
                self.frames = len(self._rest)
        except self._failures as error:
            self.close()
            raise MediaError(getattr(error, "strerror", None) or str(error)) from None
        except MediaError:
            self.close()
            raise

    def read(self, frames: int, **_: Any) -> NDArray[np.float32]:
        """Return the next frames, shape (n, channels), none at the end. Raises MediaError."""
        try:
            while len(self._rest) < frames:
                self._rest = np.concatenate((self._rest, next(self._pieces)))
        # The last piece may be shorter. The next read is empty, as in soundfile.
        except StopIteration:
            pass
        except self._failures as error:
            raise MediaError(getattr(error, "strerror", None) or str(error)) from None
        piece, self._rest = self._rest[:frames], self._rest[frames:]
        return piece

    def seek(self, _: int) -> None:
        """Go back to the beginning."""
        # soundfile's `seek` takes a position; here it is always the beginning.
        self._container.seek(0)
        self._start()

    def close(self) -> None:
        """Close the file."""
        if self._container is not None:
            self._container.close()
        self._raw.close()

    def _start(self) -> None:
        self._rest = np.zeros((0, self.channels), np.float32)
        # A generator cannot restart, so each round needs a new one.
        self._pieces = self._decoded()

    def _decoded(self) -> Iterator[NDArray[np.float32]]:
        import av  # noqa: PLC0415

        # Convert to packed floats only: `BlockResampler` converts rate and channels of any file.
        plain = av.AudioResampler("flt", self._track.layout, self.samplerate)
        for frame in self._container.decode(self._track):
            for each in plain.resample(frame):
                yield np.asarray(each.to_ndarray(), np.float32).reshape(-1, self.channels)
        for each in plain.resample(None):  # what the resampler still holds
            yield np.asarray(each.to_ndarray(), np.float32).reshape(-1, self.channels)

    def _length_s(self) -> float:
        if self._track.duration is not None:
            return float(self._track.duration * self._track.time_base)
        return (self._container.duration or 0) / 1e6  # FFmpeg counts microseconds


class AudioFile:
    """Plays a file at the pace of speech (`realtime`) or as fast as blocks are read (`fast`).

    `channel` 1 is the first, 0 the mean of all. With `loop` the file restarts at its end without
    a gap, and `start_sample` continues.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        channel: int = 1,
        pace: Literal["realtime", "fast"] = "realtime",
        loop: bool = False,
    ) -> None:
        self._path = Path(path)
        self.name = self._path.name
        self.dropped_blocks = 0
        """Always: a file waits for its reader."""
        self._channel = channel
        self._pace = pace
        self._loop = loop
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._file: Any = None
        self._cutter = BlockResampler(SAMPLE_RATE, channel=channel)

    @property
    def bad_samples(self) -> int:
        """Samples so far that were not finite and were played as silence."""
        return self._cutter.bad_samples

    def check(self) -> None:
        """Open the file and read its beginning in a separate process. Raises as `open` does.

        libsndfile and FFmpeg may crash: such a file is refused before a service begins.
        """

        def failed(what: str) -> AudioError:
            return self._unreadable(f"it {what}")

        asyncio.run(call(_LIMITS, failed, _try, self._path, self._channel))

    def open(self) -> None:
        """Open the file.

        Raises AudioError: audio-missing, audio-empty, audio-unreadable, audio-channel.
        """
        file = self._open()
        # soundfile seeks after every read of a seekable file. In an mp3 a seek loses the frames
        # that the next frame depends on: it is quieter and crackles. Nothing here needs to seek.
        file.seekable = lambda: False
        self._closed.clear()
        self._file = file
        self._length_s = file.frames / file.samplerate
        log.info("file", name=self.name, length=clock(self._length_s), pace=self._pace)
        self._cutter = BlockResampler(file.samplerate, channel=self._channel)

    def blocks(self) -> Iterator[AudioBlock]:
        """Yield the file's blocks, the last one filled up with zeros.

        At `realtime` a block's `arrived_s` is its due time since the first read, even if the
        reader is late. Raises AudioError (audio-unreadable) if the file is damaged further on.
        """
        # Here and not in `open`: a generator runs from its first read on.
        began_s, told_s = time.monotonic(), 0.0
        for block in self._all_blocks():
            at_s = block.start_sample / SAMPLE_RATE
            # A loop has no end to report progress to.
            if not self._loop and at_s >= told_s + max(_TOLD_S, self._length_s / _TOLD_TIMES):
                told_s = at_s
                log.info("played", at=clock(at_s), of=clock(self._length_s))
            if self._pace == "fast":
                if self._closed.is_set():
                    return
                yield replace(block, arrived_s=time.monotonic())
                continue
            # Counted from the beginning, not from the last block, so that errors do not add up.
            due_s = began_s + (block.start_sample + len(block.pcm)) / SAMPLE_RATE
            if self._closed.wait(max(0.0, due_s - time.monotonic())):
                return
            yield replace(block, arrived_s=due_s)

    def close(self) -> None:
        """End `blocks` at once, from any thread."""
        # The flag first: it ends a wait at once, while the lock waits for a running read.
        self._closed.set()
        with self._lock:
            if self._file is not None:
                self._file.close()

    def _open(self) -> Any:
        import soundfile  # noqa: PLC0415

        self._look()
        try:
            # libsndfile first: FFmpeg is large, and is loaded only if libsndfile refuses the file.
            file = soundfile.SoundFile(self._path)
        except soundfile.SoundFileError as error:
            file = self._media(getattr(error, "error_string", str(error)))
        wrong = self._wrong(file)
        if wrong is not None:
            file.close()
            raise wrong
        return file

    def _wrong(self, file: Any) -> AudioError | None:
        """Return why an open file cannot be played, None if it can."""
        # libsndfile opens a file that has a header and no audio.
        if file.frames == 0:
            return self._empty()
        if not _LOWEST_HZ <= file.samplerate <= _HIGHEST_HZ:
            accepted = f"{_LOWEST_HZ} to {_HIGHEST_HZ} are accepted"
            return self._unreadable(f"its rate is {file.samplerate} Hz, {accepted}")
        return self._no_channel(file.channels) if self._channel > file.channels else None

    def _look(self) -> None:
        """Check the path first: libsndfile calls all of these "format not recognised"."""
        try:
            # Before opening: opening a pipe that has no writer waits forever.
            if self._path.exists() and not self._path.is_file():
                raise self._unreadable("not a file")
            with self._path.open("rb") as raw:
                if not raw.read(1):
                    raise self._empty()
        except FileNotFoundError:
            fix = f"Check {_WHERE}."
            if _ADDRESS.match(str(self._path)):
                fix = "That is an address: download the recording first, and name the file."
            message = f"{self._path}: there is no such file."
            raise AudioError("audio-missing", message, fix) from None
        except OSError as error:
            raise self._unreadable(error.strerror or "cannot be opened") from None
        except ValueError:  # only the settings can have one
            raise self._unreadable("its name has a null byte") from None

    def _media(self, refused: str) -> MediaFile:
        """Open a file that libsndfile has refused with this error. Raises AudioError."""
        try:
            return MediaFile(self._path)
        except MediaError as error:
            # If the name is not a video's, FFmpeg's error would only mislead.
            # Cameras and phones write suffixes in capitals: IMG_0001.MOV.
            is_media = self._path.suffix.lower() in _MEDIA
            reason = f"{refused.rstrip('.')}; as a video or m4a: {error}"
            raise self._unreadable(reason if is_media else refused) from None

    def _all_blocks(self) -> Iterator[AudioBlock]:
        while len(frames := self._read()):
            yield from self._cutter.push(frames)
        yield from self._cutter.flush()

    def _read(self) -> NDArray[np.float32]:
        """Return the next frames, shape (n, channels); n is 0 at the end and after `close`."""
        import soundfile  # noqa: PLC0415

        # `close` may run in another thread and must not free the file during a read.
        with self._lock:
            if self._closed.is_set():
                return np.zeros((0, 1), np.float32)
            try:
                frames = self._file.read(_READ_FRAMES, dtype="float32", always_2d=True)
                if not len(frames) and self._loop:
                    # Read again at once: an empty read would mean the end.
                    self._file.seek(0)
                    frames = self._file.read(_READ_FRAMES, dtype="float32", always_2d=True)
            except (soundfile.SoundFileError, MediaError) as error:
                raise self._unreadable(getattr(error, "error_string", str(error))) from None
        return np.asarray(frames, np.float32)

    def _empty(self) -> AudioError:
        return AudioError("audio-empty", f"{self._path} holds no audio.", f"Check {_WHERE}.")

    def _unreadable(self, reason: str) -> AudioError:
        return AudioError(
            "audio-unreadable",
            f"{self._path} cannot be read as audio: {reason.rstrip('.')}.",
            "Give a wav, flac, ogg, mp3, m4a, mp4, mov or webm file.",
        )

    def _no_channel(self, channels: int) -> AudioError:
        return AudioError(
            "audio-channel",
            f"{self._path} has {channels} channel{'s' * (channels > 1)}, not {self._channel}.",
            f"Set audio.channel to 1..{channels}, or to 0 to mix them.",
        )


def fast_blocks(path: Path | str, *, channel: int = 0) -> Iterator[AudioBlock]:
    """Yield the blocks of a file as fast as they are read. Raises AudioError."""
    file = AudioFile(path, channel=channel, pace="fast")
    file.open()
    try:
        yield from file.blocks()
    finally:
        file.close()


def read_audio(path: Path) -> Pcm:
    """Return a file's samples at 16 kHz, shape (n,), in whole blocks. Raises AudioError."""
    blocks = [block.pcm for block in fast_blocks(path)]
    return np.concatenate(blocks) if blocks else np.zeros(0, np.float32)


def _try(path: Path, channel: int) -> None:
    next(fast_blocks(path, channel=channel), None)


def write_flac(path: Path, pcm: Pcm) -> None:
    """Write a file atomically: it is there whole or not at all. Raises OSError."""
    import soundfile  # noqa: PLC0415 - takes a second, needed only to keep audio

    content = io.BytesIO()
    soundfile.write(content, pcm, SAMPLE_RATE, format="FLAC", subtype="PCM_16")
    write_whole(path, content.getvalue())


def wav(pcm: Pcm) -> bytes:
    """Return samples, shape (n,), -1 to 1, as a 16-bit mono WAV file at 16 kHz."""
    # nan has no 16-bit value: the result would be arbitrary.
    samples = np.clip(np.nan_to_num(pcm) * _FULL, -_FULL, _FULL).astype("<i2")
    with io.BytesIO() as file:
        with wave.open(file, "wb") as writer:
            writer.setnchannels(1)
            writer.setsampwidth(2)
            writer.setframerate(SAMPLE_RATE)
            writer.writeframes(samples.tobytes())
        return file.getvalue()

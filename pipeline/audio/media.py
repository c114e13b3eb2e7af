"""The sound of a video or of a compressed recording: what libsndfile does not read, FFmpeg does.

PyAV comes with the recognizer; it is imported when such a file is opened and not before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FORMATS = "mov,mp4,m4a,3gp,matroska,webm,asf,avi,aac,mpegts,flv,caf"
"""Containers that hold their sound themselves: a playlist would have FFmpeg open other files."""


class MediaError(Exception):
    """The file is none of these, has no sound, or is damaged."""


def _sound(container: Any) -> Any:
    """Return the first audio track. Raises MediaError."""
    track = next(iter(container.streams.audio), None)
    if track is None:
        raise MediaError("it has no sound")
    return track


class MediaFile:
    """The first audio track of a file, read in pieces as soundfile's SoundFile is."""

    _rest: NDArray[np.float32]
    _pieces: Iterator[NDArray[np.float32]]

    def __init__(self, path: Path) -> None:
        """Open it. Raises MediaError."""
        import av  # noqa: PLC0415 - seldom needed

        self._failures = (av.FFmpegError, ValueError, EOFError)
        # A file that is open already: a name could be an address for FFmpeg.
        self._raw = path.open("rb")
        self._container: Any = None
        try:
            options = {"format_whitelist": _FORMATS}
            # PyAV raises for titles in another encoding, and nobody asks for titles here.
            self._container = av.open(self._raw, options=options, metadata_errors="ignore")
            self._track = _sound(self._container)
            self.samplerate = int(self._track.rate)
            self.channels = len(self._track.layout.channels)
        except self._failures as error:
            self.close()
            raise MediaError(getattr(error, "strerror", None) or str(error)) from None
        except MediaError:
            self.close()
            raise
        self.frames = round(self._length_s() * self.samplerate)
        """As the file says; it may be wrong by a little."""
        self._start()

    def read(self, frames: int, **_: Any) -> NDArray[np.float32]:
        """Return the next frames, shape (n, channels), none at the end. Raises MediaError."""
        try:
            while len(self._rest) < frames:
                self._rest = np.concatenate((self._rest, next(self._pieces)))
        except StopIteration:
            pass
        except self._failures as error:
            raise MediaError(getattr(error, "strerror", None) or str(error)) from None
        piece, self._rest = self._rest[:frames], self._rest[frames:]
        return piece

    def seek(self, _: int) -> None:
        """Go back to the beginning."""
        self._container.seek(0)
        self._start()

    def close(self) -> None:
        """Let go of the file."""
        if self._container is not None:
            self._container.close()
        self._raw.close()

    def _start(self) -> None:
        self._rest = np.zeros((0, self.channels), np.float32)
        self._pieces = self._decoded()

    def _decoded(self) -> Iterator[NDArray[np.float32]]:
        import av  # noqa: PLC0415

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

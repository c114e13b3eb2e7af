"""Messages between two processes: a JSON object, followed by raw bytes such as samples.

A frame is both lengths (two little-endian 32-bit numbers), the JSON, the bytes. Lists arrive as
tuples, since the values that are sent hold tuples.
"""

from __future__ import annotations

import json
import math
import socket
import struct
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import orjson

from pipeline.engines.process.joining import readable

_HEAD: Final = struct.Struct("<II")
# The unit of patience: a longer one is coarser, a shorter one wakes waiting threads for nothing.
_SLICE_S = 0.25


class Patience:
    """How long the other side may take, counted in slices of waiting.

    It does not use the clock: while the whole machine is suspended, no waiting time passes.
    """

    def __init__(self, limit_s: float = math.inf) -> None:
        self._left_s = limit_s

    def spend(self, slice_s: float = _SLICE_S) -> None:
        """Count a slice without a result. Raises TimeoutError when the limit is reached."""
        self._left_s -= slice_s
        if self._left_s <= 0:
            raise TimeoutError


class Channel:
    """One end of a connected stream socket. One thread uses it at a time.

    Every method raises TimeoutError when patience ends, EOFError when the other side has closed or
    died, and OSError. After any of them the channel is unusable.
    """

    def __init__(self, end: socket.socket) -> None:
        # No call waits longer than a slice, so that the caller can check its patience.
        end.settimeout(_SLICE_S)
        self._socket = end

    def fileno(self) -> int:
        """Return the descriptor, for polling."""
        return self._socket.fileno()

    def send(
        self, message: Mapping[str, Any], data: bytes | memoryview = b"", *, patience: Patience
    ) -> None:
        """Send a message and the bytes that belong to it."""
        try:
            text = orjson.dumps(message, option=orjson.OPT_SERIALIZE_NUMPY)
        except TypeError:  # a lone surrogate, which UTF-8 cannot encode: a question mark
            told = json.dumps(message, default=asdict, ensure_ascii=False)
            text = told.encode(errors="replace")
        # As bytes: the length of a view counts items, and each sample has four bytes.
        raw = memoryview(data).cast("B")
        # The samples are sent separately: joining them would copy a minute of audio.
        self._send(memoryview(_HEAD.pack(len(text), len(raw)) + text), patience)
        self._send(raw, patience)

    def receive(self, patience: Patience) -> tuple[dict[str, Any], bytearray]:
        """Return the next message and its bytes."""
        text_size, data_size = _HEAD.unpack(self._take(_HEAD.size, patience))
        message: dict[str, Any] = _with_tuples(orjson.loads(self._take(text_size, patience)))
        return message, self._take(data_size, patience)

    def has_message(self, timeout_s: float = 0.0) -> bool:
        """Whether a message or the end can be received within `timeout_s`."""
        return bool(readable(timeout_s, self._socket.fileno()))

    def end(self) -> None:
        """Shut down the socket: both sides read an end. Any thread may call it."""
        try:
            # Not close(): another thread may be inside, and a new file could get the same number.
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the other side was faster

    def close(self) -> None:
        """Free the descriptor. No other thread may be inside."""
        self._socket.close()

    def _send(self, raw: memoryview, patience: Patience) -> None:
        while raw:
            try:
                # Not `sendall`: after a timeout it does not report how much it has sent.
                raw = raw[self._socket.send(raw) :]
            except TimeoutError:
                patience.spend()

    def _take(self, size: int, patience: Patience) -> bytearray:
        # Filled in place: joining pieces would copy a minute of audio again and again.
        whole = bytearray(size)
        rest = memoryview(whole)
        while rest:
            try:
                count = self._socket.recv_into(rest)
            except TimeoutError:
                patience.spend()
                continue
            # An empty read is the end, even inside a message.
            if not count:
                raise EOFError
            rest = rest[count:]
        return whole


def _with_tuples(value: Any) -> Any:
    """Return a JSON value with tuples in place of its lists."""
    if isinstance(value, list):
        return tuple(map(_with_tuples, value))
    if isinstance(value, dict):
        return {key: _with_tuples(each) for key, each in value.items()}
    return value

from __future__ import annotations

import queue
import time
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.audio.microphone import CaptureQueue, Chunk


def frames(value: float = 0.0, count: int = 400) -> NDArray[np.float32]:
    return np.full((count, 2), value, np.float32)


def drained(capture: CaptureQueue) -> list[Chunk]:
    capture.finish()
    return list(iter(lambda: capture.get(1.0), None))


def test_chunks_come_out_in_order_with_their_positions() -> None:
    capture = CaptureQueue(16_000)
    for value in (1.0, 2.0, 3.0):
        capture.put(frames(value), value, overflowed=False)
    chunks = drained(capture)
    assert [chunk.position for chunk in chunks] == [0, 400, 800]
    assert [chunk.arrived_s for chunk in chunks] == [1.0, 2.0, 3.0]
    assert [float(chunk.frames[0, 0]) for chunk in chunks] == [1.0, 2.0, 3.0]
    assert chunks[-1].end == 1200


def test_when_full_the_oldest_makes_room_and_leaves_a_hole() -> None:
    capture = CaptureQueue(16_000)
    for index in range(500):  # 12.5 s
        capture.put(frames(), index * 0.025, overflowed=False)
    chunks = drained(capture)
    assert [chunk.position for chunk in chunks] == [400 * i for i in range(100, 500)]


def test_an_overflow_leaves_a_hole_as_long_as_the_time_that_is_missing() -> None:
    capture = CaptureQueue(16_000)
    capture.put(frames(), 100.000, overflowed=False)
    capture.put(frames(), 100.525, overflowed=True)
    capture.put(frames(), 100.550, overflowed=False)
    assert [chunk.position for chunk in drained(capture)] == [0, 400 + 8000, 800 + 8000]


def test_an_overflow_leaves_a_hole_even_when_the_clock_shows_none() -> None:
    capture = CaptureQueue(48_000)
    capture.put(frames(), 100.0, overflowed=True)
    capture.put(frames(), 100.001, overflowed=True)
    assert [chunk.position for chunk in drained(capture)] == [0, 400 + 1536]


def test_the_callback_copies_because_portaudio_uses_its_buffer_again() -> None:
    capture = CaptureQueue(16_000)
    buffer = frames(1.0)
    began_s = time.monotonic()
    capture.callback(buffer, 400, None, SimpleNamespace(input_overflow=False))
    buffer[:] = 9.0
    (chunk,) = drained(capture)
    assert float(chunk.frames.max()) == 1.0
    assert began_s <= chunk.arrived_s <= time.monotonic()


def test_nothing_for_a_while_is_told_from_the_end() -> None:
    capture = CaptureQueue(16_000)
    with pytest.raises(queue.Empty):
        capture.get(0.01)
    capture.finish()
    assert capture.get(0.01) is None

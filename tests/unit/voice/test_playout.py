"""The sound of a language: in order, silence between, in frames that a player can join anywhere."""

from __future__ import annotations

import io
import subprocess
import sys

import av
import numpy as np

from pipeline.core.types import Pcm
from pipeline.voice.playout import FRAME, RATE_HZ, Encoder, Playout


def tone(seconds: float, value: float = 0.5) -> Pcm:
    return np.full(int(seconds * RATE_HZ), value, np.float32)


def decoded(mp3: bytes) -> Pcm:
    """Return the samples that a player decodes."""
    with av.open(io.BytesIO(mp3), "r", format="mp3") as sound:
        frames = [frame.to_ndarray()[0] for frame in sound.decode(audio=0)]
    return np.concatenate(frames).astype(np.float32)


def test_captions_are_heard_one_after_another_and_silence_between() -> None:
    playout = Playout()
    playout.put(1, tone(0.1, 0.1))
    playout.put(2, tone(0.1, 0.2))
    assert abs(playout.queued_s - 0.45) < 1e-6
    heard = playout.take(RATE_HZ)
    assert [round(float(heard[int(at * RATE_HZ)]), 1) for at in (0.05, 0.2, 0.4, 0.8)] == [
        *(0.1, 0.0, 0.2, 0.0)
    ]
    assert playout.queued_s == 0


def test_what_is_dropped_is_not_heard() -> None:
    playout = Playout()
    for key in (1, 2, 1):
        playout.put(key, tone(0.1, key / 10))
    playout.drop(1)
    assert not (playout.take(RATE_HZ) == np.float32(0.1)).any()
    playout.put(1, tone(1))
    playout.drop()
    assert not playout.take(RATE_HZ).any()


def test_a_player_may_begin_with_any_frame() -> None:
    encoder = Encoder()
    rng = np.arange(RATE_HZ, dtype=np.float32)
    pcm = 0.3 * np.sin(rng * 2 * np.pi * 440 / RATE_HZ)[: FRAME * 40].astype(np.float32)
    steps = [encoder.encode(pcm) for _ in range(6)]
    late = decoded(b"".join(steps[3:]))
    assert len(late) > 2.5 * len(pcm)
    loud = late[FRAME * 4 : -FRAME * 4]
    assert 0.15 < np.sqrt(np.mean(loud**2)) < 0.25
    # Silence takes as many bytes: players go on only while data arrives.
    silence = encoder.encode(np.zeros(FRAME * 40, np.float32))
    assert abs(len(silence) - len(steps[-1])) < 0.1 * len(silence)


def test_the_daemon_loads_no_codec_before_somebody_listens() -> None:
    code = "import sys, pipeline.voice.voice; sys.exit('av' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

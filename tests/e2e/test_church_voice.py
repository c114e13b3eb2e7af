"""Listen to a service over HTTP: the real program, espeak-ng's voice, a killed voice engine."""

from __future__ import annotations

import io
import os
import signal
import threading
import urllib.request
from pathlib import Path

import av
import numpy as np
import pytest

from scripts.support.program import SERMON, Program, started
from tests.support.needs import needs_program

pytestmark = pytest.mark.slow


class Listener(threading.Thread):
    """A listener with headphones."""

    def __init__(self, program: Program, lang: str) -> None:
        super().__init__(daemon=True)
        self.sound = b""
        self._stream = urllib.request.urlopen(f"{program.address}/listen/{lang}", timeout=60)
        self.start()

    def run(self) -> None:
        with self._stream:
            while heard := self._stream.read1():
                self.sound += heard

    @property
    def spoken_s(self) -> float:
        """Return the seconds with audible sound."""
        if not self.sound:
            return 0.0
        with av.open(io.BytesIO(self.sound), "r", format="mp3") as sound:
            frames = [frame.to_ndarray()[0] for frame in sound.decode(audio=0)]
        return float((np.abs(np.concatenate(frames)) > 0.01).sum()) / 24_000


def speaking(program: Program) -> list[int]:
    """Return the voice engine's processes, oldest first."""
    return [line["pid"] for line in program.log if line.get("engine") == "speech" and "pid" in line]


def test_captions_are_heard_and_a_killed_voice_comes_back(tmp_path: Path) -> None:
    needs_program("espeak-ng")
    (tmp_path / "config.toml").write_text(
        '[speech]\nenabled = true\nengine = "espeak"\n[translate.final]\nengine = "marian"\n'
    )
    with started("run", "--input", str(SERMON), cwd=tmp_path) as program:
        program.wait_for("ready")
        listener = Listener(program, "es")
        program.until(lambda: listener.spoken_s > 1.0, what="voice")
        (pid,) = program.until(lambda: speaking(program))
        os.kill(pid, signal.SIGKILL)
        captions = len(program.journal())
        program.until(lambda: len(speaking(program)) > 1, what="another process")
        program.until(lambda: len(program.journal()) > captions + 1, what="further captions")
        before_s = listener.spoken_s
        program.until(lambda: listener.spoken_s > before_s + 1.0, what="voice again")
        assert program.stop() == 0
        listener.join(10)
        assert not listener.is_alive()
        faults = [line["code"] for line in program.log if line.get("event") == "fault"]
        assert set(faults) <= {"engine-killed", "engine-crashed"}

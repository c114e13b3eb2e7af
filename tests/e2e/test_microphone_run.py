"""`stark-translate run` with a real sound server: a voice becomes captions. An unplugged microphone
is reported; the program waits for it and uses it again.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import soundfile

from scripts.support.program import SERMON, started
from tests.support.needs import needs_program
from tests.support.pulse import Pulse

pytestmark = [pytest.mark.slow, pytest.mark.sound]


def test_a_voice_in_the_room_is_captioned_and_an_unplugged_microphone_comes_back(
    tmp_path: Path,
) -> None:
    needs_program("pulseaudio", "pactl", "paplay")
    tiny = {"STARK_TRANSLATE__TRANSLATE__FINAL__MODEL": "tiny"}
    greeting = tmp_path / "greeting.wav"
    pcm, rate = soundfile.read(SERMON, frames=16_000 * 10)
    soundfile.write(greeting, pcm, rate)
    with (
        Pulse() as server,
        started("run", "--device", "church", cwd=tmp_path, **tiny, **server.environment) as program,
    ):
        program.wait_for("ready")
        server.play(greeting).wait(60)
        program.until(lambda: len(program.records()) >= 2)
        before = program.records()
        assert all(r["mode"] == "live" for r in before)

        began_s = time.monotonic()
        server.unplug("church")
        program.until(lambda: program.health()["state"] == "no-audio")
        noticed_s = time.monotonic() - began_s
        server.plug("church")
        program.until(lambda: program.health()["state"] == "listening")
        recovered_s = time.monotonic() - began_s - noticed_s
        print(f"unplugged: told after {noticed_s:.1f} s; plugged: back after {recovered_s:.1f} s")
        server.play(greeting).wait(60)
        program.until(lambda: len(program.records()) >= len(before) + 2)

        changes = [e for e in program.records("event") if e["event"] == "source"]
        # Without playback this microphone gives zeros; a slow machine may report them.
        lost = [e for e in changes if "zeros" not in e["message"]]
        assert [e["lost"] for e in lost] == [True, False]
        assert program.stop() == 0
        after = program.records()[len(before) :]
        assert after[0]["start_s"] > before[-1]["end_s"]

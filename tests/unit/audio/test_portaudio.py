from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from pipeline.audio.portaudio import call
from pipeline.core.errors import AudioError
from tests.support.paths import ROOT


def test_an_action_gets_sounddevice_and_its_result_comes_back() -> None:
    before = threading.enumerate()
    assert call(lambda sounddevice: sounddevice.__name__, doing="Asking") == "sounddevice"
    assert threading.enumerate() == before


def test_what_an_action_raises_comes_back() -> None:
    def fail(_sounddevice: Any) -> None:
        raise AudioError("audio-channel", "No such channel.")

    with pytest.raises(AudioError, match="No such channel"):
        call(fail, doing="Opening")


def test_an_error_of_portaudio_says_what_was_being_done() -> None:
    def fail(sounddevice: Any) -> None:
        raise sounddevice.PortAudioError("Device unavailable")

    with pytest.raises(AudioError) as caught:
        call(fail, doing="Opening the mixer")
    assert caught.value.code == "audio-device-failed"
    assert caught.value.message == "Opening the mixer: Device unavailable."


def test_a_call_that_hangs_is_given_up_and_so_is_the_next_until_it_returns() -> None:
    answer = threading.Event()
    began_s = time.monotonic()
    for _ in range(2):
        with pytest.raises(AudioError) as caught:
            call(lambda _: answer.wait(30), doing="Listing", timeout_s=0.05)
        assert caught.value.code == "audio-stuck"
    assert time.monotonic() - began_s < 3
    answer.set()
    assert call(lambda _: 7, doing="Listing") == 7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("import ctypes.util; ctypes.util.find_library = lambda name: None", "not found"),
        ("import sys; sys.modules['sounddevice'] = None", "sounddevice"),
    ],
)
def test_without_portaudio_the_package_to_install_is_named(broken: str, reason: str) -> None:
    program = f"{broken}\nfrom pipeline.audio.devices import devices\ndevices()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "audio-no-portaudio" in last
    assert reason in last
    assert "libportaudio2" in last


@pytest.mark.slow
def test_a_hanging_call_does_not_hold_up_the_end_of_the_program() -> None:
    program = (
        "import threading\n"
        "from pipeline.core.errors import AudioError\n"
        "from pipeline.audio.portaudio import call\n"
        "def hang(sounddevice):\n"
        "    sounddevice._terminate = lambda: threading.Event().wait(60)\n"
        "    threading.Event().wait(60)\n"
        "call(lambda _: None, doing='Loading', timeout_s=15)\n"  # else this may be what hangs
        "try:\n"
        "    call(hang, doing='Closing', timeout_s=0.2)\n"
        "except AudioError as error:\n"
        "    print(error.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert done.stdout == "audio-stuck\n"

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pipeline.audio.devices import Device, call, choose, devices, meter
from pipeline.audio.file import AudioFile
from pipeline.core.errors import AudioError
from tests.support.paths import ROOT
from tests.support.pulse import Pulse, pulse_here


def device(name: str, *, api: str = "ALSA", default: bool = False, index: int = 0) -> Device:
    return Device(name, api, 2, 48_000, default, index)


FOUND = (
    device("USB Mixer: Audio (hw:1,0)"),
    device("USB Microphone: Audio (hw:2,0)", default=True),
    device("pulse"),
    device("pulse monitor"),
    device("USB Mixer", api="JACK Audio Connection Kit"),
)


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ("USB Microphone: Audio (hw:2,0)", 1),
        ("usb microphone", 1),
        ("HW:1,0", 0),
        ("pulse", 2),
        ("monitor", 3),
        ("usb mixer", 4),
        ("jack", 4),
        ("usb mixer: audio (hw:1,0), alsa", 0),
        ("", 1),
    ],
)
def test_a_device_is_chosen_by_its_name_or_a_part_of_it(wanted: str, index: int) -> None:
    assert choose(FOUND, wanted) is FOUND[index]


def test_what_nothing_is_called_lists_what_there_is() -> None:
    with pytest.raises(AudioError) as caught:
        choose(FOUND, "pulpit")
    assert caught.value.code == "audio-device-missing"
    assert "'pulpit'" in caught.value.message
    assert "'pulse monitor, ALSA'" in caught.value.fix


def test_what_several_are_called_lists_only_those() -> None:
    with pytest.raises(AudioError) as caught:
        choose(FOUND, "usb m")
    assert caught.value.code == "audio-device-ambiguous"
    assert "3 recording devices" in caught.value.message
    assert "pulse" not in caught.value.message


def test_the_same_name_twice_is_told_apart_by_the_host_api() -> None:
    twice = (device("Mixer"), device("Mixer", api="OSS"))
    with pytest.raises(AudioError) as caught:
        choose(twice, "mixer")
    assert caught.value.code == "audio-device-ambiguous"
    assert choose(twice, "mixer, oss") is twice[1]


def test_without_any_device_the_cable_is_asked_about() -> None:
    for wanted in ("", "mixer"):
        with pytest.raises(AudioError) as caught:
            choose((), wanted)
        assert caught.value.code == "audio-device-missing"
        assert "plug it in" in caught.value.fix


@pytest.fixture
def pulse(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pulse]:
    with pulse_here(monkeypatch) as server:
        yield server


@pytest.mark.sound
def test_the_list_is_the_one_of_this_moment(pulse: Pulse) -> None:
    assert [(d.name, d.is_default, d.is_virtual) for d in devices()] == [
        ("church", False, True),
        ("balcony", False, True),
        ("default", True, True),
    ]
    assert all(d.host_api == "ALSA" and d.input_channels >= 2 for d in devices())
    pulse.kill()
    assert devices() == ()
    pulse.start()
    assert len(devices()) == 3


def test_the_meter_shows_level_peak_and_clipping(tmp_path: Path) -> None:
    half = np.full(16_384, 0.5, np.float32)
    audio = np.concatenate([half, half * 2, half * 0])
    soundfile.write(tmp_path / "a.wav", audio, 16_000, subtype="FLOAT")
    levels = list(meter(AudioFile(tmp_path / "a.wav", pace="fast")))
    assert len(levels) == 24
    assert [level.clipped for level in levels] == [False] * 8 + [True] * 8 + [False] * 8
    assert levels[0].dbfs == pytest.approx(-6.02, abs=0.01)
    assert levels[0].peak_dbfs == pytest.approx(-6.02, abs=0.01)
    assert levels[8].dbfs == pytest.approx(0.0, abs=0.01)
    assert levels[16].dbfs == -120.0


def test_the_meter_closes_its_source_when_it_is_left_early(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(160_000), 16_000)
    source = AudioFile(tmp_path / "a.wav", pace="fast")
    levels = meter(source)
    next(levels)
    levels.close()  # type: ignore[attr-defined]
    assert list(source.blocks()) == []


def test_an_action_gets_sounddevice_and_its_result_comes_back() -> None:
    before = threading.enumerate()
    assert call(lambda sounddevice: sounddevice.__name__, doing="Asking") == "sounddevice"
    assert threading.enumerate() == before


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
def test_without_portaudio_the_package_to_install_is_named() -> None:
    broken = "import ctypes.util; ctypes.util.find_library = lambda name: None"
    program = f"{broken}\nfrom pipeline.audio.devices import devices\ndevices()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "audio-no-portaudio" in last
    assert "not found" in last
    assert "libportaudio2" in last


@pytest.mark.slow
def test_a_hanging_call_does_not_hold_up_the_end_of_the_program() -> None:
    program = (
        "import threading\n"
        "from pipeline.core.errors import AudioError\n"
        "from pipeline.audio.devices import call\n"
        "def hang(sounddevice):\n"
        "    sounddevice._terminate = lambda: threading.Event().wait(60)\n"
        "    threading.Event().wait(60)\n"
        "call(lambda _: None, doing='Loading', timeout_s=15)\n"  # otherwise loading may hang
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

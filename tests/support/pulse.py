"""A private PulseAudio server: a null sink plays a WAV, and its monitor is a microphone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from tests.support.needs import needs_file, needs_library, needs_program

PLUGIN = "libasound_module_pcm_pulse.so"

CONFIG = """\
pcm.church {{ type pulse server "{server}" device "church.monitor" }}
pcm.balcony {{ type pulse server "{server}" device "balcony.monitor" }}
pcm.!default {{ type pulse server "{server}" }}
ctl.!default {{ type pulse server "{server}" }}
"""


@contextmanager
def pulse_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pulse]:
    """Give this process a Pulse as its only recording source; skip where it cannot run."""
    needs_program("pulseaudio", "pactl", "paplay")
    needs_library("portaudio")
    folders = Path("/usr/lib").glob("*/alsa-lib")  # on Debian, one for each architecture
    needs_file(next((f / PLUGIN for f in folders), Path("/usr/lib/alsa-lib") / PLUGIN))
    with Pulse() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


class Pulse:
    """A server with a 48 kHz stereo sink `church`; ALSA offers its monitor by that name.

    `environment` makes a process's ALSA see this server and no other device.
    """

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="pulse-"))
        self._server = f"unix:{self._directory / 'native'}"
        self._process: subprocess.Popen[bytes] | None = None
        config = self._directory / "asound.conf"
        config.write_text(CONFIG.format(server=self._server))
        self.environment = {
            "ALSA_CONFIG_PATH": str(config),
            "HOME": str(self._directory),
            "PULSE_SERVER": self._server,
            "XDG_RUNTIME_DIR": str(self._directory),
        }

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._directory)

    def start(self) -> None:
        """Start the server with the sink `church`."""
        command = ["pulseaudio", "--daemonize=no", "-n", "--exit-idle-time=-1", "--use-pid-file=no"]
        command += ["--load", f"module-native-protocol-unix socket={self._directory / 'native'}"]
        with (self._directory / "pulseaudio.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, env=os.environ | self.environment, stdout=log, stderr=log
            )
        give_up_s = time.monotonic() + 20
        while self._control("info", check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > give_up_s:
                raise RuntimeError((self._directory / "pulseaudio.log").read_text())
            time.sleep(0.05)
        self.plug("church")

    def plug(self, name: str, channels: int = 2) -> None:
        """Add a sink and its microphone of the same name."""
        sink = ["module-null-sink", f"sink_name={name}", "rate=48000", f"channels={channels}"]
        self._control("load-module", *sink)

    def unplug(self, name: str) -> None:
        """Remove a sink, even while it is in use."""
        for line in self._control("list", "short", "modules").stdout.splitlines():
            number, _, arguments = line.partition("\t")
            if f"sink_name={name} " in f"{arguments} ":
                self._control("unload-module", number)

    def play(self, path: Path, sink: str = "church") -> subprocess.Popen[bytes]:
        """Start playing a file; it ends by itself."""
        return subprocess.Popen(
            ["paplay", f"--device={sink}", str(path)], env=os.environ | self.environment
        )

    def hang(self) -> None:
        """Suspend the server; its connections stay open but get no answer."""
        self._signal(signal.SIGSTOP)

    def wake(self) -> None:
        """End `hang`."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the server."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _control(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["pactl", *words],
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            check=check,
            timeout=20,
        )

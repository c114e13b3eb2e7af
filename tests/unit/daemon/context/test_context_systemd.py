"""The messages to systemd, on a real socket like systemd's."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.daemon.context.context import Notifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(5)
        yield listening


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(tmp_path / "notify"), **more}


def test_it_says_each_thing_in_systemds_words(systemd: socket.socket, tmp_path: Path) -> None:
    notifier = Notifier(environment(tmp_path, WATCHDOG_USEC="30000000"))
    notifier.ready()
    notifier.status("listening,\n 3 displays")
    notifier.status("listening, 3 displays")
    notifier.alive()
    notifier.status("ñ" * 5000)
    notifier.stopping()
    messages = [systemd.recv(10_000).decode() for _ in range(5)]
    status = ["STATUS=listening, 3 displays", "WATCHDOG=1", "STATUS=" + "ñ" * 200]
    assert messages == ["READY=1", *status, "STOPPING=1"]
    assert notifier.watchdog_s == 10.0


def test_an_abstract_socket_is_reached() -> None:
    name = f"stark-translate-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{name}")
        listening.settimeout(5)
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).ready()
        assert listening.recv(1000) == b"READY=1"


@pytest.mark.parametrize(
    "more", [{}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}]
)
def test_nobody_waits_for_a_sign_of_life(
    systemd: socket.socket, tmp_path: Path, more: dict[str, str]
) -> None:
    notifier = Notifier(environment(tmp_path, **more))
    notifier.alive()
    notifier.ready()
    assert notifier.watchdog_s == 0.0
    assert systemd.recv(1000) == b"READY=1"


@pytest.mark.parametrize("address", ["", "/no/such/socket"])
def test_without_systemd_nothing_happens(address: str) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1000000"})
    notifier.ready()
    notifier.status("listening")
    notifier.alive()
    notifier.stopping()

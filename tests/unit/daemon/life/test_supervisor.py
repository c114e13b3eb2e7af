"""The look-out: engines that hang, signs of life for systemd, its status line."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path

import pytest

from tests.support.daemon import DURATION_S, SCRIPT, Service, reached, until
from tests.support.fakes import FakeRecognizer, FakeSource, FakeTranslator, pcm_of

pytestmark = pytest.mark.slow


def told(systemd: socket.socket) -> list[str]:
    """Return everything that systemd has been sent so far."""
    systemd.setblocking(False)
    messages = []
    while True:
        try:
            messages.append(systemd.recv(10_000).decode())
        except BlockingIOError:
            return messages


def told_until_the_end(systemd: socket.socket) -> list[str]:
    """Return what systemd is sent, up to the word that the end has begun."""
    systemd.settimeout(20)
    messages: list[str] = []
    while "STOPPING=1" not in messages:
        messages.append(systemd.recv(10_000).decode())
    return messages


def test_systemd_hears_ready_signs_of_life_and_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "900000")
        source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=10)
        messages: list[str] = []
        # Read while it runs: a socket keeps ten messages (net.unix.max_dgram_qlen), and drops more.
        reader = threading.Thread(target=lambda: messages.extend(told_until_the_end(systemd)))
        reader.start()
        assert Service(tmp_path / "sessions", source=source, fast=False).run() == 0
        reader.join(20)
    assert messages.index("READY=1") < messages.index("STOPPING=1")
    assert messages.count("WATCHDOG=1") >= 3
    assert any(m.startswith("STATUS=starting") for m in messages)


def test_a_listener_that_hangs_gets_no_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.workers.group.SILENT_S", 0.5)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "300000")

        async def wait(service: Service) -> None:
            await asyncio.sleep(1.5)
            told(systemd)
            await asyncio.sleep(1.0)
            assert "WATCHDOG=1" not in told(systemd)
            service.app.stop()

        source = FakeSource(pcm_of(SCRIPT, 2.0), hold=True)
        assert Service(tmp_path / "sessions", source=source, fast=False).run(wait) == 0


def test_a_transcriber_that_hangs_gets_no_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.workers.group.STUCK_S", 0.5)
    hung, go_on = threading.Event(), threading.Event()

    def hang(_: int) -> bool:
        hung.set()
        return not go_on.wait(60)

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "300000")

        async def wait(service: Service) -> None:
            await reached(hung.is_set)
            await asyncio.sleep(1.5)
            told(systemd)
            await asyncio.sleep(1.0)
            assert "WATCHDOG=1" not in told(systemd)
            go_on.set()
            await reached(lambda: "WATCHDOG=1" in told(systemd))

        source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=2)
        recognizer = FakeRecognizer(SCRIPT, fails=hang)
        service = Service(tmp_path / "sessions", source=source, recognizer=recognizer, fast=False)
        assert service.run(wait) == 0


def test_it_goes_on_looking_after_a_final_translator_that_hung(tmp_path: Path) -> None:
    hang = threading.Event()
    seen = []

    async def wait(service: Service) -> None:
        async with service.connect() as socket:
            await until(socket, lambda m: "hangs" in m.get("reason", ""))
            hang.set()
            seen.append(await until(socket, lambda m: m.get("reason") == ""))

    service = Service(
        tmp_path,
        source=FakeSource(pcm_of(SCRIPT, DURATION_S), speed=10, waits=[(6.9, hang)]),
        final=FakeTranslator("gemma", hang=hang),
        fast=False,
        flags={"translate.final.deadline_s": 0.2},
    )
    assert service.run(wait) == 0
    assert seen, "its return is shown"

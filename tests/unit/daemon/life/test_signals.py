"""Signals at any rate: each kind is handled, and none is lost among those of another."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable

import pytest

from pipeline.daemon.life.signals import handle_signals, hangup


def test_a_storm_of_one_kind_is_heard_once_and_hides_no_other(
    capfd: pytest.CaptureFixture[str],
) -> None:
    heard: Counter[str] = Counter()
    before = signal.getsignal(signal.SIGHUP)

    async def listen() -> None:
        handle_signals(
            {
                signal.SIGHUP: lambda: heard.update(["hangup"]),
                signal.SIGTERM: lambda: heard.update(["end"]),
            }
        )
        for _ in range(5_000):  # the loop is busy here: its pipe holds a few hundred
            os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        while heard["end"] == 0:
            await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGHUP)
        while heard["hangup"] < 2:
            await asyncio.sleep(0)

    asyncio.run(listen())
    assert heard == {"hangup": 2, "end": 1}
    assert capfd.readouterr().err == ""
    assert signal.getsignal(signal.SIGHUP) is before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_hangup_ends_what_was_started_in_a_terminal_that_is_gone() -> None:
    heard: list[str] = []

    def handler(descriptor: int) -> Callable[[], None]:
        return hangup(lambda: heard.append("end"), lambda: heard.append("reload"), [descriptor])

    terminal, ours = os.openpty()
    at_terminal = handler(ours)
    at_terminal()  # sent by hand
    os.close(terminal)  # the window is closed
    at_terminal()
    os.close(ours)
    reader, writer = os.pipe()
    under_systemd = handler(reader)
    os.close(reader)
    os.close(writer)
    under_systemd()
    assert heard == ["reload", "end", "reload"]

"""Tells systemd how the daemon is: ready, its status in words, alive, stopping.

The protocol of sd_notify(3): lines of NAME=VALUE in a datagram to the socket that systemd names in
the environment. Without systemd nothing happens.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

_STATUS_CHARACTERS = 200


class Notifier:
    """Belongs to one thread. What cannot be sent is not: systemd is gone, or was never there."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Read the socket's address and how often systemd wants a sign of life."""
        address = environment.get("NOTIFY_SOCKET", "")
        # A first character @ stands for the zero byte of an abstract socket.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_s = _watchdog_s(environment)
        """A sign of life is due at least this often, 0.0 where none is wanted."""
        self._status = ""

    def ready(self) -> None:
        """Say that captions can be made from now on."""
        self._send("READY=1")

    def alive(self) -> None:
        """Give a sign of life."""
        if self.watchdog_s:
            self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """Say how things are, in one line for `systemctl status`; a repetition is not sent."""
        line = " ".join(text.split())[:_STATUS_CHARACTERS]
        if line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    def stopping(self) -> None:
        """Say that the end has begun."""
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            # On the event loop: captions must not wait for systemd.
            out.setblocking(False)
            out.sendto(message.encode(), self._address)


def _watchdog_s(environment: Mapping[str, str]) -> float:
    """Return a third of the time after which systemd takes us for dead."""
    # A parent's variable is inherited, and its watchdog is not ours.
    meant_for = environment.get("WATCHDOG_PID", str(os.getpid()))
    every_us = environment.get("WATCHDOG_USEC", "")
    if meant_for != str(os.getpid()) or not every_us.isdecimal():
        return 0.0
    return int(every_us) / 3e6

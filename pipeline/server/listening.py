"""The listening sockets: who may connect, and who has to make room when the port is full.

Connections are counted as they are accepted, before a TLS handshake and before the request. When
the port is full, the connection that has been silent longest makes room for the newest one: a
client that asks at once gets its answer however many hold connections open and say nothing. A part
of the connections is kept for trusted networks (`access.TrustedNetworks`).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pipeline.server.addresses import is_plain
from pipeline.server.rate_limits import ConnectionLimiter

_SEND_BYTES = 64 * 1024  # SO_SNDBUF of each display; the default grows to megabytes
# On Windows SO_REUSEADDR would let two services listen at one port.
_REUSE = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
_RECEIVE_BYTES = 8 * 1024  # SO_RCVBUF; small, so that one flood cannot delay the others


class Doors:
    """What the listening sockets of one port share. Belongs to the event loop's thread."""

    def __init__(self, limiter: ConnectionLimiter) -> None:
        self._limiter = limiter
        # By remote address and port, the longest silent first.
        self._silent: dict[object, _Accepted] = {}
        self.are_open = True
        self.answer_plain: Callable[[bytes], bytes] | None = None
        """Answers http on a port that speaks https."""

    def enter(self, connection: _Accepted) -> bool:
        """Count a new connection, and let a silent one go for it; return False if it must go."""
        address = connection.peer[0]
        # Not for an address that has its share: it could push out all others, one at a time.
        # Several may have to go: trusted networks have come in above what strangers may have.
        while (
            self._silent
            and self._limiter.is_full(address)
            and not self._limiter.has_its_share(address)
        ):
            self._silent[next(iter(self._silent))].drop()
        if not self._limiter.enter(address):
            return False
        if address not in self._limiter.trusted:
            self._silent[connection.peer] = connection
        return True

    def trust(self, address: str) -> None:
        """Keep places for the network of this address."""
        self._limiter.trusted.add(address)

    def leave(self, connection: _Accepted) -> None:
        """Count a connection that has gone."""
        self._silent.pop(connection.peer, None)
        self._limiter.leave(connection.peer[0])

    def heard(self, peer: object) -> None:
        """Take notice that a connection from this address and port has sent its request."""
        self._silent.pop(peer, None)


class Listener(socket.socket):
    """A listening socket that counts what it accepts."""

    doors: Doors

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises ConnectionAbortedError for one that may not come in."""
        if not self.doors.are_open:
            raise BlockingIOError  # for the event loop: nobody waits
        accepted, peer = super().accept()
        connection = _Accepted(accepted, peer, self.doors)
        if peer[0] == connection.getsockname()[0]:  # this machine, by its address in the network
            self.doors.trust(peer[0])
        if not self.doors.enter(connection):
            connection.close()
            # The event loop takes it for a client that has hung up, and goes on.
            raise ConnectionAbortedError
        return connection, peer


class _Accepted(socket.socket):
    def __init__(self, accepted: socket.socket, peer: tuple[Any, ...], doors: Doors) -> None:
        kind = accepted.family, accepted.type, accepted.proto
        # Detached: else the descriptor would be closed with the object that `accept` has made.
        super().__init__(*kind, fileno=accepted.detach())
        self.peer = peer
        self._doors: Doors | None = doors
        self._answer_plain = doors.answer_plain

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Receive; http instead of a TLS handshake gets its answer here, and the connection ends.

        Only connections with TLS are read this way.
        """
        count = super().recv_into(buffer, nbytes, flags)
        answer, self._answer_plain = self._answer_plain, None  # it begins only once
        if answer is None or not is_plain(bytes(buffer[:5])):
            return count
        with suppress(OSError):  # it has hung up
            # The socket does not block, and its empty send buffer holds more than this answer.
            self.sendall(answer(bytes(buffer[:count])))
            self.shutdown(socket.SHUT_WR)
        return 0

    def drop(self) -> None:
        """Hang up: the event loop reads the end and closes the socket."""
        self._leave()
        with suppress(OSError):  # the other side was quicker
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._leave()
        super().close()

    def _leave(self) -> None:
        # Once: `drop` counts at once, and `close` follows when the loop has read the end.
        if self._doors is not None:
            doors, self._doors = self._doors, None
            doors.leave(self)


async def listeners(host: str, port: int, doors: Doors) -> list[Listener]:
    """Return a socket bound to each address of a host. Raises OSError."""
    loop = asyncio.get_running_loop()
    told = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # A name that the hosts file has twice is told twice, and a second socket could not be bound.
    found = tuple(dict.fromkeys(told))
    made: list[Listener] = []
    try:
        for family, kind, number, _, address in found:
            each = Listener(family, kind, number)
            made.append(each)
            each.doors = doors
            each.setsockopt(socket.SOL_SOCKET, _REUSE, 1)
            if family == socket.AF_INET6:
                # Of two addresses, so that both can be bound. Alone, `::` takes IPv4 as well: the
                # address that phones are told is of IPv4 (`addresses.page_address`).
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, len(found) > 1)
            # What is accepted inherits these.
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
            each.bind(address)
    except OSError:
        for each in made:
            each.close()
        raise
    return made

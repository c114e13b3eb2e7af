"""The listening sockets: who may connect, and which connection is dropped if the port is full.

Connections are counted when they are accepted, before a TLS handshake and before the request. If
the port is full, the connection that has been silent longest is dropped for the newest one. So a
client that sends its request at once gets an answer, even if many others hold idle connections.
Some connections are reserved for trusted networks (`access.TrustedNetworks`).
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
    """State that the listening sockets of one port share. Belongs to the event loop's thread."""

    def __init__(self, limiter: ConnectionLimiter) -> None:
        self.limiter = limiter
        # By remote address and port; the longest silent first.
        self._silent: dict[object, _Accepted] = {}
        self.are_open = True
        self.answer_plain: Callable[[bytes], bytes] | None = None
        """Answers http on a port that speaks https."""

    def enter(self, connection: _Accepted) -> bool:
        """Count a new connection, dropping silent ones if needed; return False to refuse it."""
        address = connection.peer[0]
        # Not for an address that has its share: it could push out all others, one at a time.
        # Several may have to go: trusted networks may have used more than strangers may.
        while (
            self._silent
            and self.limiter.is_full(address)
            and not self.limiter.has_its_share(address)
        ):
            self._silent[next(iter(self._silent))].drop()
        if not self.limiter.enter(address):
            return False
        if address not in self.limiter.trusted:
            self._silent[connection.peer] = connection
        return True

    def leave(self, connection: _Accepted) -> None:
        """Count a closed connection."""
        self._silent.pop(connection.peer, None)
        self.limiter.leave(connection.peer[0])

    def heard(self, peer: object) -> None:
        """Note that the connection from this address and port has sent its request."""
        self._silent.pop(peer, None)


class Listener(socket.socket):
    """A listening socket that counts what it accepts."""

    doors: Doors

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises ConnectionAbortedError for one that is refused."""
        if not self.doors.are_open:
            raise BlockingIOError  # to the event loop this means: no client waits
        accepted, peer = super().accept()
        connection = _Accepted(accepted, peer, self.doors)
        if peer[0] == connection.getsockname()[0]:  # this machine, by its network address
            self.doors.limiter.trusted.add(peer[0])
        if not self.doors.enter(connection):
            connection.close()
            # The event loop treats it as a client that has hung up, and goes on.
            raise ConnectionAbortedError
        return connection, peer


class _Accepted(socket.socket):
    def __init__(self, accepted: socket.socket, peer: tuple[Any, ...], doors: Doors) -> None:
        kind = accepted.family, accepted.type, accepted.proto
        # Detached: otherwise the descriptor would be closed with the object from `accept`.
        super().__init__(*kind, fileno=accepted.detach())
        self.peer = peer
        self._doors: Doors | None = doors
        self._answer_plain = doors.answer_plain

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Receive; answer http instead of a TLS handshake here, and end the connection.

        Only connections with TLS are read this way.
        """
        count = super().recv_into(buffer, nbytes, flags)
        answer, self._answer_plain = self._answer_plain, None  # only for the first bytes
        if answer is None or not is_plain(bytes(buffer[:5])):
            return count
        with suppress(OSError):  # the client has hung up
            # The socket does not block, and its empty send buffer holds more than this answer.
            self.sendall(answer(bytes(buffer[:count])))
            self.shutdown(socket.SHUT_WR)
        return 0

    def drop(self) -> None:
        """Hang up: the event loop reads the end and closes the socket."""
        self._leave()
        with suppress(OSError):  # the other side has already closed
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._leave()
        super().close()

    def _leave(self) -> None:
        # Only once: `drop` leaves at once, and `close` follows when the loop has read the end.
        if self._doors is not None:
            doors, self._doors = self._doors, None
            doors.leave(self)


async def listeners(host: str, port: int, doors: Doors) -> list[Listener]:
    """Return a socket bound to each address of a host. Raises OSError."""
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # A name that is twice in the hosts file comes twice, but a second bind would fail.
    found = tuple(dict.fromkeys(infos))
    made: list[Listener] = []
    try:
        for family, kind, number, _, address in found:
            each = Listener(family, kind, number)
            made.append(each)
            each.doors = doors
            each.setsockopt(socket.SOL_SOCKET, _REUSE, 1)
            if family == socket.AF_INET6:
                # IPv6 only if there are two addresses, so both can be bound. Alone, `::` takes IPv4
                # as well, because phones are told an IPv4 address (`addresses.page_address`).
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, len(found) > 1)
            # Accepted sockets inherit these.
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
            each.bind(address)
    except OSError:
        for each in made:
            each.close()
        raise
    return made

"""The connected displays, and the one way to send them something without waiting."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from websockets.asyncio.server import ServerConnection, broadcast

from pipeline.core.metrics import Metrics
from pipeline.core.types import KINDS, Kind
from pipeline.server.rate_limits import TokenBucket
from pipeline.server.transport import address_of

BACKLOG_BYTES = 256 * 1024
"""What may pile up for one display, beyond its `hello`."""


_PAINTED = 16
_MESSAGES_PER_S = 60.0  # an `ack` a painted frame, and screens paint so many
_MESSAGES_AT_ONCE = 120


@dataclass(slots=True, eq=False)
class Client:
    """One display's connection."""

    connection: ServerConnection
    lang: str
    kind: Kind
    acked: int = 0
    """The highest seq it has painted; at first the highest that it got in `hello`."""
    backlog: int = BACKLOG_BYTES
    authorized: bool = False
    errors: int = 0
    messages: TokenBucket = field(
        default_factory=lambda: TokenBucket(_MESSAGES_PER_S, _MESSAGES_AT_ONCE)
    )
    """What it may still send."""
    number: int = 0
    """Counts the clients from 1; given when it is added."""
    painted_s: deque[float] = field(default_factory=lambda: deque(maxlen=_PAINTED))
    """How long it took to paint the last captions."""

    @property
    def address(self) -> str:
        """The address that it comes from; of a reverse proxy, if there is one."""
        return address_of(self.connection)

    @property
    def name(self) -> str:
        """What an operator knows it by."""
        return f"{self.number} ({self.address})"


class Clients:
    """All clients. Belongs to the event loop's thread."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._clients: set[Client] = set()
        self._added = 0

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> Iterator[Client]:
        return iter(self._clients)

    def add(self, client: Client) -> None:
        """Send it everything from now on."""
        self._added += 1
        client.number = self._added
        self._clients.add(client)
        self._metrics.clients.labels(client.kind).inc()

    def remove(self, client: Client) -> None:
        """Forget a client that has been added."""
        self._clients.remove(client)
        self._metrics.clients.labels(client.kind).dec()

    def authorized(self) -> list[Client]:
        """Return the operators that have shown the token."""
        return [client for client in self._clients if client.authorized]

    def counts(self) -> dict[Kind, int]:
        """Count the clients by kind."""
        counts = Counter(client.kind for client in self._clients)
        return {kind: counts[kind] for kind in KINDS}

    def send(self, clients: Iterable[Client], data: bytes) -> None:
        """Put a message into write buffers, and cut off whoever does not empty theirs."""
        clients = list(clients)
        broadcast((client.connection for client in clients), data, text=True)
        for client in clients:
            transport = client.connection.transport
            if transport.get_write_buffer_size() > client.backlog and not transport.is_closing():
                self._metrics.slow_clients.inc()
                transport.abort()

"""The connected displays, and sending to them without waiting."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from websockets.asyncio.server import ServerConnection, broadcast

from pipeline.core.metrics import Metrics
from pipeline.core.percentiles import nearest_rank
from pipeline.core.types import KINDS, Kind
from pipeline.protocol.messages import DisplayGroup, GlassTimes, SlowDisplay
from pipeline.server.rate_limits import TokenBucket
from pipeline.server.streams.event_stream import EventWriter
from pipeline.server.transport import address_of

BACKLOG_BYTES = 256 * 1024
"""Bytes that may wait in one display's write buffer, beyond its `hello`."""


_PAINTED = 16  # captions by which one display is judged
_MESSAGES_PER_S = 60.0  # at most one `ack` a painted frame, at 60 frames a second
_MESSAGES_AT_ONCE = 120


# Compared by identity: two displays may have the same values, and all are in one set.
@dataclass(slots=True, eq=False)
class Client:
    """One display's connection."""

    connection: ServerConnection
    lang: str
    kind: Kind
    board: str
    """The target language whose captions it gets. The first target's also have the source text."""
    events: EventWriter | None = None
    """Set if it reads a stream of events instead of a socket."""
    acked: int = 0
    """The highest seq that it has painted; at first, the seq of its `hello`."""
    backlog: int = BACKLOG_BYTES
    authorized: bool = False
    device: str = ""
    """The token that it logged in with, if that is the token of a volunteer's device."""
    errors: int = 0
    messages: TokenBucket = field(
        default_factory=lambda: TokenBucket(_MESSAGES_PER_S, _MESSAGES_AT_ONCE)
    )
    number: int = 0
    """Serial number from 1, given by `Clients.add`."""
    painted_s: deque[float] = field(default_factory=lambda: deque(maxlen=_PAINTED))
    """Seconds from publishing to painted, of its last captions."""

    @property
    def address(self) -> str:
        """Its remote address, or that of a reverse proxy."""
        return address_of(self.connection)

    @property
    def name(self) -> str:
        """Its name for operators."""
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
        """Add a client, which gets every message from now on."""
        self._added += 1
        client.number = self._added
        self._clients.add(client)
        self._metrics.clients.labels(client.kind).inc()

    def remove(self, client: Client) -> None:
        """Forget a client that has been added."""
        self._clients.remove(client)
        self._metrics.clients.labels(client.kind).dec()

    def authorized(self) -> list[Client]:
        """Return the clients that have logged in as operators."""
        return [client for client in self._clients if client.authorized]

    def counts(self) -> dict[Kind, int]:
        """Count the clients by kind."""
        counts = Counter(client.kind for client in self._clients)
        return {kind: counts[kind] for kind in KINDS}

    def of(self, board: str) -> list[Client]:
        """Return the clients that get the captions of a board."""
        return [client for client in self._clients if client.board == board]

    def watchers(self) -> Counter[str]:
        """Count the pages by language; an operator's page counts for the captions chosen there."""
        return Counter(client.lang for client in self._clients)

    def send(self, clients: Iterable[Client], data: bytes) -> None:
        """Put a message into write buffers, and close connections whose buffer is too full.

        Nobody waits for a slow display: it reconnects later and asks for what it missed.
        """
        # It is iterated twice, and may be a generator.
        clients = list(clients)
        # One frame for all: otherwise captions took 1.5 times as long (docs/decisions/048).
        sockets = (client.connection for client in clients if client.events is None)
        broadcast(sockets, data, text=True)
        for client in clients:
            transport = client.connection.transport
            # `broadcast` checks this itself; asyncio logs writes to a closed transport.
            if client.events is not None and not transport.is_closing():
                transport.write(client.events.event(data))
            if transport.get_write_buffer_size() > client.backlog and not transport.is_closing():
                self._metrics.slow_clients.inc()
                # Not close(): it would wait for an empty buffer, but the display does not read it.
                transport.abort()


WINDOW_S = 300.0
"""How long a measurement counts, seconds."""
SLOWEST = 10
"""Number of displays listed one by one."""
_TIMED = 4096  # captions whose time of publishing is remembered
_MEASURED = 2048  # measurements kept for a kind and language

Group = tuple[Kind, str]


class DisplayLatency:
    """The latency until captions are painted, by kind and language, and of single displays."""

    def __init__(self) -> None:
        # For each language: seq -> time of publishing; oldest first.
        self._published: dict[str, dict[int, float]] = {}
        self._measured: dict[Group, deque[tuple[float, float]]] = {}  # (when, seconds)

    def published(self, seq: int, now_s: float, lang: str) -> None:
        """Record that a caption was sent to the displays of the board of target `lang`."""
        sent = self._published.setdefault(lang, {})
        sent[seq] = now_s
        if len(sent) > _TIMED:
            del sent[next(iter(sent))]

    def forget(self) -> None:
        """Forget the times of publishing: another session begins, which counts anew."""
        # Otherwise a late ack of the old session would hide those of the new one.
        self._published.clear()

    def painted(self, client: Client, seq: int, now_s: float) -> float | None:
        """Record an ack; return the seconds since publishing, None if the ack is not new."""
        published_s = self._published.get(client.board, {}).get(seq)
        # An ack may come twice, or for a caption from before this client joined.
        if seq <= client.acked or published_s is None:
            return None
        client.acked = seq
        took_s = now_s - published_s
        client.painted_s.append(took_s)
        measured = self._measured.setdefault((client.kind, client.lang), deque(maxlen=_MEASURED))
        measured.append((now_s, took_s))
        return took_s

    def displays(self, clients: Iterable[Client], now_s: float) -> tuple[DisplayGroup, ...]:
        """Return a row for each kind and language of connected displays."""
        rows: list[DisplayGroup] = []
        for group, count in sorted(Counter((c.kind, c.lang) for c in clients).items()):
            measured = self._measured.get(group, deque())
            # Only here, once in two seconds, because acks come by the hundred.
            while measured and now_s - measured[0][0] > WINDOW_S:
                measured.popleft()
            took = sorted(took_s for _, took_s in measured)
            glass = GlassTimes(p50=_ms(took, 0.5), p95=_ms(took, 0.95)) if took else None
            kind, lang = group
            rows.append(DisplayGroup(kind=kind, lang=lang, clients=count, glass_ms=glass))
        return tuple(rows)

    def slowest(
        self, clients: Iterable[Client], seqs: Mapping[str, int], now_s: float
    ) -> tuple[SlowDisplay, ...]:
        """Return the slowest displays. `seqs` are the newest captions', by board."""
        rows = [
            SlowDisplay(
                name=client.name,
                kind=client.kind,
                lang=client.lang,
                # A display that stopped drawing sends no more acks; its waiting time shows that.
                glass_ms=max(_ms(sorted(client.painted_s), 0.5), self._waiting_ms(client, now_s)),
                behind=max(0, seqs[client.board] - client.acked),
            )
            for client in clients
            # A script that sends no acks is left out: its latency is unknown.
            if client.painted_s
        ]
        return tuple(sorted(rows, key=lambda row: row.glass_ms, reverse=True)[:SLOWEST])

    def _waiting_ms(self, client: Client, now_s: float) -> int:
        """Return the age of the oldest caption that the client has not painted."""
        sent = self._published.get(client.board, {})
        # The time of a forgotten caption is unknown; the oldest known time is used instead.
        published_s = sent.get(max(client.acked + 1, next(iter(sent), 0)))
        return 0 if published_s is None else round((now_s - published_s) * 1000)


def _ms(took_s: Sequence[float], share: float) -> int:
    return round(nearest_rank(took_s, share) * 1000)

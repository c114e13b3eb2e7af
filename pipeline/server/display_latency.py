"""Measure how long displays take to paint captions, from their acks.

Times are seconds of one clock, passed in.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence

from pipeline.core.percentiles import nearest_rank
from pipeline.core.types import Kind
from pipeline.protocol.messages import DisplayGroup, GlassTimes, SlowDisplay
from pipeline.server.clients import Client

WINDOW_S = 300.0
"""How long a measurement counts, seconds."""
SLOWEST = 10
"""Number of displays listed one by one."""
_TIMED = 4096  # captions whose time of publishing is remembered
_MEASURED = 2048  # measurements kept for a kind and language

Group = tuple[Kind, str]
"""Displays of one kind and language."""


class DisplayLatency:
    """The latency at the glass, by kind and language and of single displays."""

    def __init__(self) -> None:
        # Of each language: seq -> when; oldest first.
        self._published: dict[str, dict[int, float]] = {}
        self._measured: dict[Group, deque[tuple[float, float]]] = {}  # (when, seconds)

    def published(self, seq: int, now_s: float, lang: str) -> None:
        """Note that a caption has been sent to the displays of a board, that of a target `lang`."""
        sent = self._published.setdefault(lang, {})
        sent[seq] = now_s
        if len(sent) > _TIMED:
            del sent[next(iter(sent))]

    def painted(self, client: Client, seq: int, now_s: float) -> float | None:
        """Record an ack; return the seconds since publishing, None if it tells nothing new."""
        published_s = self._published.get(client.board, {}).get(seq)
        # An ack may come twice, or for a caption of before this client joined.
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
            # Only here, once in two seconds: acks come by the hundred.
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
                # A display that has stopped drawing sends no more times; its wait tells.
                glass_ms=max(_ms(sorted(client.painted_s), 0.5), self._waiting_ms(client, now_s)),
                behind=max(0, seqs[client.board] - client.acked),
            )
            for client in clients
            if client.painted_s
        ]
        return tuple(sorted(rows, key=lambda row: row.glass_ms, reverse=True)[:SLOWEST])

    def _waiting_ms(self, client: Client, now_s: float) -> int:
        """Return the age of the oldest caption that the client has not painted."""
        sent = self._published.get(client.board, {})
        # What has been forgotten has no time any more: then the oldest that is known stands for it.
        published_s = sent.get(max(client.acked + 1, next(iter(sent), 0)))
        return 0 if published_s is None else round((now_s - published_s) * 1000)


def _ms(took_s: Sequence[float], share: float) -> int:
    return round(nearest_rank(took_s, share) * 1000)

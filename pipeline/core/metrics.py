"""The daemon's counters and measurements, in the Prometheus text format.

Each daemon has one `Metrics` with its own registry, so that two in one process (tests) do not mix.
prometheus_client locks each value, so any thread may count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from pipeline.core.types import KINDS, State

# The version of the Prometheus text format.
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

# Upper bounds of the buckets, in seconds. Times in the same bucket cannot be separated later.
_STAGE_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16)
_LATENCY_S = (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 20)
_GLASS_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


ENGINE_GAUGES: Final[Mapping[str, str]] = {
    "load_seconds": "Time that the engine's model took to load, the last time.",
    "memory_bytes": "Resident memory of the engine's process.",
    "tokens_per_second": "Tokens written in a second of work, since the start.",
    "gpu_memory_bytes": "Memory that the engine's process holds on GPUs.",
    "gpu_busy_ratio": "Share of time in which the engine's GPU was at work.",
}
ENGINE_TOTALS: Final[Mapping[str, str]] = {
    "busy_seconds": "Time that the engine has worked.",
    "prompt_tokens": "Tokens that the translator has read.",
    "generated_tokens": "Tokens that the translator has written.",
}


class Metrics:
    """The daemon's counters, gauges and histograms. Times are in seconds."""

    def __init__(self) -> None:
        # Not the library's global registry, where a name can be used only once per process.
        self.registry = registry = CollectorRegistry()

        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(f"stark_{name}", says, labels, registry=registry)

        def gauge(name: str, says: str, *labels: str) -> Gauge:
            return Gauge(f"stark_{name}", says, labels, registry=registry)

        def histogram(name: str, says: str, label: str, buckets: Sequence[float]) -> Histogram:
            return Histogram(
                f"stark_{name}_seconds", says, [label], registry=registry, buckets=buckets
            )

        self.utterances = counter("utterances", "Final utterances that the segmenter handed on.")
        self.captions = counter("captions", "Caption messages published.", "kind", "engine")
        self.filtered = counter("filtered", "Transcripts not shown.", "reason")
        self.corrections = counter("corrections", "Applications of a dictionary rule.")
        self.stage = histogram(
            "stage", "Time that one stage took for one utterance.", "stage", _STAGE_S
        )
        # For the passes partial and final.
        latency = "From the last syllable to the published caption."
        self.latency = histogram("last_syllable_to_caption", latency, "pass", _LATENCY_S)
        painted = "From publishing a caption to the display's word that it is painted."
        self.glass = histogram("glass", painted, "kind", _GLASS_S)
        self.clients = gauge("clients", "Connected displays.", "kind")
        self.slow_clients = counter("slow_clients", "Displays cut off because they did not read.")
        self.client_errors = counter("client_errors", "Messages from displays refused.", "code")
        too_many = "Requests refused because their address has had too many."
        self.refused = counter("refused", too_many, "code")
        self.dropped = counter("dropped", "Items dropped from a full queue.", "queue")
        self.queue_depth = gauge("queue_depth", "Items waiting in a queue.", "queue")
        failed = "Utterances on which an engine failed."
        self.engine_errors = counter("engine_errors", failed, "stage")
        self._engine_gauges = {
            key: gauge(f"engine_{key}", says, "engine") for key, says in ENGINE_GAUGES.items()
        }
        self._engine_totals = {
            key: counter(f"engine_{key}", says, "engine") for key, says in ENGINE_TOTALS.items()
        }
        # The last figures by engine and key: to remove a gauge once, and to increase counters.
        self._figures: dict[tuple[str, str], float | None] = {}
        self._state = gauge("state", "1 for the daemon's state, 0 for others.", "state")
        # The queues count since the start; a Prometheus counter takes the increase.
        self._dropped: dict[str, int] = {}
        # An alarm needs the series to exist before the first display connects.
        for kind in KINDS:
            self.clients.labels(kind).set(0)
        self.set_state("starting")

    def set_state(self, state: State) -> None:
        """Set the daemon's state."""
        for each in get_args(State):
            # Set the others too: a series keeps its last value.
            self._state.labels(each).set(each == state)

    def queues(self, depth: Mapping[str, int], dropped: Mapping[str, int]) -> None:
        """Record the length of each queue, and its number of dropped items since the start."""
        for queue, waiting in depth.items():
            self.queue_depth.labels(queue).set(waiting)
        for queue, total in dropped.items():
            self.dropped.labels(queue).inc(max(0, total - self._dropped.get(queue, 0)))
        self._dropped = dict(dropped)

    def engine(self, name: str, figures: Mapping[str, float | None]) -> None:
        """Record the figures of one engine; an unknown figure is None.

        `figures` has the keys of `ENGINE_GAUGES` and of `ENGINE_TOTALS` (totals since the start).
        """
        for key, gauge in self._engine_gauges.items():
            value = figures[key]
            if value is not None:
                gauge.labels(name).set(value)
            elif self._figures.get((name, key)) is not None:
                gauge.remove(name)  # no figure is better than an old one
        for key, counter in self._engine_totals.items():
            # Engines report totals; a Prometheus counter takes the increase. It raises on a
            # negative number, and a metric must not end a service.
            new = (figures[key] or 0) - (self._figures.get((name, key)) or 0)
            counter.labels(name).inc(max(0, new))
        self._figures.update({(name, key): value for key, value in figures.items()})

    def exposition(self) -> bytes:
        """Return all metrics in the Prometheus format; the content type is `CONTENT_TYPE`."""
        return generate_latest(self.registry)

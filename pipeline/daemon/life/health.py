"""The daemon's health in one record: for /healthz, diagnostics.jsonl and the operator."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil

from pipeline.core.formats import utc_now, utc_offset_min
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import DaemonContext
from pipeline.engines.process.engine_process import EngineProcess
from pipeline.records.health import (
    RUNG_NAMES,
    Dropped,
    EngineHealth,
    HealthRecord,
    Queues,
    RungName,
)
from pipeline.workers.base import Engines
from pipeline.workers.group import WorkerGroup


class Health:
    """Reads the health from the parts at each call."""

    def __init__(
        self, context: DaemonContext, engines: Engines, group: WorkerGroup, targets: Targets
    ) -> None:
        self._context = context
        self._engines = engines
        self._group = group
        self._targets = targets
        self._started_s = time.monotonic()
        self._memory_mb = 0.0

    @property
    def uptime_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started_s

    @property
    def rung(self) -> RungName:
        """The degradation rung by its name in the records."""
        return RUNG_NAMES[self._context.degradation.rung]

    @property
    def dropped(self) -> Dropped:
        """Number of dropped items since the start, by kind."""
        blocks, records = self._engines.source.dropped_blocks, self._context.recorder.dropped
        return Dropped(blocks=blocks, records=records, **self._group.dropped())

    def record(self) -> HealthRecord:
        """Return the daemon's current health."""
        state, reason = self._context.announcer.state
        engines, first = self._engines, self._engines.targets[0]
        return HealthRecord(
            utc=utc_now(),
            state=state,
            reason=reason,
            mode=self._context.facts.mode,
            session=self._context.recorder.folder.name,
            uptime_s=round(self.uptime_s, 1),
            # A session that continues after a crash counts its audio from here (session.resume).
            audio_s=round(self._group.heard_s, 1),
            lag_s=round(self._targets[0].coordinator.tracks.lag_s(time.monotonic()), 2),
            rung=self.rung,
            source=engines.source.name,
            recognizer=engines.recognizer.name,
            partial=first.partial.name if first.partial else "",
            final=first.final.name if first.final else "",
            setback=self._group.degraded_reason,
            queues=Queues(**self._group.queues()),
            dropped=self.dropped,
            memory_mb=self._memory(),
            engines=self.engines(),
            utc_offset_min=utc_offset_min(),
            languages=self._targets.health(time.monotonic()),
        )

    def engines(self) -> tuple[EngineHealth, ...]:
        """Return each engine's memory and work."""
        return tuple(_engine(engine) for _, engine in self._engines.by_stage())

    def line(self) -> str:
        """Return the health in one line of text, for `systemctl status`."""
        state, reason = self._context.announcer.state
        shown = f"{state} ({reason})" if reason else state
        lag_s = self._targets[0].coordinator.tracks.lag_s(time.monotonic())
        return f"{shown}, lag {lag_s:.1f} s, rung {self.rung}"

    def _memory(self) -> float:
        with suppress(OSError):  # no file descriptor is left: return the last known value
            own = psutil.Process().memory_info().rss
            # Engines are separate processes, whose memory is not included in ours.
            engines = sum(engine.memory_bytes for _, engine in self._engines.by_stage())
            self._memory_mb = round((own + engines) / 1e6, 1)
        return self._memory_mb


def _engine(engine: EngineProcess) -> EngineHealth:
    work, gpu = engine.work, engine.gpu.use  # read once: other threads replace them
    pace = work.tokens_per_s
    return EngineHealth(
        engine=engine.part.key,
        model=engine.name,
        load_ms=None if engine.load_s is None else round(engine.load_s * 1000, 1),
        memory_mb=round(engine.memory_bytes / 1e6, 1),
        busy_s=round(work.busy_s, 2),
        prompt_tokens=work.prompt_tokens,
        generated_tokens=work.generated_tokens,
        tokens_per_s=None if pace is None else round(pace, 1),
        gpu_memory_mb=None if gpu is None else round(gpu.memory_bytes / 1e6, 1),
        gpu_busy=None if gpu is None else gpu.busy,
    )

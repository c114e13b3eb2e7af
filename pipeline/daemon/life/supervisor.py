"""Checks the running parts four times a second: lag, hangs, health, and systemd's watchdog."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from datetime import datetime, timedelta

import structlog

from pipeline.core.reports import Fault
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import DaemonContext
from pipeline.daemon.desk.reload import Reload
from pipeline.daemon.life.health import Health
from pipeline.records.health import EngineHealth
from pipeline.workers.group import WorkerGroup

log = structlog.get_logger()

# Held finals rely on it (pipeline.daemon.context.held_finals).
_TICK_S = 0.25
_HEALTH_S = 10.0
_STATUS_S = 5.0
WATCH_S = 2.0
"""How often to check for changed dictionaries."""


QUIET_S = 60.0
"""How long there must be no speech and no unfinished caption."""


class NewDay:
    """Decides when the session that began at `started`, a time with its zone, must end."""

    def __init__(self, started: datetime, *, quiet_s: float = QUIET_S) -> None:
        self._started = started
        self._quiet_s = quiet_s
        self._quiet_since_s: float | None = None

    def is_due(self, new_at: str, now: datetime, now_s: float, *, is_quiet: bool) -> bool:
        """Return whether the hour has passed since the session began, and it is quiet now.

        `new_at` is "04:00" by the clock of `now`, or "" for never; `now_s` is monotonic.
        """
        if not is_quiet:
            self._quiet_since_s = None
            return False
        # Also without an hour: it may be set while the session runs.
        if self._quiet_since_s is None:
            self._quiet_since_s = now_s
        # Monotonic: the wall clock may jump without any quiet time.
        calm = now_s - self._quiet_since_s >= self._quiet_s
        return bool(new_at) and calm and self._started < last_strike(new_at, now)


def last_strike(new_at: str, now: datetime) -> datetime:
    """Return when the clock of `now` last showed `new_at`, such as "04:00"."""
    hour, minute = map(int, new_at.split(":"))
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today <= now else today - timedelta(days=1)


class Supervisor:
    """Belongs to the event loop's thread."""

    def __init__(
        self,
        context: DaemonContext,
        group: WorkerGroup,
        targets: Targets,
        *,
        reload: Reload,
        health: Health,
        changed: asyncio.Event,
    ) -> None:
        """`changed` is set when a translator that hangs is no longer waited for."""
        self._context = context
        self._facts = context.facts
        self._group = group
        self._targets = targets
        self._reload = reload
        self._health = health
        self._changed = changed
        self._day = NewDay(datetime.now().astimezone())
        self.has_new_day = False
        """Whether the session must end and a new one begin."""
        is_service = context.facts.mode == "live" and not context.facts.settings.audio.input
        self._facts.may_begin_anew = is_service

    async def run(self) -> None:
        """Check four times a second, until cancelled."""
        # 0.0 is long ago on the monotonic clock, so everything is due at once.
        next_health_s = next_alive_s = next_status_s = dictionary_at_s = 0.0
        while True:
            now_s = time.monotonic()
            self._check(now_s)
            self._check_day(now_s)
            if now_s >= next_health_s:
                next_health_s = now_s + _HEALTH_S
                self._context.recorder.record(self._health.record())
            if now_s - dictionary_at_s >= WATCH_S:
                dictionary_at_s = now_s
                self._reload.check_dictionary()
            # Only while audio is read and recognized: systemd ends a service that is deaf or hangs.
            is_well = self._group.is_listening(now_s) and self._group.is_transcribing(now_s)
            if is_well and now_s >= next_alive_s:
                next_alive_s = now_s + self._context.notifier.watchdog_s
                # Not with a separate timer: a blocked loop must not look alive.
                self._context.notifier.alive()
            if now_s >= next_status_s:
                next_status_s = now_s + _STATUS_S
                self._context.notifier.status(self._health.line())
            await asyncio.sleep(_TICK_S)

    def _check_day(self, now_s: float) -> None:
        facts, session = self._facts, self._facts.settings.session
        # A new session would reset what an operator has set, so wait for its end.
        is_set = facts.paused or facts.blank or facts.off_record
        is_quiet = not (
            facts.is_speaking or is_set or self._targets[0].coordinator.tracks.unfinished
        )
        now = datetime.now().astimezone()
        due = self._day.is_due(session.new_at, now, now_s, is_quiet=is_quiet)
        wanted = facts.is_new_session_wanted and is_quiet
        if (due or wanted) and facts.may_begin_anew and not self.has_new_day:
            hour = f"it is past {session.new_at}"
            log.info("new session", reason="asked for at the desk" if wanted else hour)
            self.has_new_day = True
            self._changed.set()

    def _check(self, now_s: float) -> None:
        # First: the state announced below includes the new rung.
        self._targets.observe(now_s)
        first = self._targets[0]
        # Only for the first target: if an extra target's queue is full, drafts are finals anyway.
        if first.workers.check_final(now_s):
            first.coordinator.on_fault(
                Fault("translate", "final-hangs", "The final translator hangs.")
            )
            self._targets.show_unfinished(first)
            # `is_done` no longer counts that thread: wake its waiters.
            self._changed.set()
        self._targets.look(now_s)
        self._facts.degraded_reason = self._group.degraded_reason
        self._context.announcer.announce()
        self._context.metrics.queues(self._group.queues(), asdict(self._health.dropped))
        for engine in self._health.engines():
            self._context.metrics.engine(engine.engine, _figures(engine))


def _figures(engine: EngineHealth) -> dict[str, float | None]:
    """Return an engine's record in the units of Prometheus: seconds and bytes."""
    load_ms, gpu_memory_mb = engine.load_ms, engine.gpu_memory_mb
    return {
        "load_seconds": None if load_ms is None else load_ms / 1000,
        "memory_bytes": engine.memory_mb * 1e6,
        "tokens_per_second": engine.tokens_per_s,
        "gpu_memory_bytes": None if gpu_memory_mb is None else gpu_memory_mb * 1e6,
        "gpu_busy_ratio": engine.gpu_busy,
        "busy_seconds": engine.busy_s,
        "prompt_tokens": engine.prompt_tokens,
        "generated_tokens": engine.generated_tokens,
    }

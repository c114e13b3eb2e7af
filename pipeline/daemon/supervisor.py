"""Looks after the running parts four times a second: lag, hangs, health, and systemd's watchdog."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict

import structlog

from pipeline.core.metrics import Metrics
from pipeline.core.timestamps import utc_now
from pipeline.core.types import Fault
from pipeline.daemon.coordinator import CaptionCoordinator
from pipeline.daemon.health import Health
from pipeline.daemon.reload import Reload
from pipeline.daemon.systemd import Notifier
from pipeline.records.events import RungEvent
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import Degradation
from pipeline.workers.group import WorkerGroup

log = structlog.get_logger()

_TICK_S = 0.25
_HEALTH_S = 10.0
_STATUS_S = 5.0


class Supervisor:
    """Belongs to the event loop's thread."""

    def __init__(
        self,
        *,
        group: WorkerGroup,
        coordinator: CaptionCoordinator,
        ladder: Degradation,
        recorder: SessionRecorder,
        metrics: Metrics,
        reload: Reload,
        health: Health,
        notifier: Notifier,
        on_rescue: Callable[[], None],
    ) -> None:
        """Take the parts, and what is called when drafts were made finals."""
        self._group = group
        self._coordinator = coordinator
        self._ladder = ladder
        self._recorder = recorder
        self._metrics = metrics
        self._reload = reload
        self._health = health
        self._notifier = notifier
        self._on_rescue = on_rescue

    async def run(self) -> None:
        """Look until cancelled."""
        next_health_s = next_alive_s = next_status_s = dictionary_at_s = 0.0
        while True:
            now_s = time.monotonic()
            self._look(now_s)
            if now_s >= next_health_s:
                next_health_s = now_s + _HEALTH_S
                self._recorder.record(self._health.record())
            if now_s - dictionary_at_s >= self._reload.settings.dictionary.watch_s:
                dictionary_at_s = now_s
                self._reload.look()
            if self._group.alive(now_s) and now_s >= next_alive_s:
                next_alive_s = now_s + self._notifier.watchdog_s
                self._notifier.alive()
            if now_s >= next_status_s:
                next_status_s = now_s + _STATUS_S
                self._notifier.status(self._health.line())
            await asyncio.sleep(_TICK_S)

    def _look(self, now_s: float) -> None:
        # What the final translator is at is not late: its draft is on screen, and it has a
        # deadline of its own. What waits for it is.
        lag_s = self._coordinator.lag_s(now_s, but=self._group.translating)
        if self._group.sheds and self._ladder.observe(lag_s, now_s):
            log.warning("rung", rung=self._ladder.rung.name, lag_s=round(lag_s, 2))
            self._recorder.record(RungEvent(utc=utc_now(), rung=self._health.rung))
        if self._group.look(now_s):
            self._coordinator.fault(
                Fault("translate", "final-hangs", "The final translator hangs.")
            )
            for caption in self._group.rescue():
                self._coordinator.show(caption)
            self._on_rescue()
        self._coordinator.degraded = self._group.setback
        self._coordinator.announce()
        self._metrics.queues(self._group.queues(), asdict(self._health.dropped))

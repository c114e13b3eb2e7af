"""The check that an operator starts at the desk. It runs in its own thread, one at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

import structlog

from pipeline.audio.level import FLOOR_DBFS
from pipeline.check.audio import Heard
from pipeline.check.result import Check, keep, last_check, results
from pipeline.check.running import Listen, RunningChecks
from pipeline.config.schema import Settings
from pipeline.core.errors import AudioError, ProtocolError
from pipeline.core.reports import Level
from pipeline.core.threads import Thread
from pipeline.daemon.captions.coordinator import CaptionCoordinator
from pipeline.daemon.context.context import DaemonContext
from pipeline.protocol.messages import CheckMessage, LastCheck
from pipeline.workers.base import Engines

log = structlog.get_logger()

MakeChecks = Callable[[Settings, Listen], Iterable[Check]]
"""Creates the checks from the current settings and a function that listens."""


class LiveCheck:
    """Belongs to the event loop's thread, except `_run` and the functions that it calls."""

    def __init__(
        self,
        context: DaemonContext,
        coordinator: CaptionCoordinator,
        make: MakeChecks,
    ) -> None:
        self._facts = context.facts
        self._operators = context.hub.operators
        self._directory = context.recorder.folder.parent
        self._coordinator = coordinator
        self._make = make
        self._is_running = False
        self._ends = threading.Event()
        # The levels since listening began, or None. The list only grows: any thread may read it.
        self._levels: list[Level] | None = None

    def last(self) -> LastCheck | None:
        """Return the last check, and whether it is valid for the current settings."""
        return last_check(self._directory, self._facts.settings)

    def start(self) -> None:
        """Begin a check. Raises ProtocolError (not-now) if the service and it would interfere."""
        facts = self._facts
        if self._is_running:
            raise ProtocolError("not-now", "A check is running already.")
        if not facts.has_begun:
            raise ProtocolError("not-now", "The models are still being loaded.")
        if facts.is_speaking or self._coordinator.tracks.unfinished:
            raise ProtocolError("not-now", "Somebody is speaking: check in a pause.")
        self._is_running = True
        # Read the settings once: after a reload the check would mix two different settings.
        arguments = (asyncio.get_running_loop(), self._facts.settings)
        Thread(partial(self._run, *arguments), "check").start()

    def stop(self) -> None:
        """End a running check early, without results."""
        self._ends.set()

    def on_level(self, level: Level) -> None:
        """Take the loudness of the input."""
        # Read once: the check's thread may stop listening between two reads.
        if (levels := self._levels) is not None:
            levels.append(level)

    def _run(self, loop: asyncio.AbstractEventLoop, settings: Settings) -> None:
        def tell(message: CheckMessage) -> None:
            with suppress(RuntimeError):  # the event loop is closed: the service has ended
                loop.call_soon_threadsafe(self._tell, message)

        def begin(check: Check) -> None:
            tell(CheckMessage(doing=check.doing))

        outcomes = []
        try:
            for result in results(list(self._make(settings, self._listen)), begin):
                if self._ends.is_set():
                    # Report and keep nothing: half a check would look like a whole one.
                    return
                outcomes.append(result)
            keep(self._directory, outcomes, settings)
        except BaseException as error:  # the captions must go on
            log.exception("check broken")
            tell(CheckMessage(problem=f"The check has failed: {error}"))
        else:
            tell(CheckMessage())

    def _tell(self, message: CheckMessage) -> None:
        """Send operators the progress; at the end, the result."""
        if message.doing:
            self._operators.tell(message)
            return
        self._is_running = False
        # Read the result from its file: a check that could not be kept is not shown as the last.
        self._operators.tell(CheckMessage(problem=message.problem, check=self.last()))

    def _listen(self, seconds: float) -> Heard:
        """Measure the input for `seconds`. Raises AudioError (audio-lost, audio-paused)."""
        facts = self._facts  # only read here: booleans and a sentence
        if facts.paused or facts.off_record:
            fix = "Resume, or go back on the record, and check again."
            raise AudioError("audio-paused", "The microphone is not listened to now.", fix)
        heard: list[Level] = []
        self._levels = heard
        # Not `sleep`: a service that ends must not wait for the whole time.
        self._ends.wait(seconds)
        self._levels = None
        if facts.source_lost:
            fix = "Plug it in and switch it on; see its channel in the mixer."
            raise AudioError("audio-lost", facts.source_lost, fix)
        return loudness(heard, seconds)


def loudness(levels: Sequence[Level], seconds: float) -> Heard:
    """Return a summary of the levels that were measured within `seconds`."""
    # A source without data has no levels: treat it as silence, and avoid a division by zero.
    count = max(1, len(levels))
    return Heard(
        seconds=seconds,
        loudest_dbfs=max((level.dbfs for level in levels), default=FLOOR_DBFS),
        clipped_share=sum(level.clipped for level in levels) / count,
        speech_s=seconds * sum(level.speaking for level in levels) / count,
    )


def open_live_check(
    context: DaemonContext, coordinator: CaptionCoordinator, engines: Engines
) -> LiveCheck:
    """Return the check of a running service: with its current settings and running engines."""

    def make(now: Settings, listen: Listen) -> Iterator[Check]:
        return RunningChecks(now, engines, listen).checks()

    return LiveCheck(context, coordinator, make)

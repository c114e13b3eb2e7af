"""The daemon: makes the parts, starts them from the displays back to the microphone, stops them
in the order the data flows, and watches over them in between.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import structlog

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.errors import StarkError
from pipeline.core.metrics import Metrics
from pipeline.core.timestamps import utc_now
from pipeline.core.types import (
    Caption,
    Comparison,
    Fault,
    Level,
    Mode,
    Report,
    SourceChanged,
    Transcript,
    Utterance,
    WorkerEnded,
    WorkerReady,
)
from pipeline.daemon.coordinator import CaptionCoordinator
from pipeline.daemon.health import Health
from pipeline.daemon.reload import Reload
from pipeline.daemon.screen import Screen
from pipeline.daemon.supervisor import Supervisor
from pipeline.daemon.systemd import Notifier
from pipeline.dictionary.store import Dictionary
from pipeline.protocol.commands import CommandMessage
from pipeline.records.events import BrokenEvent, EndEvent
from pipeline.server.hub import Hub
from pipeline.server.operator_token import FILE as TOKEN_FILE
from pipeline.server.operator_token import operator_token
from pipeline.session.folders import incomplete
from pipeline.session.recorder import SessionRecorder
from pipeline.session.redact import finish_purges
from pipeline.session.resume import unfinished_session
from pipeline.workers.degradation import Degradation
from pipeline.workers.group import Engines, WorkerGroup

log = structlog.get_logger()

_WRITE_S = 5.0
"""At the end the record may take at least so long, even if captions may not."""


class App:
    """One session, from start to end."""

    def __init__(
        self,
        settings: Settings,
        engines: Engines,
        *,
        dictionary: Dictionary,
        screen: Screen,
        mode: Mode,
        read: Callable[[], Settings] | None = None,
    ) -> None:
        """Make the session folder and all parts; nothing runs yet. Raises SessionError.

        `read` returns the settings anew whenever they are to be reloaded, or raises ConfigError;
        without it they stay.
        """
        self._screen = screen
        self._mode = mode
        translate = settings.translate
        sessions = Path(settings.session.directory)
        named = bool(settings.operator.token)
        self._token_place = "the settings, operator.token" if named else str(sessions / TOKEN_FILE)
        finish_purges(sessions)
        now_utc = datetime.now(UTC)
        earlier = unfinished_session(settings, now_utc) if mode == "live" else None
        self._recorder = SessionRecorder(
            sessions,
            source=translate.source,
            target=translate.target,
            on_fault=self._emit,
            started_utc=now_utc,
            earlier=earlier,
            keep_days=settings.session.keep_days,
            keep_mb=settings.session.keep_mb,
        )
        self._metrics = Metrics()
        self._ladder = Degradation()
        board = CaptionBoard(
            # Each run has a name of its own: what a display saw last need not be in the journal.
            self.folder.name + (f"+{earlier.runs}" if earlier else ""),
            translate.source,
            translate.target,
            settings.server.history,
        )
        self._hub = Hub(
            board,
            settings.server,
            mode=mode,
            token=settings.operator.token or operator_token(sessions),
            on_command=self._command,
            health=lambda: self.health.record(),  # noqa: PLW0108 - it is made further down
            metrics=self._metrics,
            console=lambda: self._coordinator.controls.console,
        )
        self._coordinator = CaptionCoordinator(
            board=board,
            hub=self._hub,
            dictionary=dictionary,
            recorder=self._recorder,
            metrics=self._metrics,
            ladder=self._ladder,
            screen=screen,
            mode=mode,
            off_record_s=settings.operator.off_record_s,
            heard_s=lambda: self._group.listen.heard_s,
        )
        self._group = WorkerGroup(
            settings,
            engines,
            dictionary=dictionary,
            ladder=self._ladder,
            emit=self._emit,
            last_id=earlier.last_id if earlier else 0,
            origin_s=earlier.audio_s(now_utc) if earlier else 0.0,
        )
        if earlier:
            board.restore(earlier.messages)
            self._coordinator.controls.go_on(earlier)
            self._group.apply(self._coordinator.controls)
            log.info("session resumed", folder=str(self.folder), captions=len(earlier.messages))
        self.health = Health(
            mode=mode,
            engines=engines,
            group=self._group,
            coordinator=self._coordinator,
            ladder=self._ladder,
            recorder=self._recorder,
        )
        self._reload = Reload(
            settings,
            read or (lambda: settings),
            dictionary=dictionary,
            board=board,
            hub=self._hub,
            group=self._group,
            coordinator=self._coordinator,
            recorder=self._recorder,
        )
        self._changed = asyncio.Event()
        self._notifier = Notifier()
        self._watch = Supervisor(
            group=self._group,
            coordinator=self._coordinator,
            ladder=self._ladder,
            recorder=self._recorder,
            metrics=self._metrics,
            reload=self._reload,
            health=self.health,
            notifier=self._notifier,
            on_rescue=self._changed.set,
        )
        self._stops = 0
        self.failure: BaseException | None = None
        """What ended the first worker that broke, or kept the record from being whole."""

    @property
    def folder(self) -> Path:
        """The session's folder."""
        return self._recorder.folder

    async def run(self) -> int:
        """Serve until the source ends, a signal comes or a worker breaks; return the exit code.

        Raises ServerError when the port cannot be had.
        """
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self.stop)
        self._loop.add_signal_handler(signal.SIGHUP, self._reload.hangup)
        self._recorder.start()
        try:
            await self._hub.start()
            logs.serving(self._hub.address, self.folder)
            self._screen.started(self._hub.address, self._mode, self.folder)
            self._screen.operator(f"{self._hub.address}operator", self._token_place)
            self._coordinator.announce()
            watch = asyncio.create_task(self._watch.run())
            watch.add_done_callback(self._watch_ended)
            try:
                await self._serve()
            finally:
                watch.cancel()
                await asyncio.gather(watch, return_exceptions=True)
            self._coordinator.ended = not self._coordinator.broken
            self._coordinator.announce()
            await self._hub.close()
        finally:
            heard_s, unfinished = round(self._group.listen.heard_s, 2), self._coordinator.unfinished
            self._recorder.record(self.health.record())
            self._recorder.record(EndEvent(utc=utc_now(), unfinished=unfinished, audio_s=heard_s))
            if not self._recorder.close(max(_WRITE_S, self._reload.settings.session.drain_s)):
                self.failure = self.failure or incomplete(self.folder)
                log.error("incomplete", code="session-incomplete", session=str(self.folder))
        if isinstance(self.failure, StarkError):
            return self.failure.exit_code
        return 1 if self.failure else 0

    def stop(self) -> None:
        """Ask for the end; asked twice, wait for nothing any more."""
        self._stops += 1
        self._changed.set()

    @property
    def stuck(self) -> bool:
        """Whether a worker's thread is still inside an engine."""
        return self._group.stuck

    async def _serve(self) -> None:
        group = self._group
        group.start()
        await self._until(lambda: group.loaded)
        if group.loaded:
            log.info("ready", took_s=round(self.health.uptime_s, 2))
            self._coordinator.begun = True
            self._coordinator.announce()
            self._notifier.ready()
        group.begin()
        await self._until(lambda: group.done)
        self._notifier.stopping()
        group.stop()
        await self._drained()
        for caption in group.rescue():
            self._coordinator.show(caption)
        if self._coordinator.unfinished:
            log.error("unfinished", utterances=self._coordinator.unfinished)

    async def _until(self, reached: Callable[[], bool]) -> None:
        """Wait until `reached`, a stop is asked for, or a worker has broken."""
        while not (reached() or self._stops or self._group.broken):
            self._changed.clear()
            await self._changed.wait()

    async def _drained(self) -> None:
        """Wait for all workers to end: `drain_s` at most, or until asked twice to stop.

        A file played fast and to its end has all the time for its comparisons.
        """
        limitless = self._group.done and not self._group.sheds
        drain_s = None if limitless else self._reload.settings.session.drain_s
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s):
                while not self._group.over and self._stops < 2:
                    self._group.release()
                    self._changed.clear()
                    await self._changed.wait()

    def _emit(self, report: Report) -> None:
        """Take a worker's report from any thread."""
        with suppress(RuntimeError):  # an engine that hung may come back after the end
            self._loop.call_soon_threadsafe(self._receive, report)

    def _receive(self, report: Report) -> None:
        try:
            self._take(report)
        except Exception as error:  # noqa: BLE001 - the loop would go on, one final short
            self._worker_ended("desk", error)

    def _take(self, report: Report) -> None:
        match report:
            case Caption():
                self._coordinator.show(report)
                if report.final:
                    self._group.compare(report)
            case Comparison():
                self._coordinator.compared(report)
            case Utterance():
                self._coordinator.closed(report)
            case Transcript():
                self._coordinator.filtered(report)
            case Level():
                self._coordinator.level(report)
            case Fault():
                self._coordinator.fault(report)
            case SourceChanged():
                self._coordinator.source(report)
            case WorkerReady(name):
                self._group.ready.add(name)
                self._changed.set()
            case WorkerEnded(name, error):
                self._worker_ended(name, error)

    def _worker_ended(self, name: str, error: BaseException | None) -> None:
        self._group.ended[name] = error
        self._changed.set()
        if error is None:
            return
        self.failure = self.failure or error
        code = error.code if isinstance(error, StarkError) else "crash"
        # A StarkError says all there is to say; anything else is a bug, and its trace is wanted.
        trace = None if isinstance(error, StarkError) else error
        log.error("worker broken", worker=name, code=code, error=str(error), exc_info=trace)
        self._recorder.record(
            BrokenEvent(utc=utc_now(), worker=name, code=code, message=str(error))
        )
        self._coordinator.broken = f"{name}: {error}"
        self._coordinator.announce()

    def _watch_ended(self, watch: asyncio.Task[None]) -> None:
        """End loudly what nobody looks after any more."""
        if not watch.cancelled() and (error := watch.exception()):
            self._worker_ended("watch", error)

    def _command(self, command: CommandMessage) -> None:
        if command.name == "reload":
            self._reload.obey()  # more than the desk knows of; it notes the rest
        self._coordinator.command(command)
        self._group.apply(self._coordinator.controls)

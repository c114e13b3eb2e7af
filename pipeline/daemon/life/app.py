"""The daemon's lifecycle: creates the parts, starts them from the record and the displays back
to the microphone, and stops them in reverse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import structlog

from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.errors import StarkError
from pipeline.core.formats import utc_now
from pipeline.core.reports import (
    Emit,
    Fault,
    Level,
    Report,
    SongChanged,
    SourceChanged,
    WorkerEnded,
    WorkerReady,
)
from pipeline.core.threads import described, watched
from pipeline.core.types import Mode
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import DaemonContext, make_context, open_session
from pipeline.daemon.context.screen import Screen
from pipeline.daemon.desk.live_check import open_live_check
from pipeline.daemon.desk.operator_commands import OperatorCommands
from pipeline.daemon.desk.reload import Reload
from pipeline.daemon.desk.service_notes import ServiceNotes
from pipeline.daemon.life.health import Health
from pipeline.daemon.life.signals import ENDS, HANGUP, handle_signals, hangup
from pipeline.daemon.life.supervisor import Supervisor
from pipeline.dictionary.store import Dictionary
from pipeline.models.identity import used_models
from pipeline.models.integrity import BackgroundHashing
from pipeline.records.events import BrokenEvent, EndEvent, ModelsEvent
from pipeline.workers.base import Engines
from pipeline.workers.degradation import Rung
from pipeline.workers.group import WorkerGroup


class ReportChannel:
    """Passes reports of any thread to one function on the event loop, in each thread's order.

    It is created before the reporting threads and before the receiving parts, so that neither
    needs to know the other.
    """

    _loop: asyncio.AbstractEventLoop
    _receive: Callable[[Report], None]

    def open(self, receive: Callable[[Report], None]) -> None:
        """Deliver to `receive` on the running loop. No report may come earlier."""
        self._loop = asyncio.get_running_loop()
        self._receive = receive

    def emit(self, report: Report) -> None:
        """Send a report from any thread, without waiting."""
        with suppress(RuntimeError):  # an engine that hung may return after the end
            self._loop.call_soon_threadsafe(self._receive, report)


log = structlog.get_logger()

_WRITE_S = 5.0
"""At the end the record gets at least this time, even if captions do not."""


class App:
    """One session, from start to end.

    Each part knows only parts that are created before it. Two channels lead back, both opened at
    the start: a `ReportChannel` for the workers' reports, and the hub for operators' commands.
    """

    failure: BaseException | None = None
    """The error of the first worker that broke, or the reason why the record is incomplete."""
    _stops = 0

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
        """Create the session folder and all parts; nothing runs yet. Raises SessionError.

        `read` returns the current settings for a reload, or raises ConfigError.
        """
        self._screen, self._engines, self._changed = screen, engines, asyncio.Event()
        self._reports = ReportChannel()
        session = open_session(settings, mode, self._reports.emit)
        self._context = context = make_context(settings, session, dictionary, mode, screen)
        directory, source = Path(settings.session.directory), settings.translate.source
        self._notes = notes = ServiceNotes(context, directory, source)
        self._group = group = WorkerGroup(
            settings,
            engines,
            dictionary=dictionary,
            degradation=context.degradation,
            emit=self._reports.emit,
            last_id=session.last_id,
            origin_s=session.origin_s,
        )
        self._targets = targets = Targets(settings, context, group.targets, group.compare)
        self.health = health = Health(context, engines, group, targets)
        self._reload = reload = Reload(read, context, group, targets)
        self._news = news = targets[0].coordinator
        self._live_check = live_check = open_live_check(context, news, engines)
        self._commands = OperatorCommands(
            context, targets, group, reload.obey, live_check=live_check, notes=notes
        )
        self._supervisor = Supervisor(
            context, group, targets, reload=reload, health=health, changed=self._changed
        )
        if session.earlier:
            # Last: the operators' earlier settings are applied to parts that must all exist.
            self._commands.restore(session.earlier)

    @property
    def folder(self) -> Path:
        """The session's folder."""
        return self._context.recorder.folder

    @property
    def has_begun(self) -> bool:
        """Whether everything has been ready once."""
        return self._context.facts.has_begun

    @property
    def is_stuck(self) -> bool:
        """Whether a worker's thread is still inside an engine."""
        return self._group.is_stuck

    async def run(self) -> int:
        """Serve until the source ends, a signal comes or a worker breaks; return the exit code.

        Raises ServerError when the port is not available.
        """
        async with AsyncExitStack() as stops:  # in reverse, also if a start fails
            # First: models may load for minutes, and a signal must end that cleanly too.
            self._start_signals()
            stops.enter_context(watched(self._thread_ended))
            for outputs in self._context.outside.outputs.values():
                # Stops after the record, whose stop settles the last final.
                stops.push_async_callback(asyncio.to_thread, outputs.close)
            if voice := self._context.outside.voice:
                stops.push_async_callback(asyncio.to_thread, voice.close)
            # Queued until the record starts, this is one of its first lines.
            record_models(self._context)
            stops.callback(self._stop_record)
            if publisher := self._context.outside.publisher:
                # Stops after the server, whose stop announces the end of the service.
                stops.push_async_callback(asyncio.to_thread, publisher.close)
            # Before the engines load: a port that is in use is reported at once.
            await self._start_server()
            stops.push_async_callback(self._stop_server)
            stops.callback(self._live_check.stop)
            self._start_supervisor()
            stops.push_async_callback(self._stop_supervisor)
            await self._start_workers()
            stops.push_async_callback(self._stop_workers)
            stops.callback(start_hashing(self._engines, self._reports.emit).stop)
            await self._until(lambda: self._group.is_done or self._supervisor.has_new_day)
        if isinstance(self.failure, StarkError):
            return self.failure.exit_code
        return 1 if self.failure else 0

    @property
    def settings(self) -> Settings:
        """The settings in force, reloads included."""
        return self._context.facts.settings

    @property
    def wants_new_session(self) -> bool:
        """Whether this session ended so that a new one begins and the service continues."""
        ended = self._stops or self.failure or self._group.is_broken
        return self._supervisor.has_new_day and not ended

    def stop(self) -> None:
        """Request the end; a second request stops all waiting."""
        self._stops += 1
        self._changed.set()

    # Each start with its stop

    def _start_signals(self) -> None:
        """Handle signals and workers' reports until the event loop ends."""
        handlers = dict.fromkeys(ENDS, self.stop)
        if HANGUP is not None:
            handlers[HANGUP] = hangup(self.stop, self._reload.hangup)
        handle_signals(handlers)
        self._reports.open(self._receive)

    def _take_up(self) -> None:
        """Begin to write and to send: the port, the microphone and the models are ready now.

        A start that fails earlier has changed nothing: not the session that a crash left, no notes,
        no relay and no other program's screen.
        """
        for outputs in self._context.outside.outputs.values():
            outputs.start(self._reports.emit)
        self._notes.take_up()
        self._context.recorder.start()
        if publisher := self._context.outside.publisher:
            publisher.start(self._reports.emit, self._context.captions())
        self._start_voice()

    def _start_voice(self) -> None:
        """Start speaking captions. Nothing waits for it: a service can run without a voice."""
        voice, voices, speaker = (
            self._context.outside.voice,
            self._context.outside.voices,
            self._engines.speaker,
        )
        if voice and voices and speaker:
            # espeak-ng is too cheap to be worth giving up.
            costs = self.settings.speech.engine == "kokoro"
            ladders = [each.degradation for each in self._group.targets if costs]
            voices.open()
            voice.start(
                speaker,
                voices.spread,
                self._reports.emit,
                spare=lambda: any(each.rung is not Rung.FULL for each in ladders),
                gone=voices.close,
            )

    def _stop_record(self) -> None:
        if self._context.recorder.purging and not self.has_begun:
            self._context.recorder.start()  # words that are off the record are deleted in any case
        # The records of the last finals still wait: their speakers might have continued.
        self._targets.settle()
        heard_s, unfinished = round(self._group.heard_s, 2), self._news.tracks.unfinished
        self._context.recorder.record(self.health.record())
        end = EndEvent(utc=utc_now(), unfinished=unfinished, audio_s=heard_s)
        self._context.recorder.record(end)
        if not self._context.recorder.close(max(_WRITE_S, self.settings.session.drain_s)):
            self.failure = self.failure or self._context.recorder.incomplete
            log.error("incomplete", code="session-incomplete", session=str(self.folder))

    async def _start_server(self) -> None:
        hub, commands = self._context.hub, self._commands
        await hub.start(
            on_command=commands.obey,
            health=self.health.record,
            console=commands.console,
            sound=commands.sound,
        )
        logs.serving(hub.address, self.folder)
        self._screen.show_address(hub.audience_address, self._context.facts.mode, self.folder)
        # With https, use the name in the certificate: browsers warn of any other.
        here = hub.audience_address if hub.address.startswith("https") else hub.address
        self._screen.show_operator_page(f"{here}operator", self._context.token_place)
        self._context.announcer.announce()

    async def _stop_server(self) -> None:
        if not self.wants_new_session:  # else pages reconnect before anybody reads "ended"
            # A broken worker is shown as "fault", but "ended" would take precedence.
            self._context.facts.has_ended = not self._context.facts.broken
            self._context.announcer.announce()
        await self._context.hub.close()

    def _start_supervisor(self) -> None:
        self._supervision = asyncio.create_task(self._supervisor.run())
        self._supervision.add_done_callback(self._supervision_ended)

    async def _stop_supervisor(self) -> None:
        self._supervision.cancel()
        await asyncio.gather(self._supervision, return_exceptions=True)

    async def _start_workers(self) -> None:
        self._group.start()
        await self._until(lambda: self._group.is_loaded)
        if self._group.is_loaded:
            self._take_up()
            log.info("ready", took_s=round(self.health.uptime_s, 2))
            self._context.facts.has_begun = True
            self._context.announcer.announce()
            self._context.notifier.ready()
        else:
            self._group.stop()  # before `begin`: a failed start must not hear a word
        # Also after a stop: a worker that waits for this could not end otherwise.
        self._group.begin()

    async def _stop_workers(self) -> None:
        if not self.wants_new_session:  # else systemd takes it for the end of the service
            self._context.notifier.stopping()
        self._group.stop()
        await self._drain()
        self._targets.finish()
        if self._news.tracks.unfinished:
            log.error("unfinished", utterances=self._news.tracks.unfinished)

    async def _until(self, reached: Callable[[], bool]) -> None:
        """Wait until `reached`, a stop request, or a broken worker."""
        while not (reached() or self._stops or self._group.is_broken):
            # Nothing is lost between the check and `clear`: the event is set on this loop.
            self._changed.clear()
            await self._changed.wait()

    async def _drain(self) -> None:
        """Wait for all workers to end: at most `drain_s`, or until a second stop request.

        A file that was played fast and to its end has unlimited time for its comparisons.
        """
        limitless = self._group.is_done and not self._group.may_shed
        drain_s = None if limitless else self.settings.session.drain_s
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s):
                while not self._group.is_over and self._stops < 2:
                    # Each time: a worker that broke meanwhile has not passed the end on to the
                    # workers after it.
                    self._group.release()
                    self._changed.clear()
                    await self._changed.wait()

    # Reports

    def _receive(self, report: Report) -> None:
        try:
            self._take(report)
        except Exception as error:  # noqa: BLE001 - the loop would continue with one final lost
            self._worker_ended("desk", error)

    def _take(self, report: Report) -> None:
        match report:
            case Level():
                self._news.on_level(report)
                self._live_check.on_level(report)
            case Fault():
                self._news.on_fault(report)
            case SourceChanged():
                self._news.on_source(report)
            case SongChanged():
                self._news.on_song(report)
            case WorkerReady(name):
                self._group.ready.add(name)
                self._changed.set()
            case WorkerEnded(name, error):
                self._worker_ended(name, error)
            case _:  # mypy checks that all others are about captions
                self._targets.take(report)

    def _thread_ended(self, name: str, error: BaseException) -> None:
        """Report the error of any thread; called in that thread."""
        self._reports.emit(WorkerEnded(name, error))

    def _worker_ended(self, name: str, error: BaseException | None) -> None:
        # Also for threads that are no workers: any of them makes `is_broken` end the service.
        self._group.ended[name] = error
        self._changed.set()
        if error is None:
            return
        # The first error is the cause; later ones are mostly its consequences.
        self.failure = self.failure or error
        code = error.code if isinstance(error, StarkError) else "crash"
        # A StarkError explains itself; anything else is a bug and needs its traceback.
        trace = None if isinstance(error, StarkError) else error
        log.error("worker broken", worker=name, code=code, error=str(error), exc_info=trace)
        # Because of it the next start continues this session, although its end is recorded too.
        self._context.recorder.record(
            BrokenEvent(utc=utc_now(), worker=name, code=code, message=str(error))
        )
        self._context.facts.broken = f"{name}: {error}"
        self._context.announcer.announce()

    def _supervision_ended(self, supervision: asyncio.Task[None]) -> None:
        """End the service with an error if the supervisor has failed."""
        # In this order: `exception` raises for a cancelled task, and each is cancelled at the end.
        if not supervision.cancelled() and (error := supervision.exception()):
            self._worker_ended("watch", error)


def record_models(context: DaemonContext) -> None:
    """Record which models the settings name."""
    context.facts.models = used_models(context.facts.settings)
    context.recorder.record(ModelsEvent(utc=utc_now(), models=context.facts.models))


def start_hashing(engines: Engines, emit: Emit) -> BackgroundHashing:
    """Start to check the models' files against their hashes, now that the disk is idle."""

    def tell(message: str) -> None:
        emit(Fault("models", "model-changed", message))

    def failed(error: BaseException) -> None:
        message = f"The models' files could not be compared: {described(error)}."
        emit(Fault("models", "models-unchecked", message))

    specs = (engine.spec for _, engine in engines.by_stage())
    # A model on a server has no files here.
    hashing = BackgroundHashing(
        [spec.model for spec in specs if not spec.is_elsewhere], tell, failed
    )
    hashing.start()
    return hashing

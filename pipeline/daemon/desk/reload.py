"""Settings and dictionary, read again while the daemon runs: SIGHUP, `reload`, a changed file.

Belongs to the event loop's thread. Everything is read and checked before anything is changed, in a
thread of its own: captions do not wait for it. Several requests at once are one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict
from typing import Any, Generic, TypeVar

import structlog

from pipeline.config.loader import Changes, changed, changes, leaves
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.errors import ConfigError, DictionaryError, ProtocolError
from pipeline.core.formats import utc_now
from pipeline.core.reports import Fault
from pipeline.daemon.captions.targets import Targets
from pipeline.daemon.context.context import DaemonContext
from pipeline.dictionary.store import Dictionary
from pipeline.records.events import DictionaryEvent, ReloadedEvent
from pipeline.workers.group import WorkerGroup

T = TypeVar("T")


class Coalesced(Generic[T]):
    """Does its work when asked; whoever asks while it is at it shares the next time.

    Belongs to the event loop's thread.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """`work` must not raise: nobody may be there to hear of it."""
        self._work = work
        self._running: asyncio.Task[T] | None = None
        self._next: asyncio.Task[T] | None = None

    def request(self) -> Awaitable[T]:
        """Ask for the work; return what gives the result of a time that begins after this call.

        Whoever waits for that may be cancelled, the work goes on.
        """
        if self._next is None:
            if self._running is None or self._running.done():
                self._running = asyncio.create_task(self._work())
                return asyncio.shield(self._running)
            self._next = asyncio.create_task(self._follow(self._running))
        return asyncio.shield(self._next)

    async def _follow(self, earlier: asyncio.Task[T]) -> T:
        # Not `await earlier`: whoever cancelled this would cancel that as well.
        await asyncio.wait([earlier])
        self._running, self._next = self._next, None
        return await self._work()


log = structlog.get_logger()


class Reload:
    """Holds the settings in force and gives each part what has changed of them."""

    def __init__(
        self,
        settings: Settings,
        read: Callable[[], Settings] | None,
        context: DaemonContext,
        group: WorkerGroup,
        targets: Targets,
    ) -> None:
        """`read` returns the settings as file, environment and flags say now, or raises.

        Without it they stay.
        """
        self.settings = settings
        """Those in force: as they were at the start where a change needs a restart."""
        self._read = read
        self._facts = context.facts
        self._dictionary = context.dictionary
        self._hub = context.hub
        self._recorder = context.recorder
        self._group = group
        self._targets = targets
        self._again = Coalesced(self._reload)
        self._rules_again = Coalesced(self._reload_rules)
        self._turn = asyncio.Lock()  # the rules are those of the settings in force

    def hangup(self) -> None:
        """Have all read again; the log, the record and operators' pages get the answer."""
        # Nobody waits for a signal's answer.
        self._again.request()

    async def obey(self) -> None:
        """Read all again. Raises ProtocolError with the code of what is wrong; nothing changes."""
        error = await self._again.request()
        if error is not None:
            message = f"Not reloaded: {error.message} {error.fix}".rstrip()
            raise ProtocolError(error.code, message)

    def check_dictionary(self) -> None:
        """Have the dictionary read again if a file of it has changed."""
        if self._dictionary.changed():
            self._rules_again.request()

    async def _reload(self) -> ConfigError | DictionaryError | None:
        async with self._turn:
            return await self._reload_now()

    async def _reload_now(self) -> ConfigError | DictionaryError | None:
        try:
            wanted = await asyncio.to_thread(self._read) if self._read else self.settings
            found = changes(self.settings, wanted)
            new = dict(leaves(wanted.model_dump()))
            # What needs a restart keeps its old value, so that no part sees half a change.
            settings = changed(
                self.settings, {key: new[key] for key in (*found.live, *found.next_utterance)}
            )
            # Last: it puts the rules in force, and nothing behind it may fail.
            await self._take_rules(settings)
        except (ConfigError, DictionaryError) as error:
            self._fault(error, "Not reloaded: ")
            return error
        # Everything is valid. From here on nothing is refused.
        self._configure(settings)
        self._tell_reloaded(found)
        return None

    async def _reload_rules(self) -> None:
        try:
            async with self._turn:
                # `settings` is read in turn: a reload that was at it may have put others in force.
                await self._take_rules(self.settings)
        except DictionaryError as error:
            self._fault(error)
        else:
            self._tell_rules()

    async def _take_rules(self, settings: Settings) -> None:
        """Compile the dictionary's files and put them in force. Raises DictionaryError."""
        new = await asyncio.to_thread(Dictionary, settings)
        while new.changed():  # an operator has added a rule meanwhile
            new = await asyncio.to_thread(Dictionary, settings)
        # Nothing is awaited since it was looked at: no rule can be added in between and be lost.
        self._dictionary.take(new)

    def _tell_reloaded(self, found: Changes) -> None:
        self._tell_rules()
        facts = asdict(found)
        say = log.warning if found.restart else log.info
        say("reloaded", **facts)
        self._recorder.record(ReloadedEvent(utc=utc_now(), **facts))
        self._hub.operators.reloaded(found, rules=len(self._dictionary.lexicon.rules))

    def _configure(self, settings: Settings) -> None:
        old, self.settings = self.settings, settings
        self._group.configure(settings)
        self._hub.configure(settings.server)
        for each in self._targets:
            each.board.set_history(settings.server.history)
        self._facts.off_record_s = settings.operator.off_record_s
        self._facts.song_mode = settings.church.song
        self._facts.hides_interpreter = settings.translate.interpreter == "hidden"
        self._facts.hold_doubtful = settings.church.hold_doubtful
        self._facts.hold_s = settings.church.hold_s
        if settings.log != old.log:
            logs.configure(settings.log.level, settings.log.format)
        if settings.session != old.session:
            self._recorder.configure(settings.session)

    def _tell_rules(self) -> None:
        rules = len(self._dictionary.lexicon.rules)
        log.info("dictionary reloaded", rules=rules)
        self._recorder.record(DictionaryEvent(utc=utc_now(), rules=rules))

    def _fault(self, error: ConfigError | DictionaryError, what: str = "") -> None:
        stage = "dictionary" if isinstance(error, DictionaryError) else "settings"
        self._targets[0].coordinator.on_fault(Fault(stage, error.code, f"{what}{error}"))

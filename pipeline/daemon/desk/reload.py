"""Settings and dictionary, read again while the daemon runs: SIGHUP, `reload`, a changed file.

Belongs to the event loop's thread. A separate thread reads and checks everything before anything
changes, so captions do not wait. Simultaneous requests are merged into one.
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
    """Does its work on request; requests during a run share the next run.

    Belongs to the event loop's thread.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """`work` must not raise, because nobody may be waiting for the result."""
        self._work = work
        self._running: asyncio.Task[T] | None = None
        self._next: asyncio.Task[T] | None = None

    def request(self) -> Awaitable[T]:
        """Request a run that begins after this call; return an awaitable of its result.

        If the waiting task is cancelled, the work continues.
        """
        if self._next is None:
            if self._running is None or self._running.done():
                self._running = asyncio.create_task(self._work())
                return asyncio.shield(self._running)
            self._next = asyncio.create_task(self._follow(self._running))
        return asyncio.shield(self._next)

    async def _follow(self, earlier: asyncio.Task[T]) -> T:
        # Not `await earlier`: cancelling this task would cancel `earlier` too.
        await asyncio.wait([earlier])
        self._running, self._next = self._next, None
        return await self._work()


log = structlog.get_logger()


class Reload:
    """Puts changed settings in force and passes them to each part."""

    def __init__(
        self,
        read: Callable[[], Settings] | None,
        context: DaemonContext,
        group: WorkerGroup,
        targets: Targets,
    ) -> None:
        """`read` returns the current settings from file, environment and flags, or raises.

        Without it the settings stay.
        """
        self._read = read
        self._context = context
        self._facts = context.facts
        self._group = group
        self._targets = targets
        self._again = Coalesced(self._reload)
        self._rules_again = Coalesced(self._reload_rules)
        self._turn = asyncio.Lock()  # the rules must match the settings in force

    def hangup(self) -> None:
        """Reload everything; the result goes to the log, the record and the operators' pages."""
        # Nobody waits for the result of a signal.
        self._again.request()

    async def obey(self) -> None:
        """Reload everything. Raises ProtocolError with the error's code; then nothing changes."""
        error = await self._again.request()
        if error is not None:
            message = f"Not reloaded: {error.message} {error.fix}".rstrip()
            raise ProtocolError(error.code, message)

    def check_dictionary(self) -> None:
        """Reload the dictionary if one of its files has changed."""
        if self._context.dictionary.changed():
            self._rules_again.request()

    async def _reload(self) -> ConfigError | DictionaryError | None:
        async with self._turn:
            return await self._reload_now()

    async def _reload_now(self) -> ConfigError | DictionaryError | None:
        try:
            wanted = await asyncio.to_thread(self._read) if self._read else self._facts.settings
            found = changes(self._facts.settings, wanted)
            new = dict(leaves(wanted.model_dump()))
            # Settings that need a restart keep the old value, so that no part sees half a change.
            taken = {key: new[key] for key in (*found.live, *found.next_utterance)}
            settings = changed(self._facts.settings, taken)
            # Last: this puts the rules in force, and nothing after it may fail.
            await self._take_rules(settings)
        except (ConfigError, DictionaryError) as error:
            self._fault(error, "Not reloaded: ")
            return error
        # Everything is valid: nothing fails from here on.
        self._configure(settings)
        self._tell_reloaded(found)
        return None

    async def _reload_rules(self) -> None:
        try:
            async with self._turn:
                # Read inside the lock: a running reload may have replaced the settings.
                await self._take_rules(self._facts.settings)
        except DictionaryError as error:
            self._fault(error)
        else:
            self._tell_rules()

    async def _take_rules(self, settings: Settings) -> None:
        """Compile the dictionary's files and put them in force. Raises DictionaryError."""
        new = await asyncio.to_thread(Dictionary, settings)
        while new.changed():  # an operator has added a rule meanwhile
            new = await asyncio.to_thread(Dictionary, settings)
        # There is no await after the check, so no rule can be added in between and be lost.
        self._context.dictionary.take(new)

    def _tell_reloaded(self, found: Changes) -> None:
        self._tell_rules()
        facts = asdict(found)
        say = log.warning if found.restart else log.info
        say("reloaded", **facts)
        self._context.recorder.record(ReloadedEvent(utc=utc_now(), **facts))
        rules = len(self._context.dictionary.lexicon.rules)
        self._context.hub.operators.reloaded(found, rules=rules)

    def _configure(self, settings: Settings) -> None:
        old, self._facts.settings = self._facts.settings, settings
        self._group.configure(settings)
        self._context.hub.configure(settings.server)
        for each in self._targets:
            each.board.set_history(settings.server.history)
        if settings.log != old.log:
            logs.configure(settings.log.level, settings.log.format)
        if settings.session != old.session:
            self._context.recorder.configure(settings.session)

    def _tell_rules(self) -> None:
        rules = len(self._context.dictionary.lexicon.rules)
        log.info("dictionary reloaded", rules=rules)
        self._context.recorder.record(DictionaryEvent(utc=utc_now(), rules=rules))

    def _fault(self, error: ConfigError | DictionaryError, what: str = "") -> None:
        stage = "dictionary" if isinstance(error, DictionaryError) else "settings"
        self._targets[0].coordinator.on_fault(Fault(stage, error.code, f"{what}{error}"))

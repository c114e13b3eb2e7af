"""Publish captions to a church's stream, from a thread that nothing in the hall waits for.

What is offered goes into a backlog; the thread empties it one message at a time, each acknowledged
before the next, so that the stream has them in the order of `seq`. When server or uplink fail it
connects anew, for as long as the service lasts, and goes on where it was; in a stream that is not
the one it left (deleted, or another server) everything is published again.

A version that has been replaced is overwritten on the server's disk. So nothing is there that
displays are not shown, as soon as nothing is `waiting`.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

import structlog

from pipeline.config.publishing import Publish
from pipeline.core.errors import PublishError
from pipeline.core.reports import Emit, Fault
from pipeline.core.threads import Thread, described
from pipeline.core.types import State
from pipeline.protocol.caption import CaptionMessage
from pipeline.publish.broker import Broker, Published, place_of
from pipeline.publish.stream import ServiceStatus, StreamMessage, caption_out, status_out


class Backlog:
    """What has not been acknowledged yet, and what a stream that was lost needs again."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[str, StreamMessage] = {}
        self._newest: dict[str, StreamMessage] = {}
        """By subject, in the order of their last change; arrived or not."""
        self._lock = threading.Lock()
        self.dropped = 0
        """Messages that were given up because too many waited."""

    def __len__(self) -> int:
        # Without the lock: a length is read in one step, and is old in a moment anyway.
        return len(self._waiting)

    def put(self, message: StreamMessage) -> None:
        """Add a message; it takes the place of one that waits for the same subject.

        Beyond the bound the oldest partial goes, else the oldest final; never one that takes text
        back.
        """
        with self._lock:
            # Out and in again: a dictionary keeps its order, and a change is the newest of all.
            for messages in (self._waiting, self._newest):
                messages.pop(message.subject, None)
                messages[message.subject] = message
            if len(self._newest) > self._most:
                del self._newest[next(iter(self._newest))]
            if len(self._waiting) > self._most:
                self._drop()

    def again(self) -> None:
        """Let the newest message of each subject wait, in the order of their last change."""
        with self._lock:
            # What waits and is not among them is older than all of them.
            old = {key: each for key, each in self._waiting.items() if key not in self._newest}
            self._waiting = old | self._newest

    def first(self) -> StreamMessage | None:
        """Return the one that has waited longest; it stays until `done`."""
        with self._lock:
            return next(iter(self._waiting.values()), None)

    def done(self, message: StreamMessage) -> None:
        """Forget a message that has arrived, unless a newer one has taken its place."""
        with self._lock:
            if self._waiting.get(message.subject) is message:
                del self._waiting[message.subject]

    def _drop(self) -> None:
        # Never the one that has just come: it is the newest of all.
        *older, _ = self._waiting.values()
        # A partial is replaced soon anyway; a final that is dropped is missed.
        for is_final in (False, True):
            for each in older:
                if each.is_final is is_final and not each.takes_back:
                    del self._waiting[each.subject]
                    self.dropped += 1
                    return


log = structlog.get_logger()

SIGN_OF_LIFE_S = 15.0
"""So often the status is published again, for relays to know that the uplink is there."""
_MOST = 5_000
"""Captions that wait for the uplink: three hours of speech, a few megabytes."""
_AGAIN_S = (0.5, 1.0, 2.0, 5.0)
"""Waits before connecting anew; the last one from then on."""
# Nothing helps but to install it and to start again.
_HOPELESS = ("publish-not-installed",)


class Publisher:
    """Hands captions on to the stream. `offer...` may be called from any thread and never wait."""

    def __init__(self, settings: Publish, status: ServiceStatus) -> None:
        """`status` says which session is published, in which languages."""
        self._settings = settings
        self._status = status
        self._status_lock = threading.Lock()
        self._backlog = Backlog(_MOST)
        self._emit: Emit = _nobody
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._ending = asyncio.Event()
        self._is_closing = False
        self._known = Published()
        self._told = ""
        self._tries = 0
        """Connections in a row over which nothing was published."""
        # A loop of its own, so that no wait for the uplink is one of the loop that serves the hall.
        self._thread = Thread(self._run, "publish", failed=self._broke, again=True)

    def start(
        self, emit: Emit, captions: Mapping[str, Iterable[CaptionMessage]] | None = None
    ) -> None:
        """Begin. `emit` is told of troubles; `captions`, by language, are of an earlier run."""
        self._emit = emit
        # First: by it relays know which session the captions are of.
        self._offer_status()
        for lang, messages in (captions or {}).items():
            for message in messages:
                self.offer(message, lang)
        self._thread.start()

    def offer(self, message: CaptionMessage, lang: str) -> None:
        """Publish the newest version of a caption that was made for a target language."""
        self._backlog.put(caption_out(self._settings.church, self._status.session, lang, message))
        self._call(self._wake.set)

    def offer_state(self, state: State) -> None:
        """Publish the state that the service is in."""
        self._change(replace(self._status, state=state))

    def offer_notice(self, texts: dict[str, str]) -> None:
        """Publish the notice that stands, by language; empty: none does."""
        self._change(replace(self._status, notice=texts))

    @property
    def waiting(self) -> int:
        """Messages that the stream does not have yet, and those that it has still to overwrite."""
        return len(self._backlog) + len(self._known.replaced)

    def close(self, patience_s: float = 3.0) -> None:
        """Publish what still waits, for `patience_s` at most, and end."""
        if not self._thread.is_alive():
            return
        until_s = time.monotonic() + patience_s
        # With the line down, which was told, waiting would be in vain.
        while self.waiting and not self._told and time.monotonic() < until_s:
            time.sleep(0.02)
        # Before the events: the thread looks at it when one of them has woken it.
        self._is_closing = True
        self._call(self._wake.set)
        self._call(self._ending.set)
        self._thread.join(2.0)
        if self.waiting:
            log.warning("not published", code="publish-incomplete", captions=self.waiting)

    def _change(self, status: ServiceStatus) -> None:
        if status != self._status:
            self._status = status
            self._offer_status()

    def _offer_status(self) -> None:
        # The thread does this as well, as a sign of life. Without the lock it could read the status
        # before a change and put it behind the change: a dark screen would be lit for 15 seconds.
        with self._status_lock:
            self._backlog.put(status_out(self._settings.church, self._status))
        self._call(self._wake.set)

    def _call(self, act: Callable[[], None]) -> None:
        loop = self._loop
        if loop is not None:
            try:
                # Events of asyncio belong to the loop's thread.
                loop.call_soon_threadsafe(act)
            except RuntimeError:  # it has just been closed
                return

    # The thread

    def _run(self) -> None:
        asyncio.run(self._serve())

    def _broke(self, error: BaseException) -> None:
        """Tell of an error that nobody expected; it is connected anew."""
        message = f"Publishing failed: {described(error)}."
        self._tell(PublishError("publish-failed", message, "Captions in the hall go on."))

    async def _serve(self) -> None:
        # Events belong to one loop, and an error may have ended the one before.
        self._wake, self._ending = asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        while not self._is_closing:
            try:
                await self._publish_all()
            except PublishError as problem:
                self._tell(problem)
                if problem.code in _HOPELESS:
                    return
            # A little at random, so that many churches do not come back to one server in step.
            wait_s = _AGAIN_S[min(self._tries, len(_AGAIN_S) - 1)] * random.uniform(0.8, 1.2)  # noqa: S311
            self._tries += 1
            await self._sleep(wait_s)

    async def _publish_all(self) -> None:
        """Publish over one connection until it fails or the end comes. Raises PublishError."""
        broker = await Broker.connect(self._settings)
        try:
            state = await broker.ensure_stream(self._settings.keep_hours)
            if not self._known.is_in(state):
                # What an earlier service left: this one takes its place on every display.
                await broker.clear()
                # Numbers of another stream mean nothing here, and nothing in this one is known yet.
                self._known = Published(state.created)
                self._backlog.again()
            while not self._is_closing:
                # Before the backlog is looked at: what is put there from now on wakes `_woken`.
                self._wake.clear()
                while message := self._backlog.first():
                    await broker.publish(message, self._known)
                    self._backlog.done(message)
                    self._tries = 0
                    self._recovered()
                # `publish` erases what was replaced before: of the last one nothing else would.
                await broker.erase(self._known)
                if not await self._woken():
                    self._offer_status()
        finally:
            await broker.close()

    async def _woken(self) -> bool:
        """Wait for something to publish; False if a sign of life is due."""
        try:
            await asyncio.wait_for(self._wake.wait(), SIGN_OF_LIFE_S)
        except TimeoutError:
            return False
        return True

    async def _sleep(self, wait_s: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ending.wait(), wait_s)

    def _tell(self, problem: PublishError) -> None:
        """Tell operators of a trouble once, until it is another one."""
        if problem.code != self._told:
            self._told = problem.code
            self._emit(Fault("publish", problem.code, f"{problem.message} {problem.fix}"))

    def _recovered(self) -> None:
        if self._told:
            self._told = ""
            log.info("publishing again", server=place_of(self._settings.nats))


def _nobody(_: object) -> None:
    """Drop a report: there is nobody yet to tell."""

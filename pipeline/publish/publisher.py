"""Publish captions to a church's stream, from a thread that nothing in the hall waits for.

Offered messages go into a backlog. The thread sends one at a time and waits for its acknowledgement
before the next, so that the stream has them in the order of `seq`. When the server or uplink fails,
it reconnects for as long as the service lasts, and resumes at the same place. If the stream is a
different one (deleted, or another server), it publishes everything again.

Replaced versions are overwritten on the server's disk. So once nothing is `waiting`, the disk has
only what displays show.
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

from pipeline.captions.sink import Sink
from pipeline.config.publishing import Publish
from pipeline.core.errors import PublishError
from pipeline.core.reports import Emit, Fault
from pipeline.core.threads import Thread, described
from pipeline.core.types import State
from pipeline.protocol.caption import CaptionMessage
from pipeline.publish.broker import Broker, Published, place_of
from pipeline.publish.stream import ServiceStatus, StreamMessage, caption_out, status_out


class Backlog:
    """The messages that are not acknowledged yet, and those that a new stream needs again."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[str, StreamMessage] = {}
        self._newest: dict[str, StreamMessage] = {}
        """By subject, in the order of their last change; acknowledged or not."""
        self._lock = threading.Lock()
        self.dropped = 0
        """Messages that were dropped because too many waited."""

    def __len__(self) -> int:
        # Without the lock: reading the length is atomic, and it is soon outdated anyway.
        return len(self._waiting)

    def put(self, message: StreamMessage) -> None:
        """Add a message; it replaces a waiting one of the same subject.

        Above the limit the oldest partial is dropped, else the oldest final; never a message that
        withdraws text.
        """
        with self._lock:
            # Removed first: a dictionary keeps its order, and a changed message is the newest.
            for messages in (self._waiting, self._newest):
                messages.pop(message.subject, None)
                messages[message.subject] = message
            if len(self._newest) > self._most:
                del self._newest[next(iter(self._newest))]
            if len(self._waiting) > self._most:
                self._drop()

    def again(self) -> None:
        """Queue the newest message of each subject again, in the order of their last change."""
        with self._lock:
            # Waiting messages that are not in `_newest` are older than all of those.
            old = {key: each for key, each in self._waiting.items() if key not in self._newest}
            self._waiting = old | self._newest

    def first(self) -> StreamMessage | None:
        """Return the message that has waited longest; it stays until `done`."""
        with self._lock:
            return next(iter(self._waiting.values()), None)

    def done(self, message: StreamMessage) -> None:
        """Remove an acknowledged message, unless a newer one has replaced it."""
        with self._lock:
            if self._waiting.get(message.subject) is message:
                del self._waiting[message.subject]

    def _drop(self) -> None:
        # Never the message that was just added, which is the last one.
        *older, _ = self._waiting.values()
        # Partials first: they are replaced soon anyway, while viewers miss a dropped final.
        for is_final in (False, True):
            for each in older:
                if each.is_final is is_final and not each.takes_back:
                    del self._waiting[each.subject]
                    self.dropped += 1
                    return


log = structlog.get_logger()

SIGN_OF_LIFE_S = 15.0
"""Interval at which the status is published again, to show relays that the uplink works."""
_MOST = 5_000
"""Limit of captions that wait for the uplink: three hours of speech, a few megabytes."""
_AGAIN_S = (0.5, 1.0, 2.0, 5.0)
"""Waits before reconnecting; the last one repeats."""


class Publisher(Sink):
    """Publishes to the church's stream what every display gets, and nothing else.

    Any thread may call `on_...`, which never waits.
    """

    def __init__(self, settings: Publish, status: ServiceStatus) -> None:
        """`status` names the session to publish and its languages."""
        self._settings = settings
        self._status = status
        self._status_lock = threading.Lock()
        self._backlog = Backlog(_MOST)
        self._emit: Emit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._ending = asyncio.Event()
        self._is_closing = False
        self._known = Published()
        self._told = ""
        self._tries = 0
        """Connections in a row over which nothing was published."""
        # With its own event loop, so that the loop that serves the hall never waits for the uplink.
        self._thread = Thread(self._run, "publish", failed=self._broke, again=True)

    def start(
        self, emit: Emit, captions: Mapping[str, Iterable[CaptionMessage]] | None = None
    ) -> None:
        """Begin. `emit` gets faults; `captions`, by language, are from an earlier run."""
        self._emit = emit
        # First, since it tells relays which session the captions belong to.
        self._offer_status()
        for lang, messages in (captions or {}).items():
            for message in messages:
                self.on_caption(message, lang)
        self._thread.start()

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Publish the newest version of a caption in a target language."""
        self._backlog.put(caption_out(self._settings.church, self._status.session, lang, message))
        self._call(self._wake.set)

    def on_state(self, state: State, reason: str = "") -> None:  # noqa: ARG002 - for operators
        """Publish the service's state, without its reason."""
        self._change(replace(self._status, state=state))

    def on_notice(self, texts: dict[str, str]) -> None:
        """Publish the current notice, by language; empty: there is none."""
        self._change(replace(self._status, notice=texts))

    @property
    def waiting(self) -> int:
        """Number of messages that the stream does not have yet or still has to overwrite."""
        return len(self._backlog) + len(self._known.replaced)

    def close(self, patience_s: float = 3.0) -> None:
        """Publish waiting messages for `patience_s` at most, then end."""
        if not self._thread.is_alive():
            return
        until_s = time.monotonic() + patience_s
        # No wait if the line is down, which was reported.
        while self.waiting and not self._told and time.monotonic() < until_s:
            time.sleep(0.02)
        # Before the events, since the thread checks it when an event wakes it.
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
        # The thread does this too, as a sign of life. Without the lock it could read the old status
        # and put it after the new one: a blank screen would show captions for 15 seconds.
        with self._status_lock:
            self._backlog.put(status_out(self._settings.church, self._status))
        self._call(self._wake.set)

    def _call(self, act: Callable[[], None]) -> None:
        # Events of asyncio belong to the loop's thread. The loop may just have been closed.
        with suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(act)

    # The thread

    def _run(self) -> None:
        asyncio.run(self._serve())

    def _broke(self, error: BaseException) -> None:
        """Report an unexpected error; the thread reconnects."""
        message = f"Publishing failed: {described(error)}."
        self._tell(PublishError("publish-failed", message, "Captions in the hall go on."))

    async def _serve(self) -> None:
        # Events belong to one loop, and an error may have ended the previous loop.
        self._wake, self._ending = asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        while not self._is_closing:
            try:
                await self._publish_all()
            except PublishError as problem:
                self._tell(problem)
                # No retry: the library must be installed, and the program restarted.
                if problem.code == "publish-not-installed":
                    return
            # Slightly random, so that many churches do not reconnect to one server together.
            wait_s = _AGAIN_S[min(self._tries, len(_AGAIN_S) - 1)] * random.uniform(0.8, 1.2)  # noqa: S311
            self._tries += 1
            await self._sleep(wait_s)

    async def _publish_all(self) -> None:
        """Publish over one connection until it fails or `close` is called. Raises PublishError."""
        broker = await Broker.connect(self._settings)
        try:
            state = await broker.ensure_stream(self._settings.keep_hours)
            if not self._known.is_in(state):
                # Remove an earlier service: this one replaces it on every display.
                await broker.clear()
                # Sequence numbers of another stream are invalid here; this one's are unknown yet.
                self._known = Published(state.created)
                self._backlog.again()
            while not self._is_closing:
                # Before the backlog is read: a message added from now on ends the wait below.
                self._wake.clear()
                while message := self._backlog.first():
                    await broker.publish(message, self._known)
                    self._backlog.done(message)
                    self._tries = 0
                    self._recovered()
                # `publish` erases earlier replaced versions, but not those that it replaces itself.
                await broker.erase(self._known)
                try:
                    await asyncio.wait_for(self._wake.wait(), SIGN_OF_LIFE_S)
                except TimeoutError:
                    self._offer_status()
        finally:
            await broker.close()

    async def _sleep(self, wait_s: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ending.wait(), wait_s)

    def _tell(self, problem: PublishError) -> None:
        """Report a fault to operators once, until another one occurs."""
        if problem.code != self._told:
            self._told = problem.code
            self._emit(Fault("publish", problem.code, f"{problem.message} {problem.fix}"))

    def _recovered(self) -> None:
        if self._told:
            self._told = ""
            log.info("publishing again", server=place_of(self._settings.nats))

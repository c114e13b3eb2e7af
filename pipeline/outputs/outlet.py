"""An output to another program: a bounded queue and a thread that nothing in the hall waits for."""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from itertools import count
from urllib.parse import urlsplit

import structlog

from pipeline.core.errors import PublishError
from pipeline.core.reports import Emit, Fault
from pipeline.core.threads import Thread
from pipeline.outputs.requests import HttpRequest, MakeRequest, Shown

log = structlog.get_logger()

_MOST = 20
"""Captions that wait. What is older than that nobody wants to see any more."""
_STALE_S = 30.0
_ANSWER_S = 5.0
_END_S = 2.0
_AGAIN_S = (1.0, 2.0, 5.0, 10.0)


class Outlet:
    """Shows final captions in another program. `show` may be called from any thread."""

    def __init__(self, name: str, make: MakeRequest, emit: Emit) -> None:
        """`name`: the program's, for messages. `emit` is told of troubles."""
        self.name = name
        self._make = make
        self._emit = emit
        self._waiting: deque[tuple[float, Shown]] = deque(maxlen=_MOST)
        self._changed = threading.Condition()
        self._is_closing = False
        self._epoch = 0
        """Grows whenever all that waits is given up."""
        self._number = 0
        self._told = ""
        self._thread = Thread(self._run, f"output {name}", failed=self._broke, again=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def show(self, shown: Shown) -> None:
        """Show a caption soon; the oldest that wait are given up for it."""
        with self._changed:
            self._waiting.append((time.monotonic(), shown))
            self._changed.notify()

    def forget(self) -> None:
        """Give up all captions that wait: what was said is off the record."""
        with self._changed:
            self._waiting.clear()
            self._epoch += 1
            self._changed.notify()

    def close(self) -> None:
        """End; what still waits has two seconds, where the program answers."""
        until_s = time.monotonic() + _END_S
        # A program that does not answer, which was told, is not waited for.
        while self._waiting and not self._told and time.monotonic() < until_s:
            time.sleep(0.02)
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(_ANSWER_S)

    def _broke(self, error: BaseException) -> None:
        """Tell of an error that nobody expected; the next caption is tried."""
        # Not what the error says: an address may be in it, which is a secret with some.
        message = f"A caption could not be shown in {self.name}: {type(error).__name__}."
        self._tell(PublishError("output-failed", message, "Captions in the hall go on."))

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            put_s, shown, epoch = taken
            # Once a caption and not a try: so YouTube knows what it gets a second time.
            self._number += 1
            self._deliver(self._make(shown, self._number), put_s + _STALE_S, epoch)

    def _deliver(self, request: HttpRequest, until_s: float, epoch: int) -> None:
        """Send a request, again and again until `until_s` or until it is forgotten."""
        for tries in count():
            try:
                _send(self.name, request)
            except PublishError as problem:
                self._tell(problem)
                if problem.code == "output-refused":  # the next one may be taken
                    return
                self._wait(_AGAIN_S[min(tries, len(_AGAIN_S) - 1)], epoch)
                if self._is_closing or epoch != self._epoch or time.monotonic() > until_s:
                    return
            else:
                self._recovered()
                return

    def _take(self) -> tuple[float, Shown, int] | None:
        with self._changed:
            while not self._waiting and not self._is_closing:
                self._changed.wait()
            return None if self._is_closing else (*self._waiting.popleft(), self._epoch)

    def _wait(self, wait_s: float, epoch: int) -> None:
        until_s = time.monotonic() + wait_s
        with self._changed:
            while not self._is_closing and epoch == self._epoch:
                if (left_s := until_s - time.monotonic()) <= 0:
                    return
                self._changed.wait(left_s)

    def _tell(self, problem: PublishError) -> None:
        # Once: an uplink that is down all morning must not fill the desk.
        if problem.code != self._told:
            self._told = problem.code
            self._emit(Fault("output", problem.code, str(problem)))

    def _recovered(self) -> None:
        if self._told:
            self._told = ""
            log.info("output works again", output=self.name)


def _send(name: str, request: HttpRequest) -> None:
    """Send a request. Raises PublishError (output-unreachable, output-refused)."""
    # The path is a secret with some: YouTube's has the stream's key in it.
    place = urlsplit(request.url).netloc.rpartition("@")[2]
    out = urllib.request.Request(request.url, data=request.body, headers=request.headers)  # noqa: S310
    try:
        with urllib.request.urlopen(out, timeout=_ANSWER_S) as answer:  # noqa: S310
            answer.read(4096)
    except urllib.error.HTTPError as error:
        error.close()
        # In trouble, so it is asked again; a 4xx has understood, and would say the same again.
        if error.code >= 500:
            raise _unreachable(name, place, f"HTTP {error.code}") from None
        message = f"{name} at {place} refuses captions: HTTP {error.code}."
        raise PublishError("output-refused", message, "Look at its setting in [outputs].") from None
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(name, place, str(getattr(error, "reason", error))) from None


def _unreachable(name: str, place: str, reason: str) -> PublishError:
    return PublishError(
        "output-unreachable",
        f"{name} at {place} does not answer: {reason}.",
        "Captions in the hall go on.",
    )

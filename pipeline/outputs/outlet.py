"""An output to another program: a bounded queue and a thread that nothing in the hall waits for."""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
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


@dataclass(slots=True)
class _Waiting:
    """A caption that has not arrived yet."""

    shown: Shown
    stale_s: float
    """When nobody wants to see it any more (monotonic)."""
    number: int = 0
    """Given with the first try; the same with each, so that what comes twice is known."""


class Outlet:
    """Shows final captions in another program. All methods may be called from any thread."""

    def __init__(
        self,
        name: str,
        make: MakeRequest,
        emit: Emit,
        *,
        is_screen: bool = False,
        count: HttpRequest | None = None,
    ) -> None:
        """`name`: the program's, for messages. `emit` is told of troubles. `count` asks a program
        that takes no gap for the last number that it has got, so that a restart goes on from it.

        A screen has one text at a time, so only the newest waits for it; when that is stale the
        screen is cleared. Others get each caption once, in order, unless it is stale by then.
        """
        self.name = name
        self._make = make
        self._emit = emit
        self._is_screen = is_screen
        self._count = count
        self._waiting: dict[int, _Waiting] = {}
        """By caption, the oldest first. Each stays here while it is tried, so that it can still be
        revised or given up."""
        self._changed = threading.Condition()
        """Guards `_waiting`, what is in it, and `_is_closing`."""
        self._is_closing = False
        self._number = 0
        self._told = ""
        self._thread = Thread(self._run, f"output {name}", failed=self._broke, again=True)

    @property
    def waiting(self) -> int:
        """Captions that have not arrived yet."""
        with self._changed:
            return sum(map(self._is_due, self._waiting.values()))

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def show(self, key: int, shown: Shown) -> None:
        """Show a caption soon; the oldest that wait are given up for it."""
        with self._changed:
            if self._is_screen:
                self._waiting.clear()
            self._waiting[key] = _Waiting(shown, time.monotonic() + _STALE_S)
            if len(self._waiting) > _MOST:
                del self._waiting[next(iter(self._waiting))]
            self._changed.notify()

    def revise(self, key: int, text: str) -> None:
        """Send another text of a caption if it still waits; without a text, only if it gets one."""
        with self._changed:
            if key in self._waiting:
                # In place: if the earlier text is arriving now, it is done with that.
                waiting = self._waiting[key]
                waiting.shown = replace(waiting.shown, text=text)
                self._changed.notify()

    def forget(self) -> None:
        """Give up all captions that wait: what was said is off the record."""
        with self._changed:
            self._waiting.clear()

    def close(self) -> None:
        """End; what still waits has two seconds, where the program answers."""
        until_s = time.monotonic() + _END_S
        # A program that does not answer, which was told, is not waited for.
        while self.waiting and not self._told and time.monotonic() < until_s:
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
        tries = 0
        while (taken := self._first()) is not None:
            key, waiting = taken
            try:
                if self._count is not None and not self._number:
                    last = _send(self.name, self._count)
                    told = int(last) if last.strip().isdigit() else 0
                    self._number = max(told, waiting.number)
                with self._changed:
                    # It may have been hidden, or gone off the record, while the number was asked.
                    if self._waiting.get(key) is not waiting or not self._is_due(waiting):
                        continue
                    shown = waiting.shown
                if not waiting.number:
                    self._number += 1
                    waiting.number = self._number
                _send(self.name, self._make(shown, waiting.number))
            except PublishError as problem:
                self._tell(problem)
                if self._count is not None:  # has it arrived all the same?
                    self._number = 0
                if problem.code == "output-refused":  # the next one may be taken
                    self._done(key, waiting)
                else:
                    self._wait(_AGAIN_S[min(tries, len(_AGAIN_S) - 1)])
                    tries += 1
            except Exception:
                self._done(key, waiting)  # or it would be tried again for ever
                raise
            else:
                tries = 0
                self._recovered()
                self._done(key, waiting)

    def _first(self) -> tuple[int, _Waiting] | None:
        """Wait for a caption and return it; None at the end."""
        with self._changed:
            while not self._is_closing:
                self._drop_stale(time.monotonic())
                for key, waiting in self._waiting.items():
                    if self._is_due(waiting):
                        return key, waiting
                self._changed.wait()
            return None

    def _is_due(self, waiting: _Waiting) -> bool:
        # A hidden caption may be shown again; an empty text is one for a screen only.
        return self._is_screen or bool(waiting.shown.text)

    def _drop_stale(self, now_s: float) -> None:
        for key, waiting in list(self._waiting.items()):
            if now_s <= waiting.stale_s:
                continue
            if self._is_screen:
                # Sent all the same: what was there before is still on the screen.
                waiting.shown = replace(waiting.shown, text="")
            else:
                del self._waiting[key]

    def _done(self, key: int, waiting: _Waiting) -> None:
        with self._changed:
            # Unless a screen has got another text meanwhile.
            if self._waiting.get(key) is waiting:
                del self._waiting[key]

    def _wait(self, wait_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing, wait_s)

    def _tell(self, problem: PublishError) -> None:
        # Once: an uplink that is down all morning must not fill the desk.
        if problem.code != self._told:
            self._told = problem.code
            self._emit(Fault("output", problem.code, str(problem)))

    def _recovered(self) -> None:
        if self._told:
            self._told = ""
            log.info("output works again", output=self.name)


def _send(name: str, request: HttpRequest) -> bytes:
    """Send a request; return the answer. Raises PublishError (output-unreachable, -refused)."""
    # The path is a secret with some: YouTube's has the stream's key in it.
    place = urlsplit(request.url).netloc.rpartition("@")[2]
    out = urllib.request.Request(request.url, data=request.body, headers=request.headers)  # noqa: S310
    try:
        with urllib.request.urlopen(out, timeout=_ANSWER_S) as answer:  # noqa: S310
            return bytes(answer.read(4096))
    except urllib.error.HTTPError as error:
        error.close()
        # In trouble, so it is asked again; a 4xx has understood, and would say the same again.
        if error.code >= 500:
            raise _unreachable(name, place, f"HTTP {error.code}") from None
        message = f"{name} at {place} refuses captions: HTTP {error.code}."
        raise PublishError("output-refused", message, "Look at its entry in [[outputs]].") from None
    except ValueError:  # UnicodeError of the look-up: a name with two dots in a row, say
        raise _unreachable(name, place, "its address cannot be looked up") from None
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(name, place, str(getattr(error, "reason", error))) from None


def _unreachable(name: str, place: str, reason: str) -> PublishError:
    return PublishError(
        "output-unreachable",
        f"{name} at {place} does not answer: {reason}.",
        "Captions in the hall go on.",
    )

"""An output to another program: a bounded queue and a thread that nothing in the hall waits for.

Its HTTP requests show a caption by each program's own documentation:

- YouTube, "closed captions by HTTP POST": text/plain, a line with the time in UTC and one with the
  text; `seq` counts the requests, so that what comes twice or late is known as such.
- Zoom, "third-party closed captioning": text/plain, the text alone; `seq` counts captions, without
  a gap, and the same address with `/seq` tells the last one; `lang` has a country.
- vMix, its web API: the function SetText, of an input and a field of its title.
- ProPresenter 7.9 and later, its API: a message's trigger, with the text in a token.
- FreeShow, its REST API: the action change_variable, of a text variable. It never says that there
  is no such variable.
"""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import orjson
import structlog

from pipeline.core.errors import PublishError
from pipeline.core.reports import Emit, Fault
from pipeline.core.threads import Thread

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
        # As long as a request may take: nothing interrupts one that is on its way.
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
                # At the first caption and after a failure: its answer may have been lost alone.
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
            # A new caption does not end it: who is down is not asked more often for that.
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
            # Bounded, since anything may answer there: what is wanted is a number at most.
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


@dataclass(frozen=True, slots=True)
class Shown:
    """A caption to show elsewhere."""

    text: str
    spoken_utc: datetime
    """When it began to be spoken."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request; without a body it is a GET."""

    url: str
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


MakeRequest: TypeAlias = Callable[[Shown, int], HttpRequest]
"""Makes the request for a caption; the number counts those of one program, from 1."""


def youtube(ingestion_url: str) -> MakeRequest:
    """Return what posts to a stream's caption ingestion URL, as YouTube Studio shows it."""

    def make(shown: Shown, number: int) -> HttpRequest:
        # In milliseconds: `strftime` knows microseconds only.
        moment = shown.spoken_utc.strftime("%Y-%m-%dT%H:%M:%S.") + (
            f"{shown.spoken_utc.microsecond // 1000:03d}"
        )
        # A line feed would end the caption.
        body = f"{moment}\n{' '.join(shown.text.split())}\n"
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        return HttpRequest(_with_query(ingestion_url, seq=str(number)), body.encode(), headers)

    return make


def zoom(caption_url: str, lang: str) -> MakeRequest:
    """Return what posts to a meeting's caption URL, which its host copies ("API token")."""
    # Of these the country has another code than the language.
    country = {"en": "US", "zh": "CN", "ja": "JP", "ko": "KR", "pt": "BR"}.get(lang, lang.upper())

    def make(shown: Shown, number: int) -> HttpRequest:
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        url = _with_query(caption_url, seq=str(number), lang=f"{lang}-{country}")
        return HttpRequest(url, f"{' '.join(shown.text.split())}\n".encode(), headers)

    return make


def zoom_count(caption_url: str) -> HttpRequest:
    """Return what asks a meeting for the number of the last caption that it has got."""
    parts = urlsplit(caption_url)
    return HttpRequest(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/seq")))


def vmix(address: str, title: str) -> MakeRequest:
    """Return what sets a title's text; `title` is an input, a comma, a field of it."""
    name, _, of_title = title.partition(",")

    def make(shown: Shown, number: int) -> HttpRequest:  # noqa: ARG001
        return HttpRequest(
            _with_query(
                f"{address.rstrip('/')}/api/",
                Function="SetText",
                Input=name.strip(),
                SelectedName=of_title.strip() or "Message.Text",
                Value=shown.text,
            )
        )

    return make


def propresenter(address: str, message: str) -> MakeRequest:
    """Return what triggers a message; it is named, and a token of it, behind a comma."""
    name, _, token = message.partition(",")

    def make(shown: Shown, number: int) -> HttpRequest:  # noqa: ARG001
        tokens = [{"name": token.strip() or "Message", "text": {"text": shown.text}}]
        return HttpRequest(
            # A slash in a message's name would end it there.
            f"{address.rstrip('/')}/v1/message/{quote(name.strip(), safe='')}/trigger",
            orjson.dumps(tokens),
            {"Content-Type": "application/json"},
        )

    return make


def freeshow(address: str, variable: str) -> MakeRequest:
    """Return what sets a text variable; FreeShow takes the one whose name is the most like it."""
    asked = {"action": "change_variable", "name": variable.strip(), "key": "text"}

    def make(shown: Shown, number: int) -> HttpRequest:  # noqa: ARG001
        body = orjson.dumps({**asked, "value": shown.text})
        return HttpRequest(f"{address.rstrip('/')}/", body, {"Content-Type": "application/json"})

    return make


def _with_query(url: str, **more: str) -> str:
    parts = urlsplit(url)
    # The address has the stream's key in its query: that stays, but for a `seq` of its own.
    given = [each for each in parse_qsl(parts.query, keep_blank_values=True) if each[0] not in more]
    return urlunsplit(parts._replace(query=urlencode([*given, *more.items()], quote_via=quote)))

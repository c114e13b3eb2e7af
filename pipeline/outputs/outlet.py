"""An output to another program: a bounded queue and a thread. Nothing in the hall waits for it.

Its HTTP requests show a caption as each program's documentation defines:

- YouTube, "closed captions by HTTP POST": text/plain, a line with the time in UTC and one with the
  text; `seq` counts the requests, so that YouTube recognizes repeated and late ones.
- Zoom, "third-party closed captioning": text/plain, the text alone; `seq` counts captions, without
  a gap, and the same address with `/seq` returns the last one; `lang` has a country.
- vMix, its web API: the function SetText for an input and a field of its title.
- ProPresenter 7.9 and later, its API: a message's trigger, with the text in a token.
- FreeShow, its REST API: the action change_variable for a text variable. It reports no error if
  the variable does not exist.
"""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
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
"""Captions that may wait. Nobody wants to see older ones any more."""
_STALE_S = 30.0
_ANSWER_S = 5.0
_END_S = 2.0
_AGAIN_S = (1.0, 2.0, 5.0, 10.0)


@dataclass(slots=True)
class _Waiting:
    """A caption that has not arrived yet."""

    shown: Shown
    stale_s: float
    """Time at which it is too old to show (monotonic)."""
    number: int = 0
    """Set at the first try and kept for the others, so that the program recognizes repeats."""


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
        """`name` is the program's, for messages. `emit` gets faults. `count` asks a program that
        accepts no gap for the last number that it received, so that a restart continues from it.

        A screen has one text at a time, so only the newest waits for it; when that is stale, the
        screen is cleared. Others get each caption once, in order, unless it is stale by then.
        """
        self.name = name
        self._make = make
        self._emit = emit
        self._is_screen = is_screen
        self._count = count
        self._waiting: dict[int, _Waiting] = {}
        """By caption, oldest first. A caption stays here while it is being sent, so that it can
        still be revised or dropped."""
        self._changed = threading.Condition()
        """Guards `_waiting`, its values, and `_is_closing`."""
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
        """Queue a caption; if too many wait, the oldest is dropped."""
        with self._changed:
            if self._is_screen:
                self._waiting.clear()
            self._waiting[key] = _Waiting(shown, time.monotonic() + _STALE_S)
            if len(self._waiting) > _MOST:
                del self._waiting[next(iter(self._waiting))]
            self._changed.notify()

    def revise(self, key: int, text: str) -> None:
        """Change the text of a caption that still waits; an empty text is not sent to a stream."""
        with self._changed:
            if key in self._waiting:
                # In place: if the earlier text is being sent now, the caption is done with that.
                waiting = self._waiting[key]
                waiting.shown = replace(waiting.shown, text=text)
                self._changed.notify()

    def forget(self) -> None:
        """Drop all captions that wait, since their speech is off the record."""
        with self._changed:
            self._waiting.clear()

    def close(self) -> None:
        """End; if the program answers, waiting captions have two seconds."""
        until_s = time.monotonic() + _END_S
        # No wait for a program that does not answer, which was reported.
        while self.waiting and not self._told and time.monotonic() < until_s:
            time.sleep(0.02)
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        # As long as a request may take: nothing can interrupt one in progress.
        if self._thread.is_alive():
            self._thread.join(_ANSWER_S)

    def _broke(self, error: BaseException) -> None:
        """Report an unexpected error; the next caption is tried."""
        # Without the error's text: it may contain an address, which is a secret for some programs.
        message = f"A caption could not be shown in {self.name}: {type(error).__name__}."
        self._tell(PublishError("output-failed", message, "Captions in the hall go on."))

    def _run(self) -> None:
        tries = 0
        while (taken := self._first()) is not None:
            key, waiting = taken
            try:
                # At the first caption and after a failure: perhaps only the answer was lost.
                if self._count is not None and not self._number:
                    last = _send(self.name, self._count)
                    count = int(last) if last.strip().isdigit() else 0
                    self._number = max(count, waiting.number)
                with self._changed:
                    # It may have been hidden or removed from the record during that request.
                    if self._waiting.get(key) is not waiting or not self._is_due(waiting):
                        continue
                    shown = waiting.shown
                if not waiting.number:
                    self._number += 1
                    waiting.number = self._number
                _send(self.name, self._make(shown, waiting.number))
            except PublishError as problem:
                self._tell(problem)
                if self._count is not None:  # ask again: it may have arrived
                    self._number = 0
                if problem.code == "output-refused":  # the next one may be accepted
                    self._done(key, waiting)
                else:
                    self._wait(_AGAIN_S[min(tries, len(_AGAIN_S) - 1)])
                    tries += 1
            except Exception:
                self._done(key, waiting)  # otherwise it would be tried again forever
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
        # An empty text clears a screen. A stream skips it: a hidden caption may be shown again.
        return self._is_screen or bool(waiting.shown.text)

    def _drop_stale(self, now_s: float) -> None:
        for key, waiting in list(self._waiting.items()):
            if now_s <= waiting.stale_s:
                continue
            if self._is_screen:
                # An empty text is sent, since the screen still shows the earlier one.
                waiting.shown = replace(waiting.shown, text="")
            else:
                del self._waiting[key]

    def _done(self, key: int, waiting: _Waiting) -> None:
        with self._changed:
            # Unless a newer text for the screen has replaced it.
            if self._waiting.get(key) is waiting:
                del self._waiting[key]

    def _wait(self, wait_s: float) -> None:
        with self._changed:
            # A new caption does not end the wait: a program that is down gets no extra requests.
            self._changed.wait_for(lambda: self._is_closing, wait_s)

    def _tell(self, problem: PublishError) -> None:
        # Once: an uplink that is down all morning must not fill the operator's page.
        if problem.code != self._told:
            self._told = problem.code
            self._emit(Fault("output", problem.code, str(problem)))

    def _recovered(self) -> None:
        if self._told:
            self._told = ""
            log.info("output works again", output=self.name)


def _send(name: str, request: HttpRequest) -> bytes:
    """Send a request; return the answer. Raises PublishError (output-unreachable, -refused)."""
    # Without the path, which may be a secret: YouTube's contains the stream's key.
    place = urlsplit(request.url).netloc.rpartition("@")[2]
    out = urllib.request.Request(request.url, data=request.body, headers=dict(request.headers))  # noqa: S310
    try:
        with urllib.request.urlopen(out, timeout=_ANSWER_S) as answer:  # noqa: S310
            # Bounded, since anything may answer there, and the expected answer is a short number.
            return bytes(answer.read(4096))
    except urllib.error.HTTPError as error:
        error.close()
        # A 5xx is worth a retry; a 4xx would be the same again.
        if error.code >= 500:
            raise _unreachable(name, place, f"HTTP {error.code}") from None
        message = f"{name} at {place} refuses captions: HTTP {error.code}."
        raise PublishError("output-refused", message, "Look at its entry in [[outputs]].") from None
    except ValueError:  # UnicodeError of the look-up, such as for a name with two dots in a row
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
    """When its speech began."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request; without a body it is a GET."""

    url: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


MakeRequest: TypeAlias = Callable[[Shown, int], HttpRequest]
"""Makes the request for a caption; the number counts a program's captions, from 1."""


_PLAIN = {"Content-Type": "text/plain; charset=utf-8"}
_JSON = {"Content-Type": "application/json"}


def youtube(ingestion_url: str, shown: Shown, number: int) -> HttpRequest:
    """Return the request for a stream's caption ingestion URL, which YouTube Studio shows."""
    moment = shown.spoken_utc.replace(tzinfo=None).isoformat(timespec="milliseconds")
    # A line feed would end the caption.
    body = f"{moment}\n{' '.join(shown.text.split())}\n"
    return HttpRequest(_with_query(ingestion_url, seq=str(number)), body.encode(), _PLAIN)


_COUNTRIES = {
    "af": "ZA", "am": "ET", "ar": "EG", "be": "BY", "bn": "BD", "ca": "ES", "ckb": "IQ",
    "cs": "CZ", "da": "DK", "dv": "MV", "el": "GR", "en": "US", "et": "EE", "fa": "IR",
    "fil": "PH", "gu": "IN", "he": "IL", "hi": "IN", "ja": "JP", "km": "KH", "kn": "IN",
    "ko": "KR", "lo": "LA", "ml": "IN", "mr": "IN", "my": "MM", "nb": "NO", "pa": "IN",
    "ps": "AF", "pt": "BR", "sd": "PK", "sl": "SI", "sr": "RS", "sv": "SE", "sw": "TZ",
    "ta": "IN", "te": "IN", "tl": "PH", "ug": "CN", "uk": "UA", "ur": "PK", "vi": "VN",
    "yi": "UA", "zh": "CN", "zu": "ZA",
}  # fmt: skip
"""The usual country of languages whose code differs from it (Unicode's likely subtags)."""


def zoom(caption_url: str, lang: str, shown: Shown, number: int) -> HttpRequest:
    """Return the request for a meeting's caption URL, which its host copies ("API token")."""
    country = _COUNTRIES.get(lang, lang.upper())
    url = _with_query(caption_url, seq=str(number), lang=f"{lang}-{country}")
    return HttpRequest(url, f"{' '.join(shown.text.split())}\n".encode(), _PLAIN)


def zoom_count(caption_url: str) -> HttpRequest:
    """Return the request for the number of the last caption that a meeting has received."""
    parts = urlsplit(caption_url)
    return HttpRequest(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/seq")))


def vmix(address: str, title: str, shown: Shown, _: int) -> HttpRequest:
    """Return the request that sets a title's text; `title` is an input, a comma, and its field."""
    name, _comma, of_title = title.partition(",")
    return HttpRequest(
        _with_query(
            f"{address.rstrip('/')}/api/",
            Function="SetText",
            Input=name.strip(),
            SelectedName=of_title.strip() or "Message.Text",
            Value=shown.text,
        )
    )


def propresenter(address: str, message: str, shown: Shown, _: int) -> HttpRequest:
    """Return the request that triggers a message: its name, a comma, and a token of it."""
    name, _comma, token = message.partition(",")
    tokens = [{"name": token.strip() or "Message", "text": {"text": shown.text}}]
    # An unquoted slash would end the message's name.
    url = f"{address.rstrip('/')}/v1/message/{quote(name.strip(), safe='')}/trigger"
    return HttpRequest(url, orjson.dumps(tokens), _JSON)


def freeshow(address: str, variable: str, shown: Shown, _: int) -> HttpRequest:
    """Return the request that sets a text variable; FreeShow uses the closest name."""
    asked = {"action": "change_variable", "name": variable.strip(), "key": "text"}
    body = orjson.dumps({**asked, "value": shown.text})
    return HttpRequest(f"{address.rstrip('/')}/", body, _JSON)


def _with_query(url: str, **more: str) -> str:
    parts = urlsplit(url)
    # The query contains the stream's key, so it stays; only keys in `more` are replaced.
    given = [each for each in parse_qsl(parts.query, keep_blank_values=True) if each[0] not in more]
    return urlunsplit(parts._replace(query=urlencode([*given, *more.items()], quote_via=quote)))

"""Choose which captions go to which output, and when."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from pipeline.captions.redaction import Redaction
from pipeline.captions.sink import Removed, Sink
from pipeline.config.publishing import Output
from pipeline.core.reports import Emit
from pipeline.outputs.outlet import (
    HttpRequest,
    Outlet,
    Shown,
    freeshow,
    propresenter,
    vmix,
    youtube,
    zoom,
    zoom_count,
)
from pipeline.protocol.caption import CaptionMessage

_SCREENS: Mapping[str, Callable[[str, str, Shown, int], HttpRequest]] = {
    "vmix": vmix,
    "propresenter": propresenter,
    "freeshow": freeshow,
}
_NAMES = {
    "youtube": "YouTube",
    "zoom": "Zoom",
    "vmix": "vMix",
    "propresenter": "ProPresenter",
    "freeshow": "FreeShow",
}


class OutputFeed(Sink):
    """Shows captions in the programs that the settings name. It never waits.

    All programs show one language, with the texts of the board. A screen, which can be changed,
    shows the newest final at once, and is cleared when that final is hidden or the displays are
    blank. A stream, which cannot be changed, gets each final when it settles. An edit replaces a
    final that still waits. A final that is hidden by then is not sent, unless it is soon shown
    again.
    """

    def __init__(
        self,
        outputs: Sequence[Output],
        now: Callable[[], datetime],
        lang: str,
        board: str,
        *,
        last_id: int = 0,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`now` returns the time with its zone; its clock may be set. The clock of `steady_s` is
        never set. `lang` is the language to show. `board` is the target language of the board to
        follow. If it is `lang`, the translations are shown, otherwise the source texts. `last_id`
        is the newest caption of a resumed session: late changes of earlier captions are not shown.
        """
        self._outputs = outputs
        self._lang = lang
        self._board = board
        self._now = now
        self._screens: list[Outlet] = []
        self._streams: list[Outlet] = []
        # The newest caption that screens have shown; ids begin at 1.
        self._last = last_id
        self._text = ""
        self._is_blank = False
        self._steady_s = steady_s
        self._went_dark_s = 0.0
        self._dark: deque[tuple[float, float]] = deque(maxlen=8)
        """The last stretches in which the displays were blank: finals of that speech come later."""

    def start(self, emit: Emit) -> None:
        """Begin, with empty screens; `emit` gets faults."""
        for each in self._outputs:
            name = _NAMES.get(each.program, "")
            if each.program == "youtube":
                self._streams.append(Outlet(name, partial(youtube, each.url), emit))
            elif each.program == "zoom":
                post, count = partial(zoom, each.url, self._lang), zoom_count(each.url)
                self._streams.append(Outlet(name, post, emit, count=count))
            elif make := _SCREENS.get(each.program):
                request = partial(make, each.url, each.shows_in)
                self._screens.append(Outlet(name, request, emit, is_screen=True))
        for outlet in (*self._screens, *self._streams):
            outlet.start()
        # A killed daemon may have left a text there that is hidden by now.
        self._refresh()

    def close(self) -> None:
        """End; screens keep their text."""
        for each in (*self._screens, *self._streams):
            each.close()

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Show a final on screens: a new one, or a new version of the one that they show."""
        if lang != self._board:
            return
        text = self._text_of(message)
        for each in self._streams:
            each.revise(message.id, text)
        # A late change of an earlier caption is ignored: a screen has room only for the newest.
        # A newer caption without a text, such as noise, leaves the earlier one there.
        if message.final and (message.id == self._last or (message.id > self._last and text)):
            self._last, self._text = message.id, text
            self._refresh()

    def on_blank(self, *, is_blank: bool) -> None:
        """Clear the screens while the displays are blank."""
        if is_blank != self._is_blank:
            self._is_blank = is_blank
            if is_blank:
                self._went_dark_s = self._steady_s()
            else:
                self._dark.append((self._went_dark_s, self._steady_s()))
            self._refresh()

    def on_redaction(self, redaction: Redaction, removed: Removed) -> None:  # noqa: ARG002
        """Drop waiting captions, and remove from screens what is off the record now."""
        for each in self._streams:
            each.forget()
        for message in removed[self._board]:
            if message.id >= self._last:
                self._last, self._text = message.id, ""
        self._refresh()

    def on_settled(self, message: CaptionMessage, spoken_utc: datetime, lang: str) -> None:
        """Send a settled caption to streams, as the board shows it."""
        if lang != self._board:
            return
        # A stream cannot be changed, so speech while the displays are blank never goes there.
        # By the steady clock: the other one may have been set meanwhile.
        spoken_s = self._steady_s() - (self._now() - spoken_utc).total_seconds()
        ended_s = spoken_s + message.end_s - message.start_s
        was_dark = any(spoken_s < to_s and ended_s > since_s for since_s, to_s in self._dark)
        if not (self._is_blank or was_dark):
            text = self._text_of(message)
            for each in self._streams:
                # Also without a text, since a hidden caption may soon be shown again. YouTube
                # places a caption at the time of its speech, whenever it arrives.
                each.show(message.id, Shown(text, spoken_utc))

    def _text_of(self, message: CaptionMessage) -> str:
        # A corrected caption has the old translation until the new one is final.
        if not message.final:
            return ""
        return (message.target if self._lang == self._board else message.source).text

    def _refresh(self) -> None:
        text = "" if self._is_blank else self._text
        for each in self._screens:
            each.show(self._last, Shown(text, self._now()))

"""Choose what goes to which output, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from pipeline.captions.subtitles import Side
from pipeline.config.publishing import Outputs
from pipeline.core.reports import Emit
from pipeline.outputs.outlet import Outlet
from pipeline.outputs.requests import Shown, freeshow, propresenter, vmix, youtube
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.utterance import UtteranceRecord


class OutputFeed:
    """Shows captions in the programs that the settings name. It never waits.

    All of them show one language. A screen that can be changed has the newest final at once, and is
    cleared when that is hidden or the displays are blank. A stream that cannot take anything back
    gets finals that have settled.
    """

    def __init__(
        self, settings: Outputs, now: Callable[[], datetime], side: Side = "target"
    ) -> None:
        """`now` tells the time with its zone. Of a caption the `side` is shown: `source` is what
        was said."""
        self._settings = settings
        self._side = side
        self._now = now
        self._screens: list[Outlet] = []
        self._streams: list[Outlet] = []
        self._last = -1
        self._text = ""
        self._is_blank = False

    def start(self, emit: Emit) -> None:
        """Begin; `emit` is told of troubles."""
        given = self._settings
        if given.vmix:
            made = Outlet("vMix", vmix(given.vmix, given.vmix_title), emit)
            self._screens.append(made)
        if given.propresenter:
            make = propresenter(given.propresenter, given.propresenter_message)
            self._screens.append(Outlet("ProPresenter", make, emit))
        if given.freeshow:
            make = freeshow(given.freeshow, given.freeshow_variable)
            self._screens.append(Outlet("FreeShow", make, emit))
        if given.youtube:
            self._streams.append(Outlet("YouTube", youtube(given.youtube), emit))
        for each in (*self._screens, *self._streams):
            each.start()

    def close(self) -> None:
        """End; screens are left as they are."""
        for each in (*self._screens, *self._streams):
            each.close()

    def on_caption(self, message: CaptionMessage) -> None:
        """Show a final on screens: a new one, or another version of the one that is there."""
        # A late change of an earlier caption stays away: a screen has room for the newest only.
        if message.final and message.id >= self._last:
            text = message.target.text if self._side == "target" else message.source.text
            # What was typed for the readers of another language was not said.
            if not text and self._side == "source" and message.target.text:
                return
            self._last, self._text = message.id, text
            self._refresh()

    def on_blank(self, *, is_blank: bool) -> None:
        """Clear the screens while the displays are blank."""
        if is_blank != self._is_blank:
            self._is_blank = is_blank
            self._refresh()

    def on_redaction(self, removed: Iterable[CaptionMessage]) -> None:
        """Give up what waits, and take off the screens what was said off the record."""
        for each in (*self._screens, *self._streams):
            each.forget()
        for message in removed:
            if message.id >= self._last:
                self._last, self._text = message.id, ""
        self._refresh()

    def on_settled(self, record: UtteranceRecord) -> None:
        """Send an utterance's final to streams: it will not change any more."""
        if record.final is None or self._is_blank:
            return
        text = record.final.text if self._side == "target" else record.text
        if not text:
            return
        # YouTube puts a caption where it was spoken in the stream, whenever it comes.
        late_ms = record.last_syllable_to_final_ms or 0.0
        ended = datetime.fromisoformat(record.utc) - timedelta(milliseconds=late_ms)
        began = ended - timedelta(seconds=record.end_s - record.start_s)
        for each in self._streams:
            each.show(Shown(text, began))

    def _refresh(self) -> None:
        text = "" if self._is_blank else self._text
        for each in self._screens:
            each.show(Shown(text, self._now()))

"""The daemon's output for the person at the terminal: captions, level, state, times.

A live view on a terminal, log lines elsewhere.
"""

from __future__ import annotations

import atexit
import queue
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import structlog
from rich.console import Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.rule import Rule
from rich.segment import ControlType, Segment
from rich.text import Text

from pipeline.captions.redaction import Redaction
from pipeline.captions.sink import Removed
from pipeline.cli.console import Console
from pipeline.core import logs
from pipeline.core.formats import clock
from pipeline.core.reports import Fault, Level
from pipeline.core.threads import Thread
from pipeline.core.types import Mode, State
from pipeline.daemon.context.screen import Screen
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.summary import SHORT_STAGES
from pipeline.records.utterance import UtteranceRecord

log = structlog.get_logger()


def make_screen(at_desk: Callable[[str], None] | None = None) -> Screen:
    """Return a RichScreen if standard output is a capable terminal, else a LineScreen.

    `at_desk` is called with the address of the operator's page when the page is up.
    """
    console = Console()
    # A dumb terminal cannot move its cursor, so the live lines would fill it.
    can = console.is_terminal and not console.is_dumb_terminal
    screen = RichScreen(console) if can else LineScreen()
    screen.at_desk = at_desk
    return screen


class LineScreen(Screen):
    """Finals and states as log lines, for systemd's journal and for pipes."""

    def show_operator_page(self, page: str, token: str) -> None:
        """Log both."""
        log.info("operator", page=page, token=token)
        super().show_operator_page(page, token)

    def on_caption(self, message: CaptionMessage, lang: str) -> None:  # noqa: ARG002 - one is shown
        """Log a final; log its text only at level "debug".

        Other programs keep logs, and cannot be made to forget a text that goes off the record.
        """
        if message.final:
            source, target = message.source.text, message.target.text
            log.info(
                "caption", id=message.id, start_s=message.start_s, engine=message.target.engine
            )
            log.debug("caption text", id=message.id, source=source, target=target)

    def on_state(self, state: State, reason: str) -> None:
        """Log the state, but not every start and end of speech."""
        if state not in ("speech", "listening") or reason:
            log.info("state", state=state, reason=reason)

    def show_summary(self, what: RenderableType) -> None:
        """Print it to standard output."""
        Console(width=100).print(what)  # in a pipe rich uses 80 columns and breaks the table


_WIPE = Control.clear()
_WIPE.segment = Segment("\x1b[H\x1b[2J\x1b[3J", None, [(ControlType.CLEAR,)])
"""Control codes that clear the terminal and, where supported, its history."""

_REFRESH_S = 1 / 8
_METER_CELLS = 20
_METER_FLOOR_DBFS = -60.0
_OPEN_CAPTIONS = 3
_STYLES: dict[State, str] = {
    "speech": "bold green",
    "listening": "green",
    "song": "magenta",
    "behind": "bold yellow",
    "muted": "bold red",
    "no-audio": "bold red",
    "fault": "bold red",
}


def level_bar(level: Level) -> Text:
    """Return a meter from -60 dBFS to full scale: green in speech, red when it clips."""
    share = 1 - max(_METER_FLOOR_DBFS, min(0.0, level.dbfs)) / _METER_FLOOR_DBFS
    cells = round(share * _METER_CELLS)
    style = "red" if level.clipped else "green" if level.speaking else "cyan"
    return Text.assemble(
        ("█" * cells, style),
        ("·" * (_METER_CELLS - cells), "dim"),
        f" {level.dbfs:4.0f} dBFS" + (" CLIPPED" if level.clipped else ""),
        no_wrap=True,
        overflow="ellipsis",
    )


class RichScreen(Screen):
    """A live view at the bottom of a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._printed: queue.SimpleQueue[Text | None] = queue.SimpleQueue()
        # None: wipe the terminal
        self._closing = threading.Event()
        # If it fails, log lines go to standard error again: nothing else prints the queue.
        self._thread = Thread(self._run, "screen", failed=lambda _: logs.divert(None))
        # The thread only reads these. The event loop replaces them.
        self._address = ""
        self._mode: Mode = "live"
        self._state: tuple[State, str] = ("starting", "")
        self._level = Level(_METER_FLOOR_DBFS, _METER_FLOOR_DBFS, clipped=False, speaking=False)
        self._record: UtteranceRecord | None = None
        self._fault: Fault | None = None
        self._open: dict[int, CaptionMessage] = {}

    def show_address(self, address: str, mode: Mode, folder: Path) -> None:  # noqa: ARG002
        """Print the addresses and start the live view in the lower part of the terminal."""
        self._address, self._mode = address, mode
        places = (address, "bold"), " (phones), ", (f"{address}projector", "bold"), " (the wall)"
        self._printed.put(Text.assemble("Captions are at ", *places))
        after = ("stark-translate report last", "bold"), " shows how it went"
        self._printed.put(Text.assemble("Ctrl-C ends it; then ", *after))
        # A log line on this terminal would break the live lines; a log file is no problem.
        if sys.stderr.isatty():
            logs.divert(lambda line: self._printed.put(Text.from_ansi(line)))
        # The live lines hide the cursor, which must come back however the program ends.
        atexit.register(self.close)
        self._thread.start()

    def show_operator_page(self, page: str, token: str) -> None:
        """Print the address of the operator's page, above the captions."""
        super().show_operator_page(page, token)
        self._printed.put(
            Text.assemble(
                *("The desk is at ", (page, "bold"), "; "),
                *(("stark-translate desk", "bold"), " opens it, and lets a tablet in"),
            )
        )

    def on_caption(self, message: CaptionMessage, lang: str) -> None:  # noqa: ARG002 - one is shown
        """Show a partial at the bottom; print a final above it."""
        others = {key: open_ for key, open_ in self._open.items() if key != message.id}
        was_open = len(others) < len(self._open)
        if message.final:
            self._open = others
            # An empty final removes its partial; it gets a line only if there was no partial.
            if message.target.text or not was_open:
                self._printed.put(_final(message))
        else:
            # Replace the dict in one step: the thread may be iterating over the old one.
            self._open = dict(sorted((others | {message.id: message}).items())[-_OPEN_CAPTIONS:])

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Show how long the last final took."""
        if record.final is not None:
            self._record = record

    def on_state(self, state: State, reason: str) -> None:
        """Show the state."""
        self._state = state, reason

    def on_level(self, level: Level) -> None:
        """Move the meter."""
        self._level = level

    def on_fault(self, fault: Fault) -> None:
        """Show the latest fault."""
        self._fault = fault

    def on_redaction(self, redaction: Redaction, removed: Removed) -> None:  # noqa: ARG002
        """Clear the terminal and its history: a single line cannot be removed."""
        # Before the wipe: otherwise the thread would draw them once more after it.
        self._open, self._record = {}, None
        self._printed.put(None)
        places = (f"{self._address} ", "bold"), "The terminal was cleared: off the record."
        self._printed.put(Text.assemble("Captions are at ", *places))

    def show_summary(self, what: RenderableType) -> None:
        """Print it."""
        self._console.print(what)

    def close(self) -> None:
        """Draw for the last time and release the terminal."""
        atexit.unregister(self.close)
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(1.0)  # with a timeout: it may hang in a stopped terminal
        logs.divert(None)
        if not self._thread.is_alive():
            with suppress(OSError):
                self._print()

    def _run(self) -> None:
        try:
            with Live(
                get_renderable=self._render,
                console=self._console,
                auto_refresh=False,
                transient=True,
            ) as live:
                closing = False
                while not closing:
                    # One more pass after `close`: finals may have come meanwhile.
                    closing = self._closing.wait(_REFRESH_S)
                    self._print()
                    live.refresh()
        except OSError:  # the terminal is gone; the service goes on
            logs.divert(None)

    def _print(self) -> None:
        waiting: list[Text] = []
        while not self._printed.empty():
            if (text := self._printed.get()) is not None:
                waiting.append(text)
            else:
                # Text queued before the wipe is off the record as well, and is not printed.
                waiting.clear()
                self._console.control(_WIPE)
        if waiting:  # in one call: each print draws the live lines again
            self._console.print(*waiting, sep="\n", soft_wrap=True)

    def _render(self) -> RenderableType:
        # There are four lines below. An open caption takes four: two for each language.
        shown = max(1, min(_OPEN_CAPTIONS, (self._console.height - 5) // 4))
        # A low terminal shows fewer captions: lines above its top cannot be wiped.
        texts = [text for each in list(self._open.values())[-shown:] for text in _partial(each)]
        return Group(
            *(line for text in texts for line in self._end(text)),
            Rule(style="dim"),
            self._header(),
            level_bar(self._level),
            self._latency(),
        )

    def _end(self, text: Text) -> Iterable[Text]:
        """Return the last two lines of a text that may be longer."""
        lines = text.wrap(self._console, self._console.width - 1)
        return lines if len(lines) <= 2 else (Text.assemble("…", lines[-2]), lines[-1])

    def _header(self) -> Text:
        state, reason = self._state
        parts = [
            (f"{state} ", _STYLES.get(state, "bold")),
            (f"{reason} ", "yellow"),
            (f"{self._address} {self._mode}", "dim"),
        ]
        if self._fault is not None:
            parts.append((f" {self._fault.stage}: {self._fault.code}", "red"))
        return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")

    def _latency(self) -> Text:
        record = self._record  # read once: the event loop may replace it
        if record is None:
            return Text("no final yet", "dim")
        stages = (
            f"{name} {took_ms:.0f}"
            for name, key in SHORT_STAGES.items()
            if (took_ms := getattr(record, key)) is not None
        )
        after_ms = record.last_syllable_to_final_ms or 0.0
        return Text.assemble(
            f"final {after_ms:.0f} ms after the last syllable: ",
            (", ".join(stages), "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )


def _partial(message: CaptionMessage) -> Iterable[Text]:
    yield Text(_printable(message.source.text), "dim")
    target = Text(_printable(message.target.text), "italic")
    # `stable` counts code points, and `_printable` keeps the length for this reason.
    target.stylize("dim", message.stable)
    yield target


def _final(message: CaptionMessage) -> Text:
    mark = f"{clock(message.start_s)} "
    if not message.target.text:
        return Text(f"{mark}caption {message.id} was taken away", "dim")
    return Text.assemble(
        (f"{mark}{_printable(message.source.text)}\n", "dim"),
        (f"{' ' * len(mark)}{_printable(message.target.text)}", "bold"),
        (f"  {message.target.engine}", "dim"),
    )


def _printable(text: str) -> str:
    """Return the text with terminal control characters replaced; the length stays the same."""
    return "".join(sign if sign.isprintable() else " " for sign in text)

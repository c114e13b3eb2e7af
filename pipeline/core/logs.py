"""Logs on standard error: sentences on a terminal, JSON lines for everything else.

The program logs with structlog. Logs of libraries (standard `logging`) go the same way, from
`warning` up. While a screen owns the terminal, lines go through it (`divert`).
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import orjson
import structlog
from structlog.typing import EventDict, Processor

from pipeline.core.log_sentences import sentence

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "console", "json"]

_ADDRESS = "pipeline.address"
_OWN = "pipeline"
"""Loggers below this name are the program's own."""


class _Handler(logging.Handler):
    """Writes lines to standard error as it is now (tests replace it), or to `to`."""

    to: Callable[[str], None] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
            if not line:  # nothing for people
                return
            # Read once: the screen's thread may release the terminal meanwhile. `handle` holds a
            # lock around this code, so lines of two threads never mix.
            if (to := self.to) is not None:
                to(line)
            else:
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()
        except Exception:  # noqa: BLE001 - a log line must not break the code that logs it
            self.handleError(record)


_handler = _Handler()


def configure_quietly(level: Level, format: Format) -> None:  # noqa: A002 - the setting's name
    """Send only warnings and worse, for a command that prints its own output; keep "debug"."""
    configure("warning" if level == "info" else level, format)


def configure(level: Level, format: Format) -> None:  # noqa: A002 - the setting's name
    """Send all logs to standard error, as sentences, lines with fields ("console") or JSON.

    "auto" is sentences on a terminal and JSON elsewhere. Level "debug" shows fields, not sentences.
    """
    terminal = sys.stderr.isatty()
    form = format if format != "auto" else "sentences" if terminal else "json"
    if form == "sentences" and level == "debug":
        form = "console"
    # As on no-color.org: any value that is not empty counts.
    colors = terminal and not os.environ.get("NO_COLOR")
    # Local time for people, UTC for programs that compare machines.
    stamper = structlog.processors.TimeStamper
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        stamper("iso", utc=True, key="utc") if form == "json" else stamper("%H:%M:%S", utc=False),
    ]
    _handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_RENDERED[form](colors),
            ],
        )
    )
    # Without `cache_logger_on_first_use`, so that a reload also changes existing loggers.
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger(_OWN).setLevel(number)
    logging.getLogger(_ADDRESS).setLevel(logging.INFO)  # see `serving`
    root = logging.getLogger()
    # Libraries log much at `info` that means nothing to a church.
    root.setLevel(number if level == "debug" else max(number, logging.WARNING))
    if _handler not in root.handlers:  # a reload of the settings calls this again
        root.addHandler(_handler)
    # Python's warnings too: without the handler they would be written across the terminal screen.
    logging.captureWarnings(capture=True)


def serving(address: str, session: Path | None = None) -> None:
    """Log the pages' address at any level: only this line tells the real port for port 0."""
    # An absolute path: the reader of the line may be in another folder.
    more = {"session": str(session.resolve())} if session else {}
    structlog.get_logger(_ADDRESS).info("serving", address=address, **more)


def divert(to: Callable[[str], None] | None) -> None:
    """Send every line, without its line feed, to `to`; None restores standard error."""
    _handler.to = to


def _sentences(colors: bool) -> list[Processor]:
    def render(_: object, method: str, event: EventDict) -> str:
        name, at, trace = event.pop("event"), event.pop("timestamp"), event.pop("exception", "")
        for key in ("level", "logger"):
            event.pop(key)
        said = sentence(str(name), event)
        if not said:
            return ""
        before, after = _SHADES.get(method, ("", "")) if colors else ("", "")
        at = f"{structlog.dev.DIM}{at}{structlog.dev.RESET_ALL}" if colors else at
        return "\n".join(filter(None, (f"{at} {before}{said}{after}", trace)))

    return [structlog.processors.format_exc_info, render]


def _console(colors: bool) -> list[Processor]:
    return [
        structlog.dev.ConsoleRenderer(
            colors=colors, exception_formatter=structlog.dev.plain_traceback
        )
    ]


def _json(_: bool) -> list[Processor]:
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(_dumps)]


_SHADES = {
    "warning": (structlog.dev.YELLOW, structlog.dev.RESET_ALL),
    "error": (structlog.dev.RED, structlog.dev.RESET_ALL),
    "critical": (structlog.dev.RED, structlog.dev.RESET_ALL),
}
_RENDERED: dict[str, Callable[[bool], list[Processor]]] = {
    "sentences": _sentences,
    "console": _console,
    "json": _json,
}


def _dumps(event: Any, **_: Any) -> str:
    # Accept any value and any key: an unwritable line would hide its event.
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()

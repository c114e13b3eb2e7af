"""The daemon's output for the person at the terminal: captions, level, state, times.

A live view on a terminal, log lines elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog
from rich.console import Console, RenderableType

from pipeline.cli.live_screen import RichScreen, level_bar
from pipeline.core.types import State
from pipeline.daemon.context.sinks import Screen
from pipeline.protocol.caption import CaptionMessage

__all__ = ["LineScreen", "RichScreen", "Screen", "level_bar", "make_screen"]

log = structlog.get_logger()


def make_screen(at_desk: Callable[[str], None] | None = None) -> Screen:
    """Return a RichScreen when standard output is a terminal that can do it, else a LineScreen.

    `at_desk` is called with the address of the operator's page when that is up.
    """
    console = Console()
    # A dumb terminal cannot move its cursor: the live lines would fill it.
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
        """Log a final; its words only for those who ask for "debug".

        Logs are kept by others, who cannot be told to forget what turns out to be off the record.
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
        Console(width=100).print(what)  # in a pipe rich would take 80 columns and break the table

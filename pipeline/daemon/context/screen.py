"""The interface of a terminal that shows a service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import RenderableType

from pipeline.captions.redaction import Redaction
from pipeline.captions.sink import Removed, Sink
from pipeline.core.types import Mode


class Screen(Sink):
    """A terminal or its substitute. Called on the event loop, so no method may wait."""

    at_desk: Callable[[str], None] | None = None
    """Called with the address of the operator's page when the page is up."""

    def on_redaction(self, redaction: Redaction, removed: Removed) -> None:
        """Forget the speech of a period, where what has been printed can be removed."""

    def show_address(self, address: str, mode: Mode, folder: Path) -> None:
        """Show the address of the pages: the server is up."""

    def show_operator_page(self, page: str, token: str) -> None:  # noqa: ARG002 - for screens
        """Show the address of the operator's page, and where its token is kept."""
        if self.at_desk is not None:
            self.at_desk(page)

    def show_summary(self, what: RenderableType) -> None:
        """Print the session's result, after `close`."""

    def close(self) -> None:
        """Leave the terminal as it was. Harmless when called twice."""

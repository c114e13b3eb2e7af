"""The protocol of what shows a service to the person at the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from rich.console import RenderableType

from pipeline.core.types import Fault, Level, Mode, State
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.utterance import UtteranceRecord


class Screen(Protocol):
    """A terminal or what stands in for it. Called on the event loop, so nothing may wait."""

    def started(self, address: str, mode: Mode, folder: Path) -> None:
        """The server is up."""

    def operator(self, page: str, token: str) -> None:
        """Where the operator's page is, and where its token is kept."""

    def caption(self, message: CaptionMessage) -> None:
        """A caption is new or has changed."""

    def utterance(self, record: UtteranceRecord) -> None:
        """An utterance is done."""

    def state(self, state: State, reason: str) -> None:
        """The daemon's state or its reason has changed."""

    def level(self, level: Level) -> None:
        """How loud the input is."""

    def fault(self, fault: Fault) -> None:
        """Something went wrong; the log has it too."""

    def purge(self) -> None:
        """Show nothing any more of what was said until now."""

    def summary(self, what: RenderableType) -> None:
        """Print the session's result, after `close`."""

    def close(self) -> None:
        """Leave the terminal as it was. Harmless when called twice."""

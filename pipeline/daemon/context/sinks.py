"""The form of all that is told what happens in a service: record, pages, metrics, terminal.

Each is told the same things in the same order, and takes what it can use. `lang` is the target
language of the board that a caption is on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from rich.console import RenderableType

from pipeline.captions.redaction import Redaction
from pipeline.core.reports import Fault, Level, SongChanged, SourceChanged
from pipeline.core.types import Caption, Mode, Pcm, State
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.utterance import CompareRecord, TranslationRecord, UtteranceRecord

Removed: TypeAlias = Mapping[str, Sequence[CaptionMessage]]
"""By target language, the messages that empty captions on displays."""


class Sink:
    """Ignores everything. Called on the event loop, so no method may wait."""

    def on_state(self, state: State, reason: str) -> None:
        """Take the daemon's state or its reason, which has changed."""

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Take a caption that is new or has changed."""

    def on_notice(self, texts: dict[str, str]) -> None:
        """Take the notice that stands from now on, by language; empty: none does."""

    def on_resumable(self, caption_id: int, lang: str) -> None:
        """Know of the final that follows that it may change until its utterance's record comes."""

    def on_translated(self, caption: Caption) -> None:
        """Take the engines' caption behind a message that has just gone out."""

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Take the record of an utterance that is done, which tells of the first target."""

    def on_translation(self, record: TranslationRecord) -> None:
        """Take what is to be recorded of an utterance in another target language."""

    def on_settled(self, message: CaptionMessage, spoken_utc: datetime, lang: str) -> None:
        """Take what the board shows of a caption to which speech can no longer return.

        It may be an operator's text, or empty where the caption is hidden. `spoken_utc` is when it
        began to be spoken.
        """

    def on_sound(self, record: UtteranceRecord, pcm: Pcm) -> None:
        """Take the samples of an utterance that is done."""

    def on_comparison(self, record: CompareRecord) -> None:
        """Take the record of a second final."""

    def on_level(self, level: Level) -> None:
        """Take the loudness of the input."""

    def on_fault(self, fault: Fault) -> None:
        """Take an error that the service goes on after."""

    def on_source(self, change: SourceChanged) -> None:
        """Take the news that the microphone is lost, or back."""

    def on_song(self, change: SongChanged) -> None:
        """Take the news that captions are held because of song, or no longer."""

    def on_redaction(self, redaction: Redaction, removed: Removed) -> None:
        """Forget what was said in a stretch of time; `removed` takes its captions off displays."""


class Screen(Sink):
    """A terminal or what stands in for it. Called on the event loop, so no method may wait."""

    at_desk: Callable[[str], None] | None = None
    """Called with the address of the operator's page when that is up."""

    def show_address(self, address: str, mode: Mode, folder: Path) -> None:
        """Tell where the pages are: the server is up."""

    def show_operator_page(self, page: str, token: str) -> None:  # noqa: ARG002 - for screens
        """Tell where the operator's page is, and where its token is kept."""
        if self.at_desk is not None:
            self.at_desk(page)

    def show_summary(self, what: RenderableType) -> None:
        """Print the session's result, after `close`."""

    def close(self) -> None:
        """Leave the terminal as it was. Harmless when called twice."""

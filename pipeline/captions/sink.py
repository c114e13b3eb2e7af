"""The interface of everything that receives a service's events: record, pages, metrics, terminal.

Each sink gets the same events in the same order, and uses those that it needs. `lang` is the
target language of the board that a caption is on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from pipeline.captions.redaction import Redaction
from pipeline.core.reports import Fault, Level, SongChanged, SourceChanged
from pipeline.core.types import Caption, Pcm, State
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.utterance import CompareRecord, TranslationRecord, UtteranceRecord

Removed: TypeAlias = Mapping[str, Sequence[CaptionMessage]]
"""The messages that empty captions on displays, by target language."""


class Sink:
    """Ignores nearly everything. Called on the event loop, so no method may wait."""

    def on_state(self, state: State, reason: str) -> None:  # noqa: ARG002 - for operators
        """Take a change of the daemon's state or its reason."""
        # When a service is over, its last finals may still come, and nobody has unblanked.
        if state not in ("ended", "fault"):
            self.on_blank(is_blank=state == "blank")

    def on_blank(self, *, is_blank: bool) -> None:
        """Take whether the displays are blank."""

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Take a new or changed caption."""

    def on_notice(self, texts: dict[str, str]) -> None:
        """Take the new notice, by language; empty: there is no notice now."""

    def on_resumable(self, caption_id: int, lang: str) -> None:
        """Note that the final that follows may change until its utterance's record comes."""

    def on_translated(self, caption: Caption) -> None:
        """Take the engines' caption for a message that has just been published."""

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Take the record of a finished utterance, with the first target's translation."""

    def on_translation(self, record: TranslationRecord) -> None:
        """Take an utterance's record for another target language."""

    def on_settled(self, message: CaptionMessage, spoken_utc: datetime, lang: str) -> None:
        """Take the board's message of a caption to which speech can no longer return.

        It may be an operator's text, or empty if the caption is hidden. `spoken_utc` is the start
        of its speech.
        """

    def on_sound(self, record: UtteranceRecord, pcm: Pcm) -> None:
        """Take the samples of a finished utterance."""

    def on_comparison(self, record: CompareRecord) -> None:
        """Take the record of a second final."""

    def on_level(self, level: Level) -> None:
        """Take the loudness of the input."""

    def on_fault(self, fault: Fault) -> None:
        """Take an error that does not end the service."""

    def on_source(self, change: SourceChanged) -> None:
        """Take the event that the microphone is lost or back."""

    def on_song(self, change: SongChanged) -> None:
        """Take the event that captions are held because of song, or no longer held."""

    def on_redaction(self, redaction: Redaction, removed: Removed) -> None:  # noqa: ARG002
        """Forget the speech of a period; `removed` removes its captions from displays."""
        # A display has no redaction: a newer, empty version removes the caption.
        for lang, messages in removed.items():
            for message in messages:
                self.on_caption(message, lang)

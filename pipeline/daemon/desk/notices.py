"""The notice that operators put on every screen: it stays until it is taken away or replaced.

Belongs to the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.timestamps import utc_now
from pipeline.core.types import Caption
from pipeline.daemon.captions.retranslations import Retranslations
from pipeline.daemon.context.sinks import Sink
from pipeline.protocol.caption import SourceText
from pipeline.records.events import NoticeEvent
from pipeline.session.recorder import SessionRecorder


class Notices:
    """Holds the notice, and records each."""

    def __init__(
        self,
        sinks: Sequence[Sink],
        recorder: SessionRecorder,
        retranslations: Sequence[Retranslations],
        source: str,
    ) -> None:
        """`retranslations`: those of each target language; `source` is the spoken one."""
        self._sinks = sinks
        self._recorder = recorder
        self._retranslations = retranslations
        self._source = source
        self._since_s = 0.0
        self.texts: dict[str, str] = {}
        """The one that stands, by language; empty: none does."""

    def put(self, text: str, lang: str, at_s: float) -> None:
        """Show a notice; one in the spoken language is translated.

        `at_s`: where in the session's audio it is.
        """
        self.show({lang: text}, at_s)
        if lang != self._source:
            return
        shown = self.texts

        def translated(made: Caption) -> None:
            nonlocal shown
            # By identity: a later notice may say the very same.
            if self.texts is shown:
                shown = {**shown, made.lang: made.text}
                self.show(shown, at_s)

        for each in self._retranslations:
            each.of_text(SourceText(lang, text), translated)

    def show(self, texts: dict[str, str], at_s: float) -> None:
        """Show a notice as it is; one without texts takes it away."""
        self._tell(texts, at_s)
        self._recorder.record(NoticeEvent(utc=utc_now(), at_s=round(at_s, 3), texts=texts))

    def forget(self, from_s: float) -> None:
        """Take away one that was put up since `from_s` of the audio: that is off the record."""
        if self.texts and self._since_s >= from_s:
            # Not recorded: the purge takes the notice's own line out of the record.
            self._tell({}, from_s)

    def restore(self, event: NoticeEvent) -> None:
        """Show the one of the session that goes on."""
        self._tell(event.texts, event.at_s)

    def _tell(self, texts: dict[str, str], at_s: float) -> None:
        self.texts, self._since_s = texts, at_s
        for sink in self._sinks:
            sink.on_notice(texts)

"""Sinks for the news of a service: its record, the pages, the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from pipeline.captions.redaction import Redaction
from pipeline.core.metrics import Metrics
from pipeline.core.reports import Fault, Level, SongChanged, SourceChanged
from pipeline.core.timestamps import utc_now
from pipeline.core.types import Caption, Pcm, State
from pipeline.daemon.context.sinks import Sink
from pipeline.outputs.feed import OutputFeed
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.messages import NoticeMessage
from pipeline.publish.publisher import Publisher
from pipeline.records.comparison import CompareRecord
from pipeline.records.events import FaultEvent, SongEvent, SourceEvent
from pipeline.records.translation import translation_record
from pipeline.records.utterance import UtteranceRecord
from pipeline.server.hub import Hub
from pipeline.server.live_subtitles import LiveSubtitles
from pipeline.session.recorder import SessionRecorder

_OVER: tuple[State, ...] = ("ended", "fault")
"""States of a service that is over. Its last finals may still come, and nobody has unblanked."""


class RecordSink(Sink):
    """Writes to the session's folder. Redactions reach the recorder earlier than any sink."""

    def __init__(self, recorder: SessionRecorder) -> None:
        self._recorder = recorder

    def on_caption(self, message: CaptionMessage) -> None:
        """Journal a final."""
        self._recorder.caption(message)

    def on_resumable(self, caption_id: int) -> None:
        """Let the transcripts wait for its record."""
        self._recorder.hold(caption_id)

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Write it."""
        self._recorder.record(record)

    def on_sound(self, record: UtteranceRecord, pcm: Pcm) -> None:
        """Write it, if the settings say so."""
        self._recorder.sound(record, pcm)

    def on_comparison(self, record: CompareRecord) -> None:
        """Write it."""
        self._recorder.record(record)

    def on_fault(self, fault: Fault) -> None:
        """Write it as an event."""
        self._recorder.record(FaultEvent(utc=utc_now(), **asdict(fault)))

    def on_source(self, change: SourceChanged) -> None:
        """Write it as an event."""
        self._recorder.record(SourceEvent(utc=utc_now(), **asdict(change)))

    def on_song(self, change: SongChanged) -> None:
        """Write it as an event."""
        self._recorder.record(SongEvent(utc=utc_now(), **asdict(change)))


class PageSink(Sink):
    """Sends to displays, and what concerns operators to their pages only."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def on_state(self, state: State, reason: str) -> None:
        """Tell every display."""
        self._hub.set_state(state, reason)

    def on_caption(self, message: CaptionMessage) -> None:
        """Show it on every display."""
        self._hub.publish(message)

    def on_notice(self, texts: dict[str, str]) -> None:
        """Show it on every display."""
        self._hub.set_notice(NoticeMessage(texts=texts))

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Show operators what it took."""
        self._hub.operators.utterance(record)

    def on_comparison(self, record: CompareRecord) -> None:
        """Show operators the second final."""
        self._hub.operators.compare(record)

    def on_level(self, level: Level) -> None:
        """Move operators' meters."""
        self._hub.operators.level(level.dbfs, level.clipped)

    def on_fault(self, fault: Fault) -> None:
        """Tell operators."""
        self._hub.operators.fault(fault)

    def on_redaction(self, redaction: Redaction, removed: Sequence[CaptionMessage]) -> None:
        """Take the captions off all displays, and the records off operators' pages."""
        # Before operators' records: the audience must not read it a moment longer.
        for message in removed:
            self._hub.publish(message)
        self._hub.operators.purge(redaction)


class LanguageRecordSink(Sink):
    """Writes what is about a further target language."""

    def __init__(self, recorder: SessionRecorder, lang: str) -> None:
        self._recorder = recorder
        self._lang = lang

    def on_caption(self, message: CaptionMessage) -> None:
        """Journal a final."""
        self._recorder.caption(message, self._lang)

    def on_resumable(self, caption_id: int) -> None:
        """Let the transcripts wait for its record."""
        self._recorder.hold(caption_id, self._lang)

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Write what of it is about the translation; the utterance is recorded already."""
        if (translation := translation_record(record, self._lang)) is not None:
            self._recorder.record(translation)


class LanguagePageSink(Sink):
    """Sends to the displays of a further target language."""

    def __init__(self, hub: Hub, lang: str) -> None:
        self._hub = hub
        self._lang = lang

    def on_caption(self, message: CaptionMessage) -> None:
        """Show it on every display of the language."""
        self._hub.publish(message, self._lang)

    def on_redaction(self, _: Redaction, removed: Sequence[CaptionMessage]) -> None:
        """Take the captions off the displays."""
        for message in removed:
            self._hub.publish(message, self._lang)


class LanguagePublishSink(Sink):
    """Hands the captions of one target language on to the church's stream."""

    def __init__(self, publisher: Publisher, lang: str) -> None:
        self._publisher = publisher
        self._lang = lang

    def on_caption(self, message: CaptionMessage) -> None:
        """Publish it."""
        self._publisher.offer(message, self._lang)

    def on_redaction(self, _: Redaction, removed: Sequence[CaptionMessage]) -> None:
        """Take the captions off all relays, and out of the stream."""
        for message in removed:
            self._publisher.offer(message, self._lang)


class PublishSink(LanguagePublishSink):
    """Hands what every display is sent on to the church's stream, and nothing else."""

    def on_state(self, state: State, reason: str) -> None:  # noqa: ARG002 - for operators
        """Publish the state, without its reason."""
        self._publisher.offer_state(state)

    def on_notice(self, texts: dict[str, str]) -> None:
        """Publish it."""
        self._publisher.offer_notice(texts)


class BlankSink(Sink):
    """Tells programs that show another language than the first when the displays are blank."""

    def __init__(self, feed: OutputFeed) -> None:
        self._feed = feed

    def on_state(self, state: State, reason: str) -> None:  # noqa: ARG002 - for operators
        """Clear their screens meanwhile."""
        # A service that ends while the displays are blank leaves these screens dark.
        if state not in _OVER:
            self._feed.on_blank(is_blank=state == "blank")


class LanguageOutputSink(Sink):
    """Hands the final captions of one target language to other programs."""

    def __init__(self, feed: OutputFeed) -> None:
        self._feed = feed

    def on_caption(self, message: CaptionMessage) -> None:
        """Show it, if it is final."""
        self._feed.on_caption(message)

    def on_settled(self, message: CaptionMessage, spoken_utc: datetime) -> None:
        """Send it where nothing can be taken back."""
        self._feed.on_settled(message, spoken_utc)

    def on_redaction(self, redaction: Redaction, removed: Sequence[CaptionMessage]) -> None:  # noqa: ARG002
        """Take it off their screens."""
        self._feed.on_redaction(removed)


class OutputSink(BlankSink, LanguageOutputSink):
    """Hands over those of the first target, or what was said, and the state."""


class LanguageSubtitleSink(Sink):
    """Puts the captions of one target language into the subtitles for streams."""

    def __init__(self, subtitles: LiveSubtitles, lang: str) -> None:
        self._subtitles = subtitles
        self._lang = lang

    def on_caption(self, message: CaptionMessage) -> None:
        """Put it there; it is seen when it is final."""
        self._subtitles.put(message, self._lang)

    def on_redaction(self, _: Redaction, removed: Sequence[CaptionMessage]) -> None:
        """Take the captions out of all segments."""
        for message in removed:
            self._subtitles.put(message, self._lang)


class SubtitleSink(LanguageSubtitleSink):
    """Puts the first target's captions there, and the state of all."""

    def on_state(self, state: State, reason: str) -> None:  # noqa: ARG002 - for operators
        """Leave out what is said while the displays are blank."""
        if state not in _OVER:
            self._subtitles.set_blank(is_blank=state == "blank")


class MetricsSink(Sink):
    """Counts and measures."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def on_translated(self, caption: Caption) -> None:
        """Count a caption by its engine."""
        kind = "final" if caption.final else "partial"
        self._metrics.captions.labels(kind, caption.engine).inc()

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Count an utterance and take its times."""
        self._metrics.utterance(
            corrections=len(record.corrections),
            filtered=record.filtered,
            stage_ms={
                "stt": record.stt_ms,
                "partial": record.partial_ms,
                "final": record.final_ms,
                "overhead": record.overhead_ms,
            },
            latency_ms={
                "partial": record.last_syllable_to_partial_ms,
                "final": record.last_syllable_to_final_ms,
            },
        )

    def on_fault(self, fault: Fault) -> None:
        """Count an engine's error."""
        self._metrics.engine_errors.labels(fault.stage).inc()

"""Where the events of a service go: to the pages, the metrics, and external outputs.

`open_gate` is the only gate for captions that leave our own pages: programs, streams, relays,
listeners. A rehearsal or a demonstration is not a service, and sends nothing outside.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipeline.captions.board import CaptionBoard
from pipeline.captions.redaction import Redaction
from pipeline.captions.sink import Removed, Sink
from pipeline.config.publishing import by_lang
from pipeline.config.schema import Settings
from pipeline.core.metrics import Metrics
from pipeline.core.reports import Fault, Level
from pipeline.core.types import Caption, Mode, State
from pipeline.engines.process.model_specs import speech_languages
from pipeline.outputs.feed import OutputFeed
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.messages import NoticeMessage
from pipeline.publish.publisher import Publisher
from pipeline.publish.stream import ServiceStatus
from pipeline.records.utterance import CompareRecord, UtteranceRecord
from pipeline.server.hub import Hub
from pipeline.server.streams.live_subtitles import LiveSubtitles
from pipeline.server.streams.voice_streams import VoiceStreams
from pipeline.voice.voice import Voice


class PageSink(Sink):
    """Sends to displays; sends operators' information only to operators' pages."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def on_state(self, state: State, reason: str) -> None:
        """Tell every display."""
        self._hub.set_state(state, reason)

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Show it on every display of its language."""
        self._hub.publish(message, lang)

    def on_notice(self, texts: dict[str, str]) -> None:
        """Show it on every display."""
        self._hub.set_notice(NoticeMessage(texts=texts))

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Show operators the times and measures."""
        # Only operators: times and measures mean nothing to an audience.
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

    def on_redaction(self, redaction: Redaction, removed: Removed) -> None:
        """Take the captions off all displays, and the records off operators' pages."""
        # Before operators' records: the audience must not see the text a moment longer.
        super().on_redaction(redaction, removed)
        self._hub.operators.purge(redaction)


class MetricsSink(Sink):
    """Counts and measures."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def on_translated(self, caption: Caption) -> None:
        """Count a caption by its engine."""
        kind = "final" if caption.final else "partial"
        # Labels with few values: Prometheus keeps a time series for every combination.
        self._metrics.captions.labels(kind, caption.engine).inc()

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Count an utterance and take its times."""
        metrics = self._metrics
        metrics.utterances.inc()
        metrics.corrections.inc(len(record.corrections))
        if record.filtered:
            metrics.filtered.labels(record.filtered).inc()
        for histogram, name, took_ms in (
            (metrics.stage, "stt", record.stt_ms),
            (metrics.stage, "partial", record.partial_ms),
            (metrics.stage, "final", record.final_ms),
            (metrics.stage, "overhead", record.overhead_ms),
            (metrics.latency, "partial", record.last_syllable_to_partial_ms),
            (metrics.latency, "final", record.last_syllable_to_final_ms),
        ):
            if took_ms is not None:  # not measured
                histogram.labels(name).observe(took_ms / 1000)

    def on_fault(self, fault: Fault) -> None:
        """Count an engine's error."""
        self._metrics.engine_errors.labels(fault.stage).inc()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """The outputs beyond our own pages. Each is off unless the settings ask for it."""

    publisher: Publisher | None = None
    outputs: Mapping[str, OutputFeed] = field(default_factory=dict)
    """The feeds for other programs, by language."""
    subtitles: LiveSubtitles | None = None
    voice: Voice | None = None
    voices: VoiceStreams | None = None

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """All of them that are on."""
        sinks = (*self.outputs.values(), self.subtitles, self.publisher, self.voice)
        return tuple(filter(None, sinks))


def open_gate(settings: Settings, boards: Sequence[CaptionBoard], mode: Mode) -> Outside:
    """Return the outputs that the settings ask for, not started yet."""
    if mode != "live":
        return Outside()
    publisher = subtitles = voice = voices = None
    if settings.publish.nats:
        status = ServiceStatus(
            session=boards[0].session,
            mode="live",
            source=boards[0].source,
            targets=settings.translate.langs,
            state="starting",
        )
        publisher = Publisher(settings.publish, status)
    if any(each.program == "hls" for each in settings.outputs):
        # Segment numbers must not go back, so the system clock (which may be set) is read once.
        ahead_s = time.time() - time.monotonic()
        subtitles = LiveSubtitles(boards, lambda: ahead_s + time.monotonic())
    if settings.speech.enabled:
        langs = speech_languages(settings)
        voices = VoiceStreams(langs, settings.speech.max_listeners)
        voice = Voice(langs, settings.speech.fastest, voices.heard)
        # Nobody listens yet, so what a resumed session has on its boards counts as said.
        for board in boards:
            for message in board.snapshot().messages:
                voice.on_caption(message, board.target)
    # If several languages are spoken, the first of them is a target as well.
    targets = settings.translate.langs
    last_id = max(board.last_id for board in boards)
    outputs = {
        lang: OutputFeed(
            named,
            lambda: datetime.now(UTC),
            lang,
            # The captions of the first target contain the source text.
            lang if lang in targets else targets[0],
            last_id=last_id,
        )
        for lang, named in by_lang(settings.outputs, settings.translate.target).items()
    }
    return Outside(
        publisher=publisher, outputs=outputs, subtitles=subtitles, voice=voice, voices=voices
    )

"""Sinks for the events of a service: the record, the pages, the metrics, and external outputs.

`open_gate` is the only gate for captions that leave our own pages: programs, streams, relays,
listeners. A rehearsal or a demonstration is not a service, and sends nothing outside.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from pipeline.captions.board import CaptionBoard
from pipeline.captions.redaction import Redaction
from pipeline.config.publishing import by_lang
from pipeline.config.schema import Settings
from pipeline.core.formats import utc_now
from pipeline.core.metrics import Metrics
from pipeline.core.reports import Fault, Level, SongChanged, SourceChanged
from pipeline.core.types import Caption, Mode, Pcm, State
from pipeline.daemon.context.sinks import Removed, Sink
from pipeline.engines.process.model_specs import speech_languages
from pipeline.outputs.feed import OutputFeed
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.messages import NoticeMessage
from pipeline.publish.publisher import Publisher
from pipeline.publish.stream import ServiceStatus
from pipeline.records.events import FaultEvent, SongEvent, SourceEvent
from pipeline.records.utterance import CompareRecord, TranslationRecord, UtteranceRecord
from pipeline.server.hub import Hub
from pipeline.server.streams.live_subtitles import LiveSubtitles
from pipeline.server.streams.voice_streams import VoiceStreams
from pipeline.session.recorder import SessionRecorder
from pipeline.voice.voice import Voice

_OVER: tuple[State, ...] = ("ended", "fault")
"""States of a finished service. Its last finals may still come, and nobody has unblanked."""


def take_back(sink: Sink, removed: Removed) -> None:
    """Send the messages that empty captions, like other messages."""
    # A display has no redaction: a newer, empty version removes the caption.
    for lang, messages in removed.items():
        for message in messages:
            sink.on_caption(message, lang)


class RecordSink(Sink):
    """Writes to the session folder. The recorder gets redactions before any sink."""

    def __init__(self, recorder: SessionRecorder) -> None:
        self._recorder = recorder

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Journal a final."""
        self._recorder.caption(message, lang)

    def on_resumable(self, caption_id: int, lang: str) -> None:
        """Hold the transcript files back until the caption's record comes."""
        self._recorder.hold(caption_id, lang)

    def on_utterance(self, record: UtteranceRecord) -> None:
        """Write it."""
        self._recorder.record(record)

    def on_translation(self, record: TranslationRecord) -> None:
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
        take_back(self, removed)
        self._hub.operators.purge(redaction)


class PublishSink(Sink):
    """Publishes to the church's stream what every display gets, and nothing else."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    def on_state(self, state: State, reason: str) -> None:  # noqa: ARG002 - for operators
        """Publish the state, without its reason."""
        self._publisher.offer_state(state)

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Publish it."""
        self._publisher.offer(message, lang)

    def on_notice(self, texts: dict[str, str]) -> None:
        """Publish it."""
        self._publisher.offer_notice(texts)

    def on_redaction(self, _: Redaction, removed: Removed) -> None:
        """Take the captions off all relays, and out of the stream."""
        take_back(self, removed)


class OutputSink(Sink):
    """Sends the final captions of one target language to other programs."""

    def __init__(self, feed: OutputFeed, lang: str) -> None:
        """`lang` is the target language whose captions have the text that `feed` shows."""
        self._feed = feed
        self._lang = lang

    def on_state(self, state: State, reason: str) -> None:  # noqa: ARG002 - for operators
        """Clear their screens while the displays are blank."""
        # A service that ends while the displays are blank leaves these screens dark.
        if state not in _OVER:
            self._feed.on_blank(is_blank=state == "blank")

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Show it, if it is final."""
        if lang == self._lang:
            self._feed.on_caption(message)

    def on_settled(self, message: CaptionMessage, spoken_utc: datetime, lang: str) -> None:
        """Send it to outputs that cannot take a caption back."""
        if lang == self._lang:
            self._feed.on_settled(message, spoken_utc)

    def on_redaction(self, _: Redaction, removed: Removed) -> None:
        """Take the captions off their screens."""
        # Not by `take_back`: captions queued for a slow program must go as well.
        self._feed.on_redaction(removed[self._lang])


class SubtitleSink(Sink):
    """Puts captions into the subtitles for streams."""

    def __init__(self, subtitles: LiveSubtitles) -> None:
        self._subtitles = subtitles

    def on_state(self, state: State, reason: str) -> None:  # noqa: ARG002 - for operators
        """Leave out speech while the displays are blank."""
        if state not in _OVER:
            self._subtitles.set_blank(is_blank=state == "blank")

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Add it; it becomes visible when it is final."""
        self._subtitles.put(message, lang)

    def on_redaction(self, _: Redaction, removed: Removed) -> None:
        """Take the captions out of all segments."""
        take_back(self, removed)


class VoiceSink(Sink):
    """Has captions spoken to listeners."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice

    def on_state(self, state: State, reason: str) -> None:  # noqa: ARG002 - for operators
        """Be silent while the displays are blank."""
        if state not in _OVER:
            self._voice.set_blank(is_blank=state == "blank")

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Speak its settled part."""
        self._voice.take(message, lang)

    def on_notice(self, texts: dict[str, str]) -> None:
        """Speak it once."""
        self._voice.notice(texts)

    def on_redaction(self, _: Redaction, removed: Removed) -> None:
        """Drop the speech that nobody has heard yet."""
        take_back(self, removed)
        self._voice.forget()


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

    def sinks(self, langs: Sequence[str]) -> tuple[Sink, ...]:
        """Return a sink for each output. `langs`: the target languages in order."""
        return (
            # The captions of the first target contain the source text.
            *(
                OutputSink(feed, lang if lang in langs else langs[0])
                for lang, feed in self.outputs.items()
            ),
            *([SubtitleSink(self.subtitles)] if self.subtitles else []),
            *([PublishSink(self.publisher)] if self.publisher else []),
            *([VoiceSink(self.voice)] if self.voice else []),
        )


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
                voice.take(message, board.target)
    # If several languages are spoken, the first of them is a target as well.
    targets = settings.translate.langs
    last_id = max(board.last_id for board in boards)
    outputs = {
        lang: OutputFeed(
            named,
            lambda: datetime.now(UTC),
            "target" if lang in targets else "source",
            lang,
            last_id,
        )
        for lang, named in by_lang(settings.outputs, settings.translate.target).items()
    }
    return Outside(
        publisher=publisher, outputs=outputs, subtitles=subtitles, voice=voice, voices=voices
    )

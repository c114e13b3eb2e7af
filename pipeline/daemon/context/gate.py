"""The one gate of what leaves our own pages: other programs, streams, relays, listeners.

Whatever is not a service (a rehearsal, a demonstration) sends nothing anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipeline.captions.board import CaptionBoard
from pipeline.config.publishing import by_lang
from pipeline.config.schema import Settings
from pipeline.core.types import Mode
from pipeline.daemon.context.service_sinks import OutputSink, PublishSink, SubtitleSink, VoiceSink
from pipeline.daemon.context.sinks import Sink
from pipeline.engines.process.model_specs import speech_languages
from pipeline.outputs.feed import OutputFeed
from pipeline.publish.publisher import Publisher
from pipeline.publish.stream import ServiceStatus
from pipeline.server.streams.live_subtitles import LiveSubtitles
from pipeline.server.streams.voice_streams import VoiceStreams
from pipeline.voice.voice import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What takes captions beyond our own pages; nothing, unless the settings ask for it."""

    publisher: Publisher | None = None
    outputs: Mapping[str, OutputFeed] = field(default_factory=dict)
    """By language, for other programs."""
    subtitles: LiveSubtitles | None = None
    """Those for streams."""
    voice: Voice | None = None
    """What speaks the captions."""
    voices: VoiceStreams | None = None
    """Who listens to it."""

    def sinks(self, langs: Sequence[str]) -> tuple[Sink, ...]:
        """Return a sink for each. `langs`: the target languages, the first one first."""
        return (
            # What was said is in the captions of the first target.
            *(
                OutputSink(feed, lang if lang in langs else langs[0])
                for lang, feed in self.outputs.items()
            ),
            *([SubtitleSink(self.subtitles)] if self.subtitles else []),
            *([PublishSink(self.publisher)] if self.publisher else []),
            *([VoiceSink(self.voice)] if self.voice else []),
        )


def open_gate(settings: Settings, boards: Sequence[CaptionBoard], mode: Mode) -> Outside:
    """Return what the settings ask for; nothing of it has begun."""
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
        # Numbers of segments must not go back, as the computer's clock may when it is set.
        ahead_s = time.time() - time.monotonic()
        subtitles = LiveSubtitles(boards, lambda: ahead_s + time.monotonic())
    if settings.speech.enabled:
        langs = speech_languages(settings)
        voices = VoiceStreams(langs, settings.speech.max_listeners)
        voice = Voice(langs, settings.speech.fastest, voices.heard)
    # Where several languages are spoken the first of them is a target, too.
    targets = settings.translate.langs
    outputs = {
        lang: OutputFeed(
            named, lambda: datetime.now(UTC), "target" if lang in targets else "source", lang
        )
        for lang, named in by_lang(settings.outputs, settings.translate.target).items()
    }
    return Outside(
        publisher=publisher, outputs=outputs, subtitles=subtitles, voice=voice, voices=voices
    )

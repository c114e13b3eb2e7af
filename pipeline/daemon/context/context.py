"""The objects that all parts of the daemon work on: one value, made first and handed down."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.captions.board import CaptionBoard
from pipeline.config.publishing import by_lang
from pipeline.config.schema import Settings
from pipeline.core.metrics import Metrics
from pipeline.core.reports import Emit
from pipeline.core.types import Mode
from pipeline.daemon.context.held_finals import HeldFinals, open_held_finals
from pipeline.daemon.context.opening import OpenSession, open_session
from pipeline.daemon.context.service_sinks import (
    MetricsSink,
    OutputSink,
    PageSink,
    PublishSink,
    RecordSink,
    SubtitleSink,
)
from pipeline.daemon.context.sinks import Screen, Sink
from pipeline.daemon.context.state import DaemonState, StateAnnouncer
from pipeline.daemon.context.systemd import Notifier
from pipeline.daemon.context.verse_suggestions import VerseSuggestions, open_verse_suggestions
from pipeline.dictionary.store import Dictionary
from pipeline.outputs.feed import OutputFeed
from pipeline.protocol.caption import CaptionMessage
from pipeline.publish.publisher import Publisher
from pipeline.publish.stream import ServiceStatus
from pipeline.server.hub import Hub
from pipeline.server.live_subtitles import LiveSubtitles
from pipeline.server.operator_token import token_in_force, token_place
from pipeline.server.volunteers import Volunteers
from pipeline.session.past_services import PastServices
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import Degradation


@dataclass(frozen=True, slots=True)
class Target:
    """What the captions of one target language work on."""

    board: CaptionBoard
    verses: VerseSuggestions
    doubts: HeldFinals
    sinks: tuple[Sink, ...]
    """The first is the record: what was shown must outlive us."""

    @property
    def lang(self) -> str:
        """The language."""
        return self.board.target


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonContext:
    """The facts, and where results go. Nothing in it calls a part of the daemon back."""

    facts: DaemonState
    announcer: StateAnnouncer
    degradation: Degradation
    dictionary: Dictionary
    recorder: SessionRecorder
    hub: Hub
    metrics: Metrics
    notifier: Notifier
    publisher: Publisher | None
    """None where nothing is published."""
    outputs: Mapping[str, OutputFeed]
    """By language, for other programs; empty where none gets anything."""
    subtitles: LiveSubtitles | None
    """Those for streams; None where there are none."""
    token_place: str
    """Where the operator's token is kept, for people."""
    sinks: tuple[Sink, ...]
    """All of them; those of `targets[0]`."""
    targets: tuple[Target, ...]
    """One a target language, in the order of the settings."""

    @property
    def boards(self) -> tuple[CaptionBoard, ...]:
        """The boards of all targets."""
        return tuple(target.board for target in self.targets)

    def captions(self) -> dict[str, tuple[CaptionMessage, ...]]:
        """Return what displays can be shown now, by target language."""
        return {board.target: board.snapshot().messages for board in self.boards}


def open_context(
    settings: Settings, dictionary: Dictionary, mode: Mode, screen: Screen, emit: Emit
) -> tuple[DaemonContext, OpenSession]:
    """Open a session and make what all parts work on. Raises ServerError, SessionError."""
    session = open_session(settings, mode, emit)
    return make_context(settings, session, dictionary, mode, screen), session


def make_context(
    settings: Settings, session: OpenSession, dictionary: Dictionary, mode: Mode, screen: Screen
) -> DaemonContext:
    """Make it for a session. Raises ServerError, SessionError (token-unusable, …)."""
    facts = DaemonState(
        mode,
        settings.operator.off_record_s,
        song_mode=settings.church.song,
        hold_doubtful=settings.church.hold_doubtful,
        hold_s=settings.church.hold_s,
    )
    metrics, degradation = Metrics(), Degradation()
    token = token_in_force(settings.operator.token, Path(settings.session.directory))
    publisher, outputs, subtitles = _beyond_the_pages(settings, session, mode)
    hub = Hub(
        session.boards,
        settings.server,
        mode=mode,
        token=token,
        volunteers=Volunteers(Path(settings.session.directory)),
        metrics=metrics,
        past=PastServices(Path(settings.session.directory), running=session.recorder.folder.name),
        subtitles=subtitles,
        church=settings.church,
    )
    record, pages, first = RecordSink(session.recorder), PageSink(hub), session.boards[0].target
    langs = [board.target for board in session.boards]
    outside: tuple[Sink, ...] = (
        # What was said is in the captions of the first target.
        *(OutputSink(feed, lang if lang in langs else first) for lang, feed in outputs.items()),
        *([SubtitleSink(subtitles)] if subtitles else []),
        *([PublishSink(publisher)] if publisher else []),
    )
    sinks = (record, pages, MetricsSink(metrics), screen, *outside)

    def target(board: CaptionBoard, alone: Settings) -> Target:
        # Operators are asked about its verses only; figures and the terminal are of it as well.
        is_first = board is session.boards[0]
        verses = open_verse_suggestions(
            alone, hub.operators.suggest if is_first else lambda _: None
        )
        seen = sinks if is_first else (record, pages, *outside)
        return Target(board, verses, open_held_finals(facts, hub), seen)

    alone = settings.for_each_target()
    return DaemonContext(
        facts=facts,
        announcer=StateAnnouncer(facts, degradation, session.recorder, sinks),
        degradation=degradation,
        dictionary=dictionary,
        recorder=session.recorder,
        hub=hub,
        metrics=metrics,
        notifier=Notifier(),
        publisher=publisher,
        outputs=outputs,
        subtitles=subtitles,
        token_place=token_place(settings.operator.token, Path(settings.session.directory)),
        sinks=sinks,
        targets=tuple(map(target, session.boards, alone)),
    )


def _beyond_the_pages(
    settings: Settings, session: OpenSession, mode: Mode
) -> tuple[Publisher | None, dict[str, OutputFeed], LiveSubtitles | None]:
    """Return what takes captions beyond our own pages, as the settings ask for it.

    The one gate: whatever is not a service (a rehearsal, a demonstration) sends nothing anywhere.
    """
    if mode != "live":
        return None, {}, None
    publisher = subtitles = None
    if settings.publish.nats:
        board = session.boards[0]
        status = ServiceStatus(
            session=board.session,
            mode="live",
            source=board.source,
            targets=settings.translate.langs,
            state="starting",
        )
        publisher = Publisher(settings.publish, status)
    if any(each.program == "hls" for each in settings.outputs):
        # Numbers of segments must not go back, as the computer's clock may when it is set.
        ahead_s = time.time() - time.monotonic()
        subtitles = LiveSubtitles(session.boards, lambda: ahead_s + time.monotonic())
    source = settings.translate.source
    outputs = {
        lang: OutputFeed(named, lambda: datetime.now(UTC), "source" if lang == source else "target")
        for lang, named in by_lang(settings.outputs, settings.translate.target).items()
    }
    return publisher, outputs, subtitles

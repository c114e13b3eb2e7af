"""The objects that all parts of the daemon work on: one value, made first and handed down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Settings
from pipeline.core.metrics import Metrics
from pipeline.core.reports import Emit
from pipeline.core.types import Mode
from pipeline.daemon.context.gate import Outside, open_gate
from pipeline.daemon.context.held_finals import HeldFinals, open_held_finals
from pipeline.daemon.context.opening import OpenSession, open_session
from pipeline.daemon.context.service_sinks import (
    MetricsSink,
    PageSink,
    RecordSink,
)
from pipeline.daemon.context.sinks import Screen, Sink
from pipeline.daemon.context.state import DaemonState, StateAnnouncer
from pipeline.daemon.context.systemd import Notifier
from pipeline.daemon.context.verse_suggestions import VerseSuggestions, open_verse_suggestions
from pipeline.dictionary.store import Dictionary
from pipeline.protocol.caption import CaptionMessage
from pipeline.server.hub import Hub
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
    outside: Outside
    """What takes captions beyond our own pages."""
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
        spoken=settings.translate.spoken if settings.translate.also_spoken else (),
        hides_interpreter=settings.translate.interpreter == "hidden",
        hold_doubtful=settings.church.hold_doubtful,
        hold_s=settings.church.hold_s,
    )
    metrics, degradation = Metrics(), Degradation()
    token = token_in_force(settings.operator.token, Path(settings.session.directory))
    outside = open_gate(settings, session.boards, mode)
    hub = Hub(
        session.boards,
        settings.server,
        mode=mode,
        token=token,
        volunteers=Volunteers(Path(settings.session.directory)),
        metrics=metrics,
        past=PastServices(Path(settings.session.directory), running=session.recorder.folder.name),
        subtitles=outside.subtitles,
        voices=outside.voices,
        church=settings.church,
    )
    record, pages = RecordSink(session.recorder), PageSink(hub)
    beyond = outside.sinks([board.target for board in session.boards])
    sinks = (record, pages, MetricsSink(metrics), screen, *beyond)

    def target(board: CaptionBoard, alone: Settings) -> Target:
        # Operators are asked about its verses only; figures and the terminal are of it as well.
        is_first = board is session.boards[0]
        verses = open_verse_suggestions(
            alone, hub.operators.suggest if is_first else lambda _: None
        )
        seen = sinks if is_first else (record, pages, *beyond)
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
        outside=outside,
        token_place=token_place(settings.operator.token, Path(settings.session.directory)),
        sinks=sinks,
        targets=tuple(map(target, session.boards, alone)),
    )

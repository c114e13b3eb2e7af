"""The objects that all parts of the daemon work on: one value, made first and handed down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Settings
from pipeline.core.metrics import Metrics
from pipeline.core.types import Mode
from pipeline.daemon.doubt_desk import DoubtDesk, open_doubt_desk
from pipeline.daemon.opening import OpenSession
from pipeline.daemon.outputs import (
    LanguagePageSink,
    LanguageRecordSink,
    MetricsSink,
    PageSink,
    RecordSink,
)
from pipeline.daemon.sinks import Screen, Sink
from pipeline.daemon.state import DaemonState, StateAnnouncer
from pipeline.daemon.systemd import Notifier
from pipeline.daemon.verse_desk import VerseDesk, open_verse_desk
from pipeline.dictionary.store import Dictionary
from pipeline.server.hub import Hub
from pipeline.server.operator_token import token_in_force
from pipeline.server.volunteers import Volunteers
from pipeline.session.recorder import SessionRecorder
from pipeline.workers.degradation import Degradation


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonContext:
    """The facts, and where results go. Nothing in it calls a part of the daemon back."""

    facts: DaemonState
    announcer: StateAnnouncer
    degradation: Degradation
    dictionary: Dictionary
    board: CaptionBoard
    recorder: SessionRecorder
    hub: Hub
    metrics: Metrics
    notifier: Notifier
    verses: VerseDesk
    doubts: DoubtDesk
    sinks: tuple[Sink, ...]
    """The first is the record: what was shown must outlive us."""
    further: Mapping[str, CaptionBoard]
    """The boards of the further target languages; all else is of the first."""

    def of(self, alone: Settings) -> DaemonContext:
        """Return what the captions of a further language work on.

        `alone` are the settings as if it were the only target.
        """
        lang = alone.translate.target
        return replace(
            self,
            board=self.further[lang],
            verses=open_verse_desk(alone, lambda _: None),
            doubts=open_doubt_desk(self.facts, self.hub),
            sinks=(
                LanguageRecordSink(self.recorder, lang),
                LanguagePageSink(self.hub, lang),
            ),
        )


def make_context(
    settings: Settings, session: OpenSession, dictionary: Dictionary, mode: Mode, screen: Screen
) -> DaemonContext:
    """Make it for a session. Raises ServerError, SessionError (token-unusable, …)."""
    facts = DaemonState(
        mode,
        settings.operator.off_record_s,
        song_mode=settings.church.song,
        hold_doubtful=settings.church.hold_doubtful,
    )
    metrics, degradation = Metrics(), Degradation()
    token = token_in_force(settings.operator.token, Path(settings.session.directory))
    hub = Hub(
        session.board,
        settings.server,
        mode=mode,
        token=token,
        volunteers=Volunteers(Path(settings.session.directory)),
        metrics=metrics,
        further=session.further,
    )
    sinks = (RecordSink(session.recorder), PageSink(hub), MetricsSink(metrics), screen)
    return DaemonContext(
        facts=facts,
        announcer=StateAnnouncer(facts, degradation, session.recorder, sinks),
        degradation=degradation,
        dictionary=dictionary,
        board=session.board,
        recorder=session.recorder,
        hub=hub,
        metrics=metrics,
        notifier=Notifier(),
        verses=open_verse_desk(settings, hub.operators.suggest),
        doubts=open_doubt_desk(facts, hub),
        sinks=sinks,
        further=session.further,
    )

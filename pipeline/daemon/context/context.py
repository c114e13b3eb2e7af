"""The objects that all parts of the daemon work on: one value, made first and handed down."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Settings
from pipeline.core.metrics import Metrics
from pipeline.core.reports import Emit
from pipeline.core.types import Mode
from pipeline.daemon.context.held_finals import HeldFinals, open_held_finals
from pipeline.daemon.context.service_sinks import (
    MetricsSink,
    Outside,
    PageSink,
    RecordSink,
    open_gate,
)
from pipeline.daemon.context.sinks import Screen, Sink
from pipeline.daemon.context.state import DaemonState, StateAnnouncer
from pipeline.daemon.context.verse_suggestions import VerseSuggestions, open_verse_suggestions
from pipeline.dictionary.store import Dictionary
from pipeline.protocol.caption import CaptionMessage
from pipeline.server.hub import Hub
from pipeline.server.operator_token import token_in_force, token_place
from pipeline.server.volunteers import Volunteers
from pipeline.session.past_services import PastServices
from pipeline.session.recorder import SessionRecorder, writing_to
from pipeline.session.redact import finish_purges
from pipeline.session.resume import Unfinished, unfinished_session
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
    # Told in this order: the record, the hall, all that is beyond it.
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


log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that has just been opened."""

    recorder: SessionRecorder
    boards: tuple[CaptionBoard, ...]
    """One a target language, in the order of the settings."""
    earlier: Unfinished | None
    """What it goes on from."""
    last_id: int = 0
    """The highest id that an utterance of it has."""
    origin_s: float = 0.0
    """Where its audio goes on, seconds."""


def open_session(settings: Settings, mode: Mode, emit: Emit) -> OpenSession:
    """Make the session's folder, or take up the one of a service that broke off.

    `emit` is told when the record cannot be written. Raises SessionError; then no folder is made.
    """
    directory = Path(settings.session.directory)
    with writing_to(directory):
        directory.mkdir(parents=True, exist_ok=True)
    token_in_force(settings.operator.token, directory)  # before there is a session to leave behind
    finish_purges(directory)
    # Behind it: an event that it writes must not lie in the future, or the session is not resumed.
    now_utc, translate = datetime.now(UTC), settings.translate
    # A rehearsal does not go on with a service: it would write into its record.
    earlier = unfinished_session(settings, now_utc) if mode == "live" else None
    recorder = SessionRecorder(
        directory,
        source=translate.source,
        targets=translate.langs,
        on_fault=emit,
        started_utc=now_utc,
        earlier=earlier,
        keeping=settings.session,
    )
    # Each run has a name of its own: what a display saw last need not be in the journal.
    name = recorder.folder.name + (f"+{earlier.runs}" if earlier else "")
    history = settings.server.history
    boards = tuple(CaptionBoard(name, translate.source, lang, history) for lang in translate.langs)
    if earlier is None:
        return OpenSession(recorder, boards, None)
    # A language that is no longer set has a journal and no board.
    journals = earlier.journals(translate.target)
    for board in boards:
        board.restore(journals.get(board.target, ()))
    log.info("session resumed", folder=str(recorder.folder), captions=len(earlier.messages))
    # Of all boards: a caption that was typed in another language than the first stands on its own.
    last_id = max(earlier.last_id, *(board.last_id for board in boards))
    return OpenSession(recorder, boards, earlier, last_id, earlier.audio_s(now_utc))


_STATUS_CHARACTERS = 200


class Notifier:
    """Belongs to one thread. What cannot be sent is not: systemd is gone, or was never there."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Read the socket's address and how often systemd wants a sign of life."""
        address = environment.get("NOTIFY_SOCKET", "")
        # A first character @ stands for the zero byte of an abstract socket.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_s = _watchdog_s(environment)
        """A sign of life is due at least this often, 0.0 where none is wanted."""
        self._status = ""

    def ready(self) -> None:
        """Say that captions can be made from now on."""
        self._send("READY=1")

    def alive(self) -> None:
        """Give a sign of life."""
        if self.watchdog_s:
            self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """Say how things are, in one line for `systemctl status`; a repetition is not sent."""
        # One line: to systemd a line break begins the next assignment.
        line = " ".join(text.split())[:_STATUS_CHARACTERS]
        if line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    def stopping(self) -> None:
        """Say that the end has begun."""
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            # On the event loop: captions must not wait for systemd.
            out.setblocking(False)
            out.sendto(message.encode(), self._address)


def _watchdog_s(environment: Mapping[str, str]) -> float:
    """Return a third of the time after which systemd takes us for dead."""
    # A parent's variable is inherited, and its watchdog is not ours.
    meant_for = environment.get("WATCHDOG_PID", str(os.getpid()))
    every_us = environment.get("WATCHDOG_USEC", "")
    if meant_for != str(os.getpid()) or not every_us.isdecimal():
        return 0.0
    # From microseconds. systemd's own advice is half of it, but a busy event loop may be late.
    return int(every_us) / 3e6

"""The objects that all parts of the daemon share: one value, created first and passed down."""

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
from pipeline.captions.sink import Sink
from pipeline.config.schema import Settings
from pipeline.core.metrics import Metrics
from pipeline.core.reports import Emit
from pipeline.core.types import Mode
from pipeline.daemon.context.held_finals import HeldFinals
from pipeline.daemon.context.screen import Screen
from pipeline.daemon.context.service_sinks import MetricsSink, Outside, PageSink, open_gate
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
    """The objects for the captions of one target language."""

    board: CaptionBoard
    verses: VerseSuggestions
    doubts: HeldFinals
    sinks: tuple[Sink, ...]
    """The first is the record: shown captions must survive a crash."""

    @property
    def lang(self) -> str:
        """The language."""
        return self.board.target


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonContext:
    """The facts, and where results go. Nothing in it calls back a part of the daemon."""

    facts: DaemonState
    announcer: StateAnnouncer
    degradation: Degradation
    dictionary: Dictionary
    recorder: SessionRecorder
    hub: Hub
    metrics: Metrics
    notifier: Notifier
    outside: Outside
    """The outputs beyond our own pages."""
    token_place: str
    """Where the operator's token is kept, as text for people."""
    sinks: tuple[Sink, ...]
    """All sinks; the same as those of `targets[0]`."""
    targets: tuple[Target, ...]
    """One for each target language, in the order of the settings."""

    def captions(self) -> dict[str, tuple[CaptionMessage, ...]]:
        """Return the captions that displays can show now, by target language."""
        return {target.lang: target.board.snapshot().messages for target in self.targets}


def make_context(
    settings: Settings, session: OpenSession, dictionary: Dictionary, mode: Mode, screen: Screen
) -> DaemonContext:
    """Create the context of a session. Raises ServerError, SessionError (token-unusable, …)."""
    facts = DaemonState(mode, settings)
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
    record, pages = session.recorder, PageSink(hub)
    # Called in this order: the record, the hall's pages, the outputs beyond the hall.
    sinks = (record, pages, MetricsSink(metrics), screen, *outside.sinks)

    def target(board: CaptionBoard, alone: Settings) -> Target:
        # Only the first target has verse suggestions for operators, metrics and the terminal.
        is_first = board is session.boards[0]
        verses = open_verse_suggestions(alone, hub.operators.tell if is_first else lambda _: None)
        seen = sinks if is_first else (record, pages, *outside.sinks)
        return Target(board, verses, HeldFinals(facts, hub.operators), seen)

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
    """One for each target language, in the order of the settings."""
    earlier: Unfinished | None
    """The interrupted session that it resumes."""
    last_id: int = 0
    origin_s: float = 0.0
    """The audio time, in seconds, from which the session continues."""


def open_session(settings: Settings, mode: Mode, emit: Emit) -> OpenSession:
    """Make the session's folder, or resume the session of an interrupted service.

    `emit` is called when the record cannot be written. Raises SessionError; then no folder is made.
    """
    directory = Path(settings.session.directory)
    with writing_to(directory):
        directory.mkdir(parents=True, exist_ok=True)
    token_in_force(settings.operator.token, directory)  # if it raises, no session is left behind
    finish_purges(directory)
    # After the purges: a session with an event in the future, even of a purge, is not resumed.
    now_utc, translate = datetime.now(UTC), settings.translate
    # A rehearsal does not resume a service: it would write into the service's record.
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
    # Each run has its own name: the last version on a display may be missing in the journal.
    name = recorder.folder.name + (f"+{earlier.runs}" if earlier else "")
    history = settings.server.history
    boards = tuple(CaptionBoard(name, translate.source, lang, history) for lang in translate.langs)
    if earlier is None:
        return OpenSession(recorder, boards, None)
    # A language that is no longer in the settings has a journal and no board.
    journals = earlier.journals(translate.target)
    for board in boards:
        board.restore(journals.get(board.target, ()))
    log.info("session resumed", folder=str(recorder.folder), captions=len(earlier.messages))
    # Check all boards: a caption typed in an extra language is only on that language's board.
    last_id = max(earlier.last_id, *(board.last_id for board in boards))
    return OpenSession(recorder, boards, earlier, last_id, earlier.audio_s(now_utc))


_STATUS_CHARACTERS = 200


class Notifier:
    """Notifies systemd. Drops what cannot be sent: systemd is absent. Belongs to one thread."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # A first character @ stands for the zero byte of an abstract socket.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_s = _watchdog_s(environment)
        """The longest time between watchdog messages; 0.0 if systemd wants none."""
        self._status = ""

    def ready(self) -> None:
        """Tell systemd that the service is ready to make captions."""
        self._send("READY=1")

    def alive(self) -> None:
        """Send a watchdog message."""
        if self.watchdog_s:
            self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """Send one line for `systemctl status`, unless it is the same as before."""
        # One line: for systemd a line break begins the next assignment.
        line = " ".join(text.split())[:_STATUS_CHARACTERS]
        if line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    def stopping(self) -> None:
        """Tell systemd that the service is stopping."""
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            # This is on the event loop: captions must not wait for systemd.
            out.setblocking(False)
            out.sendto(message.encode(), self._address)


def _watchdog_s(environment: Mapping[str, str]) -> float:
    """Return a third of the systemd watchdog timeout."""
    # The variable may be inherited from a parent, whose watchdog is not ours.
    meant_for = environment.get("WATCHDOG_PID", str(os.getpid()))
    every_us = environment.get("WATCHDOG_USEC", "")
    if meant_for != str(os.getpid()) or not every_us.isdecimal():
        return 0.0
    # From microseconds. systemd recommends half of it, but a busy event loop may be late.
    return int(every_us) / 3e6

"""The folder, the record and the board of a session: a new one, or one that a crash left open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog

from pipeline.captions.board import CaptionBoard
from pipeline.config.schema import Settings
from pipeline.core.reports import Emit
from pipeline.core.types import Mode
from pipeline.server.operator_token import token_in_force
from pipeline.session.recorder import SessionRecorder, writing_to
from pipeline.session.redact import finish_purges
from pipeline.session.resume import Unfinished, unfinished_session

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
    for board in boards:
        board.restore(earlier.journals(translate.target).get(board.target, ()))
    log.info("session resumed", folder=str(recorder.folder), captions=len(earlier.messages))
    last_id, origin_s = earlier.last_id, earlier.audio_s(now_utc)
    return OpenSession(recorder, boards, earlier, last_id, origin_s)

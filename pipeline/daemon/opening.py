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
from pipeline.session.recorder import SessionRecorder
from pipeline.session.redact import finish_purges
from pipeline.session.resume import Unfinished, unfinished_session

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that has just been opened."""

    recorder: SessionRecorder
    board: CaptionBoard
    earlier: Unfinished | None
    """What it goes on from."""
    last_id: int = 0
    """The highest id that an utterance of it has."""
    origin_s: float = 0.0
    """Where its audio goes on, seconds."""


def open_session(settings: Settings, mode: Mode, emit: Emit) -> OpenSession:
    """Make the session's folder, or take up the one of a service that broke off.

    `emit` is told when the record cannot be written. Raises SessionError.
    """
    finish_purges(Path(settings.session.directory))
    # Behind it: an event that it writes must not lie in the future, or the session is not resumed.
    now_utc, translate = datetime.now(UTC), settings.translate
    earlier = unfinished_session(settings, now_utc) if mode == "live" else None
    recorder = SessionRecorder(
        Path(settings.session.directory),
        source=translate.source,
        target=translate.target,
        on_fault=emit,
        started_utc=now_utc,
        earlier=earlier,
        keeping=settings.session,
    )
    # Each run has a name of its own: what a display saw last need not be in the journal.
    name = recorder.folder.name + (f"+{earlier.runs}" if earlier else "")
    board = CaptionBoard(name, translate.source, translate.target, settings.server.history)
    if earlier is None:
        return OpenSession(recorder, board, None)
    board.restore(earlier.messages)
    log.info("session resumed", folder=str(recorder.folder), captions=len(earlier.messages))
    return OpenSession(recorder, board, earlier, earlier.last_id, earlier.audio_s(now_utc))

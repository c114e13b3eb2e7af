"""The sound of utterances in a session's folder, for training. Off by default.

One FLAC per utterance, `audio/<id>.flac`, mono at 16 kHz. The recorder's thread writes it after the
utterance's record. It is deleted with the record: off the record, by retention, with the folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import structlog

from pipeline.audio.file import write_flac
from pipeline.core.types import Pcm
from pipeline.records.utterance import UtteranceRecord

log = structlog.get_logger()

KeepAudio: TypeAlias = Literal["none", "doubtful", "all"]

FOLDER = "audio"
LEAST_FREE_BYTES = 1_000_000_000
"""Least free disk space to keep sound: captions and records have priority."""
_DOUBTFUL_WORD = 0.5  # a recognizer's probability, below which a word is not trusted


def recording_path(session: Path, key: int) -> Path:
    """Return the path of an utterance's sound, if it was kept."""
    # Six digits, so that file names sort as the utterances were spoken.
    return session / FOLDER / f"{key:06}.flac"


def is_doubtful(record: UtteranceRecord) -> bool:
    """Whether an utterance is worth listening to again.

    It has a flag, or a word of which the recognizer was unsure, or its pair is not good enough, or
    its text was not shown although somebody spoke.
    """
    if record.filtered:
        return record.filtered not in ("empty", "no-speech")
    unsure = any(word.probability < _DOUBTFUL_WORD for word in record.words)
    accepted = record.quality is not None and record.quality.decision == "accept"
    return bool(record.flags) or unsure or not accepted


class Recordings:
    """Writes the sound of a session's utterances. For one thread."""

    def __init__(self, session: Path, keep: KeepAudio) -> None:
        self.keep = keep
        self._session = session

    def wants(self, record: UtteranceRecord) -> bool:
        """Whether to keep the sound of an utterance."""
        return self.keep == "all" or (self.keep == "doubtful" and is_doubtful(record))

    def add(self, record: UtteranceRecord, pcm: Pcm) -> None:
        """Write the sound of an utterance. If that fails, log it once and skip this sound."""
        try:
            # Checked each time, since deleted old sessions may free space.
            if shutil.disk_usage(self._session).free >= LEAST_FREE_BYTES:
                # Made with the first sound, so that a session without sound has no empty folder.
                (self._session / FOLDER).mkdir(exist_ok=True)
                write_flac(recording_path(self._session, record.id), pcm)
                return
            why = "less than 1 GB is free on the disk"
        except OSError as error:
            why = error.strerror or str(error)
        log.warning("sound not kept", code="sound-not-kept", id=record.id, error=why)


def remove_recordings(session: Path, is_gone: Callable[[int], bool]) -> None:
    """Delete the sound of removed utterances, and incomplete files. Raises OSError."""
    for path in (session / FOLDER).glob("*"):
        # A file that a crash left incomplete has a different name, and nothing will complete it.
        if not path.stem.isdecimal() or is_gone(int(path.stem)):
            path.unlink(missing_ok=True)

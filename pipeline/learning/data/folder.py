"""The data folder of learning: the collected data, its sources, and the lock for changes.

    sessions/<session>.json     harvest of a session: its pairs (not the rejected) and scores
    pairs.jsonl                 the training pairs: accepted pairs and the two other tiers
    moderate.jsonl              pairs with a moderate score, for spot checks
    audio/                      sound with metadata.jsonl, as Hugging Face `datasets` opens it
    confusions.json             misheard words and what was really said
    calibration.json            the score above which a pair is accepted
    focus.json                  what to look at next, with the texts of captions to review
    ledger.jsonl                each collected session, with the hashes of its files
    manifest.json               how all this was made

Each session's pairs are in their own file, which is written atomically before the ledger's line: a
kill at any moment costs one session's work, and nothing is stored twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import LearningError, ProtocolError, SessionError, reading, writing
from pipeline.core.files import GrowingFile, try_lock, write_whole
from pipeline.learning.data.harvest import Harvest
from pipeline.learning.data.pairs import LearningPair, read_pairs, write_pairs
from pipeline.learning.data.terms import confusions
from pipeline.models.library import link_or_copy
from pipeline.protocol.codec import parse_json
from pipeline.session.reader import read_lines
from pipeline.session.recordings import recording_path

T = TypeVar("T")

LEDGER = "ledger.jsonl"
PAIRS = "pairs.jsonl"
MODERATE = "moderate.jsonl"
CONFUSIONS = "confusions.json"
CALIBRATION = "calibration.json"
FOCUS = "focus.json"
AUDIO = "audio"
MANIFEST = "manifest.json"
_HARVEST = TypeAdapter(Harvest)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """A line of ledger.jsonl. The last line of a session is valid."""

    session: str
    utc: str
    speaker: str = ""
    # A removal is a new line: the file only grows, so that a power cut costs one line.
    removed: bool = False
    """Whether the session's pairs were removed."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the session's files by name."""
    counts: Mapping[str, int] = field(default_factory=dict)


class DataFolder:
    """The folder, opened for one step at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Create the folder and lock out other steps. Raises LearningError."""
        with self.writing():
            (self.path / "sessions").mkdir(parents=True, exist_ok=True)
            fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            is_free = True
            with suppress(OSError):  # from a file system without locks
                is_free = try_lock(fd)
            if not is_free:
                message = f"{self.path} is in use by another step of learning."
                raise LearningError("learning-busy", message, "Wait until it is done.")
            yield
        finally:
            # This unlocks it. The file stays: after a deletion two steps could lock two files.
            os.close(fd)

    def ledger(self) -> dict[str, LedgerEntry]:
        """Return the last entry about each session. Raises LearningError."""
        return {entry.session: entry for entry in _SESSIONS.read(self)}

    def enter(self, entry: LedgerEntry) -> None:
        """Append to the ledger, safe against a power cut. Raises LearningError."""
        _SESSIONS.append(self, entry)

    def session_file(self, session: str) -> Path:
        """Return the path of a session's harvest."""
        return self.path / "sessions" / f"{session}.json"

    def harvest(self, session: str) -> Harvest:
        """Return the collected harvest of a session. Raises LearningError."""
        path = self.session_file(session)
        fix = "Delete it and its session's lines in ledger.jsonl, and collect again."
        with reading(path, LearningError, "harvest-unreadable", fix, (ProtocolError,)):
            return parse_json(_HARVEST, path.read_bytes())

    def harvests(self) -> dict[str, Harvest]:
        """Return the harvests of all sessions in the folder, by name. Raises LearningError."""
        # A removal that was interrupted has deleted the harvest, but not yet entered it.
        return {
            name: self.harvest(name)
            for name, entry in sorted(self.ledger().items())
            if not entry.removed and self.session_file(name).exists()
        }

    def pairs(self) -> list[LearningPair]:
        """Return the training pairs. Raises LearningError."""
        return read_pairs(self.path / PAIRS)

    def write_pairs(self, name: str, pairs: list[LearningPair]) -> None:
        """Write one of the folder's files of pairs. Raises LearningError."""
        with self.writing():
            write_pairs(self.path / name, pairs)

    def write_json(self, name: str, content: object) -> None:
        """Write a JSON file atomically. Raises LearningError."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        with self.writing():
            write_whole(self.path / name, orjson.dumps(content, option=options))

    def writing(self) -> AbstractContextManager[None]:
        """Turn an OSError of the block into a LearningError (learning-unwritable)."""
        fix = "Make room, or set learn.directory (or --data) to another folder; nothing is lost."
        return writing(self.path, LearningError, "learning-unwritable", fix)


class Ledger(Generic[T]):
    """An append-only file of JSON lines in the data folder, each an entry of one kind."""

    def __init__(self, name: str, kind: type[T]) -> None:
        self._name = name
        self._adapter = TypeAdapter(kind)

    def read(self, data: DataFolder) -> list[T]:
        """Return all entries, the oldest first. Raises LearningError (learning-unreadable)."""
        path = data.path / self._name
        try:
            return read_lines(path, partial(parse_json, self._adapter)) if path.exists() else []
        except SessionError as error:
            raise LearningError("learning-unreadable", error.message, error.fix) from None

    def append(self, data: DataFolder, entry: T) -> None:
        """Append an entry, safe against a power cut. Raises LearningError."""
        with data.writing():
            # Create it here too: `compare` and `deploy` may write before anything is collected.
            data.path.mkdir(parents=True, exist_ok=True)
            with closing(GrowingFile(data.path / self._name, sync=True, keep=True)) as file:
                file.append(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))


_SESSIONS = Ledger(LEDGER, LedgerEntry)


METADATA = "metadata.jsonl"


def keep_sound(data: Path, session: Path, pairs: Iterable[LearningPair]) -> None:
    """Link or copy the recordings of a session's pairs into the data folder. Raises OSError."""
    for pair in pairs:
        if pair.audio:
            # A link takes no space and survives the deletion of the session's folder.
            link_or_copy(recording_path(session, pair.id), data / AUDIO / pair.audio)


def drop_sound(data: Path, session: str) -> None:
    """Delete a session's recordings and their metadata. Raises OSError."""
    for path in (data / AUDIO).glob("*.flac"):
        # Not a glob of the name: another name may begin with it, and it may contain a [.
        if path.stem.rpartition("-")[0] == session:
            path.unlink(missing_ok=True)
    # Now, not at the next collection: the metadata contains the spoken words.
    metadata = data / AUDIO / METADATA
    if metadata.exists():
        lines = metadata.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if orjson.loads(line)["session_id"] != session]
        write_whole(metadata, b"".join(kept))


def write_metadata(data: Path, pairs: Iterable[LearningPair]) -> int:
    """Write the metadata of all pairs with sound whose source text is right; return how many.

    Raises OSError.
    """
    lines = list(_lines(data, pairs))
    # Old metadata must not outlive its audio files; without audio there is no folder.
    if lines or (data / AUDIO / METADATA).exists():
        (data / AUDIO).mkdir(parents=True, exist_ok=True)
        write_whole(data / AUDIO / METADATA, b"".join(lines))
    return len(lines)


def _lines(data: Path, pairs: Iterable[LearningPair]) -> Iterator[bytes]:
    for pair in pairs:
        # A person who has corrected what was heard vouches for it, not for its translation.
        is_heard_right = pair.corrected or pair.status == "accepted"
        # The file may be missing: a session that was read again may have lost its recordings.
        if pair.audio and is_heard_right and (data / AUDIO / pair.audio).is_file():
            fields = {
                "file_name": pair.audio,
                "transcription": pair.text,
                "translation": pair.translation,
                "terms": pair.terms,
                "source": pair.source,
                "session_id": pair.session_id,
                "speaker": pair.speaker,
                "lang": pair.source_lang,
            }
            yield orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def last_lesson(data: DataFolder) -> str:
    """Return a sentence about the session that was reviewed last, "" before the first review.

    Raises LearningError.
    """
    reviewed = [each for each in data.harvests().values() if each.reviewed_utc]
    if not reviewed:
        return ""
    last = max(reviewed, key=lambda each: each.reviewed_utc)
    taught = sum(pair.source == "review" and pair.status == "accepted" for pair in last.pairs)
    corrections = _many(len(last.corrected), "correction")
    heard = _many(len(confusions(last.corrected)), "misheard word")
    return f"Last time: {corrections}. They taught {_many(taught, 'sentence')} and {heard}."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"

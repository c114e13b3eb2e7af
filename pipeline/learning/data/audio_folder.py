"""The sound that is learnt from, as a folder that Hugging Face `datasets` opens (`audiofolder`).

`metadata.jsonl` has a line for each file: `file_name`, `transcription`, `translation`, `terms` and
`source` (who vouches for the text), and `session_id` and `speaker`. Only what is accepted has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from pipeline.core.files import write_whole
from pipeline.learning.data.pairs import LearningPair
from pipeline.models.library import link_or_copy
from pipeline.session.recordings import recording_path

FOLDER = "audio"
METADATA = "metadata.jsonl"


def keep_sound(data: Path, session: Path, pairs: Iterable[LearningPair]) -> None:
    """Take the recordings of a session's pairs into the data folder. Raises OSError."""
    for pair in pairs:
        if pair.audio:
            # A link takes no room, and outlives the session's folder.
            link_or_copy(recording_path(session, pair.id), data / FOLDER / pair.audio)


def drop_sound(data: Path, session: str) -> None:
    """Delete a session's recordings, and what the metadata says of them. Raises OSError."""
    for path in (data / FOLDER).glob(f"{session}-*.flac"):
        path.unlink(missing_ok=True)
    # At once, not with the next collection: it holds the words that were said.
    metadata = data / FOLDER / METADATA
    if metadata.exists():
        kept = [line for line in metadata.read_bytes().splitlines(True) if not _of(line, session)]
        write_whole(metadata, b"".join(kept))


def write_metadata(data: Path, pairs: Iterable[LearningPair]) -> int:
    """Write the metadata of all accepted pairs that have sound; return how many. Raises OSError."""
    lines = list(_lines(data, pairs))
    # An old list must not outlive its sounds; without sound there is no folder.
    if lines or (data / FOLDER / METADATA).exists():
        (data / FOLDER).mkdir(parents=True, exist_ok=True)
        write_whole(data / FOLDER / METADATA, b"".join(lines))
    return len(lines)


def _lines(data: Path, pairs: Iterable[LearningPair]) -> Iterator[bytes]:
    for pair in pairs:
        if pair.audio and pair.status == "accepted" and (data / FOLDER / pair.audio).is_file():
            fields = {
                "file_name": pair.audio,
                "transcription": pair.text,
                "translation": pair.translation,
                "terms": pair.terms,
                "source": pair.source,
                "session_id": pair.session_id,
                "speaker": pair.speaker,
            }
            yield orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def _of(line: bytes, session: str) -> bool:
    return bool(orjson.loads(line)["session_id"] == session)

"""A stretch of a service that was said off the record, and what of the session is of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from pipeline.protocol.caption import CaptionMessage
from pipeline.records.comparison import CompareRecord
from pipeline.records.events import Record
from pipeline.records.utterance import UtteranceRecord

MARK = "off-record.json"
"""In a session's folder while words that were said off the record may still be in its files."""

_NOT_SPOKEN = ("event", "health", "summary")


@dataclass(frozen=True, slots=True)
class Redaction:
    """What has to go: all of which any part was spoken between two times of the audio."""

    from_s: float
    to_s: float
    ids: tuple[int, ...] = ()
    """Utterances that go as well, whenever they were spoken: they had no final yet."""

    def takes(self, key: int, start_s: float, end_s: float) -> bool:
        """Whether an utterance goes."""
        return key in self.ids or (end_s > self.from_s and start_s < self.to_s)


class RedactionFilter:
    """Goes over the records of a session, and knows again what is of an utterance that went."""

    def __init__(self, purge: Redaction) -> None:
        self.purge = purge
        self._ids = set(purge.ids)
        self._captions: set[int] = set()

    @property
    def captions(self) -> int:
        """How many captions it took out of files so far."""
        return len(self._captions)

    def takes(self, record: CaptionMessage | Record) -> bool:
        """Whether a caption or a record of the diagnostics goes."""
        match record:
            case CaptionMessage() | UtteranceRecord():
                return self._takes(record.id, (record.start_s, record.end_s))
            case CompareRecord():
                return self._takes(record.id)
            case _:
                return False  # nothing that was spoken is in it

    def line(self, line: bytes) -> bytes:
        """Return a line of a file, or b"" if it goes. So does one that cannot be read.

        The file may be the journal, the diagnostics, the pairs, or of the review.
        """
        try:
            record = orjson.loads(line)
            key = record.get("id")
            spoken = isinstance(key, int) and record.get("type") not in _NOT_SPOKEN
            times = (record["start_s"], record["end_s"]) if spoken and "end_s" in record else None
            gone = spoken and self._takes(key, times)
        except (ValueError, TypeError, KeyError, AttributeError):
            return b""
        if gone and record.get("type") == "caption":
            self._captions.add(key)
        return b"" if gone else line

    def _takes(self, key: int, times: tuple[float, float] | None = None) -> bool:
        if times is not None and self.purge.takes(key, *times):
            self._ids.add(key)
        return key in self._ids

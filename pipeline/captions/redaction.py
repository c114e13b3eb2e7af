"""A stretch of a service that was said off the record, and what of the session is of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

MARK = "off-record.json"
"""In a session's folder while words that were said off the record may still be in its files."""

_NOT_SPOKEN = ("event", "health", "summary")


@dataclass(frozen=True, slots=True)
class Purge:
    """What has to go: all of which any part was spoken between two times of the audio."""

    from_s: float
    to_s: float
    ids: tuple[int, ...] = ()
    """Utterances that go as well, whenever they were spoken: they had no final yet."""

    def takes(self, key: int, start_s: float, end_s: float) -> bool:
        """Whether an utterance goes."""
        return key in self.ids or (end_s > self.from_s and start_s < self.to_s)


class Sweep:
    """Goes over the records of a session, and knows again what is of an utterance that went."""

    def __init__(self, purge: Purge) -> None:
        self.purge = purge
        self._ids = set(purge.ids)
        self._captions: set[int] = set()

    @property
    def captions(self) -> int:
        """How many captions it took out of files so far."""
        return len(self._captions)

    def takes(self, record: Mapping[str, Any]) -> bool:
        """Whether a record goes: of the journal, the diagnostics, the pairs or the review."""
        key = record.get("id")
        if not isinstance(key, int) or record.get("type") in _NOT_SPOKEN:
            return False
        if "end_s" in record and self.purge.takes(key, record["start_s"], record["end_s"]):
            self._ids.add(key)
        return key in self._ids

    def line(self, line: bytes) -> bytes:
        """Return a line of a file, or b"" if it goes. So does one that cannot be read."""
        try:
            record = orjson.loads(line)
            gone = self.takes(record)
        except (ValueError, TypeError, KeyError, AttributeError):
            return b""
        if gone and record.get("type") == "caption":
            self._captions.add(record["id"])
        return b"" if gone else line

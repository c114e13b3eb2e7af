"""A time range to be removed from the record, and the records in it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from pipeline.protocol.caption import CaptionMessage
from pipeline.records.events import Record

MARK = "off-record.json"
"""A file in the session's folder while off-the-record words may still be in its other files."""

_NOT_SPOKEN = ("event", "health")


@dataclass(frozen=True, slots=True)
class Redaction:
    """A removal: every utterance that overlaps a time range of the audio."""

    from_s: float
    to_s: float
    ids: tuple[int, ...] = ()
    """Utterances to remove regardless of their times: they had no final yet."""

    def takes(self, key: int, start_s: float, end_s: float) -> bool:
        """Return whether an utterance is removed."""
        return key in self.ids or (end_s > self.from_s and start_s < self.to_s)


class RedactionFilter:
    """Filters the records of a session, remembering the ids that it has removed.

    A record without times, such as a comparison, is removed with the utterance of its id.
    """

    def __init__(self, purge: Redaction) -> None:
        self.purge = purge
        self._ids = set(purge.ids)
        self._captions: set[int] = set()

    @property
    def captions(self) -> int:
        """Number of captions removed from files so far."""
        return len(self._captions)

    @property
    def found(self) -> Redaction:
        """The removal with the ids of all removed utterances, since audio files have no times."""
        return replace(self.purge, ids=tuple(sorted(self._ids)))

    def has(self, key: int) -> bool:
        """Whether an utterance is removed, as far as known."""
        return key in self._ids

    def takes(self, record: CaptionMessage | Record) -> bool:
        """Return whether a caption or a diagnostics record is removed."""
        return self._is_gone(asdict(record))

    def line(self, line: bytes) -> bytes:
        """Return a line of a file, or b"" if it is removed.

        The file may be the journal, the diagnostics, the pairs or the review's. A line that cannot
        be parsed is removed too, since its content is unknown.
        """
        try:
            # Not parsed into its type: lines of an older version must be found as well.
            record = orjson.loads(line)
            gone = self._is_gone(record)
        except (ValueError, TypeError, KeyError, AttributeError):
            return b""
        # Counted by id, since a caption has a line for each version.
        if gone and record.get("type") == "caption":
            self._captions.add(record["id"])
        return b"" if gone else line

    def _is_gone(self, record: Mapping[str, Any]) -> bool:
        # An earlier run's: its church words and rules may be of that time. The end makes a new one.
        if record.get("type") == "summary":
            return True
        kind, held = record.get("event"), record.get("held")  # a song has `held` as well
        # A notice without texts clears an earlier one, which would stay without it.
        if (kind == "notice" and record["texts"]) or (kind == "rule" and held):
            return bool(self.purge.from_s <= record["at_s"] <= self.purge.to_s)
        key = record.get("id")
        # Events and health records have other ids, or none.
        if not isinstance(key, int) or record.get("type") in _NOT_SPOKEN:
            return False
        if "end_s" in record and self.purge.takes(key, record["start_s"], record["end_s"]):
            self._ids.add(key)
        return key in self._ids

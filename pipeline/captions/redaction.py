"""A time range to be removed from the record, and the records in it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import orjson

from pipeline.protocol.caption import CaptionMessage
from pipeline.records.events import NoticeEvent, Record, RuleEvent
from pipeline.records.utterance import CompareRecord, TranslationRecord, UtteranceRecord

MARK = "off-record.json"
"""A file in the session's folder while off-the-record words may still be in its other files."""

_NOT_SPOKEN = ("event", "health", "summary")


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
        match record:
            case CaptionMessage() | UtteranceRecord() | TranslationRecord():
                return self._takes(record.id, (record.start_s, record.end_s))
            case CompareRecord():
                return self._takes(record.id)  # it has no times itself
            # A notice without texts clears an earlier one, which would stay without it.
            case NoticeEvent(texts=texts):
                return bool(texts) and self._takes_at(record.at_s)
            case RuleEvent(held=True):
                return self._takes_at(record.at_s)
            case _:
                return False  # it contains no speech

    def line(self, line: bytes) -> bytes:
        """Return a line of a file, or b"" if it is removed.

        The file may be the journal, the diagnostics, the pairs or the review's. A line that cannot
        be parsed is removed too, since its content is unknown.
        """
        try:
            # Not parsed into its type: lines of an older version must be found as well.
            record = orjson.loads(line)
            key = record.get("id")
            # Events and health records have other ids, or none.
            spoken = isinstance(key, int) and record.get("type") not in _NOT_SPOKEN
            times = (record["start_s"], record["end_s"]) if spoken and "end_s" in record else None
            gone = spoken and self._takes(key, times)
            kind, held = record.get("event"), record.get("held")  # a song has `held` as well
            if (kind == "notice" and record["texts"]) or (kind == "rule" and held):
                gone = self._takes_at(record["at_s"])
        except (ValueError, TypeError, KeyError, AttributeError):
            return b""
        # Counted by id, since a caption has a line for each version.
        if gone and record.get("type") == "caption":
            self._captions.add(key)
        return b"" if gone else line

    def _takes_at(self, at_s: float) -> bool:
        return self.purge.from_s <= at_s <= self.purge.to_s

    def _takes(self, key: int, times: tuple[float, float] | None = None) -> bool:
        if times is not None and self.purge.takes(key, *times):
            self._ids.add(key)
        return key in self._ids

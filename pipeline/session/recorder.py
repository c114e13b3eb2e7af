"""Keeps the record of a session: what was said and shown, how long it took, what went wrong.

A separate thread writes the files, so that a slow disk delays no caption. Callers never wait for
it: if its queue is full, an item is dropped and counted, and the count is written later.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeAlias, TypeVar

import orjson
import structlog

from pipeline.captions.redaction import Redaction, RedactionFilter
from pipeline.captions.sink import Removed, Sink
from pipeline.config.section import Session as SessionSettings
from pipeline.core.errors import ProtocolError, SessionError, writing
from pipeline.core.files import LineFile, WholeFile
from pipeline.core.formats import utc_now
from pipeline.core.reports import Fault, SongChanged, SourceChanged
from pipeline.core.threads import Thread, described
from pipeline.core.types import Pcm
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import parse_caption
from pipeline.records.events import (
    FaultEvent,
    Record,
    RecordsDroppedEvent,
    ResumedEvent,
    SongEvent,
    SourceEvent,
)
from pipeline.records.summary import SummaryRecord, summarized
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.caption_files import CaptionsByLanguage
from pipeline.session.reader import parse_record, session_name
from pipeline.session.recordings import KeepAudio, Recordings
from pipeline.session.redact import Purges, event_of
from pipeline.session.resume import Unfinished
from pipeline.session.retention import prune
from pipeline.session.training_pairs import (
    NAMES,
    PAIRS,
    QUEUE,
    Pair,
    file_pairs,
    operator_edits,
    pair_lines,
)

T = TypeVar("T")


def make_folder(directory: Path, started_utc: datetime) -> Path:
    """Create and return `directory/<start time>`, with a number appended if that exists.

    The time is the machine's local time, with its UTC offset unless that is 0.
    Raises SessionError (session-unwritable).
    """
    stamp = session_name(started_utc)
    folder = directory / stamp
    # mkdir decides, not a check before it: another program may start in the same second.
    for number in count(2):
        with writing_to(folder):
            try:
                folder.mkdir(parents=True)
                break
            except FileExistsError:
                folder = directory / f"{stamp}-{number}"
    return folder


def writing_to(path: Path) -> AbstractContextManager[None]:
    """Turn an OSError of the block into SessionError (session-unwritable)."""
    fix = "Set session.directory (or --sessions) to a folder that can be written."
    return writing(path, SessionError, "session-unwritable", fix)


log = structlog.get_logger()

_QUEUE = 1000
_SLOW_S = 5.0
"""The operator is told if the disk takes longer than this for one record."""
_SOUNDS = 50  # queue length at which sound is dropped: a minute of it is 4 MB


_Work: TypeAlias = Callable[[], object]
"""A task of the thread. Records are encoded before they enter the queue."""


class SessionRecorder(Sink):
    """The folder of one session. Any thread may use it. Only `close` and `await_mark` block.

    `diagnostics.jsonl` gets utterance, health and event records. `captions.jsonl` gets every final
    caption and every later edit (pipeline.session.caption_files). `transcript.<lang>.srt|vtt|txt`
    hold the current text. At the end, four files of pairs (pipeline.session.training_pairs) hold
    data that may improve the models, and `summary.json` holds the totals.
    """

    def __init__(
        self,
        directory: Path,
        *,
        source: str,
        targets: Sequence[str],
        on_fault: Callable[[Fault], None],
        started_utc: datetime | None = None,
        earlier: Unfinished | None = None,
        keeping: SessionSettings = SessionSettings(),  # noqa: B008 - frozen
    ) -> None:
        """Make `directory/<start time>` and its files. Raises SessionError (session-unwritable).

        `source` and `targets` are languages. The writing thread calls `on_fault` each time that
        writing starts to fail. With `earlier`, the files of that session are continued. `keeping`
        says which older sessions in `directory` are removed (`keep_days`, `keep_mb`), and whether
        sound is kept (`keep_audio`).
        """
        keep = earlier is not None
        self.folder = (
            earlier.folder if earlier else make_folder(directory, started_utc or datetime.now(UTC))
        )
        if earlier:  # a purge must also reach the languages of the earlier run
            targets = list(dict.fromkeys((*targets, *sorted(earlier.extra_journals))))
        with writing_to(self.folder):
            # Not synced to disk line by line, unlike a journal: nobody in the hall reads it.
            self._diagnostics = LineFile(self.folder / "diagnostics.jsonl", keep=keep)
            self._captions = CaptionsByLanguage(self.folder, source, targets, keep=keep)
        self._purges = Purges(
            self.folder,
            # The records first: they have the times of everything that was said in a caption.
            (self._diagnostics, *self._captions.journals.values()),
        )
        self._summary = WholeFile(self.folder / "summary.json")
        self._pairs = {name: WholeFile(self.folder / name) for name in NAMES}
        # Written in this order: captions that people have read come before records about them.
        self._files: tuple[CaptionsByLanguage | LineFile | WholeFile, ...] = (
            *(self._captions, self._diagnostics, self._summary),
            *self._pairs.values(),
        )
        self._on_fault = on_fault
        self._queue: queue.Queue[_Work | None] = queue.Queue(_QUEUE)
        self._keeping, self._may_prune, self._earlier = keeping, True, earlier
        self._recordings = Recordings(self.folder, keeping.keep_audio)
        self._thread = Thread(self._run, "diagnostics", failed=self._broke, again=True)
        self._lock = threading.Lock()
        self._full = 0
        self._told = 0
        self._failing = False
        self._broke_by = ""
        self._busy_since_s = 0.0
        self._is_started = False

    @property
    def dropped(self) -> int:
        """Records and captions dropped so far, because the queue or disk was full for too long."""
        return self._full + self._diagnostics.lost + self._captions.lost

    @property
    def degraded_reason(self) -> str:
        """Why writing is degraded, "" when it is not."""
        if self._failing:
            return "the disk cannot be written; what is missing waits"
        since_s = self._busy_since_s  # read once: the thread may finish meanwhile
        if since_s and time.monotonic() - since_s > _SLOW_S:
            return "the disk does not answer; what is to be written waits"
        return f"{self.dropped} records could not be kept" if self.dropped else ""

    @property
    def keep_audio(self) -> KeepAudio:
        """Whose sound is kept."""
        return self._recordings.keep

    @property
    def unwritten(self) -> int:
        """Lines waiting for a disk that cannot be written; the summary counts as one."""
        waiting = len(self._diagnostics) + len(self._captions)
        return waiting + (self._summary.content is not None)

    def start(self) -> None:
        """Start writing. Until then nothing in the folder changes, and records wait."""
        self._is_started = True
        self._thread.start()

    def record(self, record: Record) -> None:
        """Keep a record: an utterance, a second final, the daemon's health, or an event."""
        self._put(partial(self._add_record, record, _line(record)))

    on_utterance = on_translation = on_comparison = record

    def on_fault(self, fault: Fault) -> None:
        """Keep it as an event."""
        self.record(FaultEvent(utc=utc_now(), **asdict(fault)))

    def on_source(self, change: SourceChanged) -> None:
        """Keep it as an event."""
        self.record(SourceEvent(utc=utc_now(), **asdict(change)))

    def on_song(self, change: SongChanged) -> None:
        """Keep it as an event."""
        self.record(SongEvent(utc=utc_now(), **asdict(change)))

    def on_redaction(self, redaction: Redaction, removed: Removed) -> None:
        """Do nothing: `purge` comes before any sink."""

    def on_sound(self, record: UtteranceRecord, pcm: Pcm) -> None:
        """Keep an utterance's samples after its record, if configured and the disk keeps up."""
        if self._recordings.wants(record) and self._queue.qsize() < _SOUNDS:
            self._put(partial(self._add_sound, record, pcm))

    def on_caption(self, message: CaptionMessage, lang: str) -> None:
        """Keep a final caption of a target language; ignore one that is not final."""
        if message.final:
            self._put(partial(self._add_caption, message, lang))

    def on_resumable(self, caption_id: int, lang: str) -> None:
        """Keep a caption in the journal only, until its utterance's record comes: it may change."""
        self._put(lambda: self._captions.transcripts[lang].hold(caption_id))

    def configure(self, keeping: SessionSettings) -> None:
        """Remove older sessions beyond these limits, and keep sound as they say from now on."""
        self._recordings.keep = keeping.keep_audio
        self._put(lambda: prune(keeping, self.folder, datetime.now(UTC)))

    def purge(self, purge: Redaction) -> None:
        """Remove everything said in a stretch of time from all files, however long that takes.

        Text of that stretch that comes later is not written. A purge is never dropped.
        """
        self._purges.ask(purge)
        with suppress(queue.Full):  # a full queue wakes the thread anyway
            self._queue.put_nowait(lambda: None)

    def await_mark(self, timeout_s: float) -> bool:
        """Wait until a kill can no longer lose the last purge; return whether that is reached."""
        return self._purges.marked.wait(timeout_s)

    @property
    def purging(self) -> bool:
        """Whether purged text may still be in a file."""
        return self._purges.has_pending

    @property
    def incomplete(self) -> SessionError:
        """The error of a session that ended before everything was written."""
        return SessionError(
            "session-incomplete",
            f"Not everything could be written to {self.folder}.",
            "Is the disk full? Every whole line that is there can be used.",
        )

    def close(self, timeout_s: float) -> bool:
        """Write everything pending, for at most `timeout_s`; return whether all of it is on disk.

        If the recorder was never started, nothing is written.
        """
        if not self._is_started:
            for file in self._files:
                file.close()
            return True
        until_s = time.monotonic() + timeout_s
        if self._thread.is_alive():
            with suppress(queue.Full):
                self._queue.put(None, timeout=timeout_s)
            self._thread.join(max(0.0, until_s - time.monotonic()))
        # Read after the thread has ended or timed out: what is left now is lost.
        left = self._failing or self.unwritten or self.dropped or self.purging
        return not (self._thread.is_alive() or left)

    def _go_on(self, earlier: Unfinished) -> None:
        """Rebuild the transcripts, and note that the session goes on. Raises OSError."""
        for name in NAMES:  # made again at the end
            (self.folder / name).unlink(missing_ok=True)
        self._captions.remake()
        captions, last_id = len(earlier.messages), earlier.last_id
        resumed = ResumedEvent(utc=utc_now(), captions=captions, last_id=last_id)
        self._diagnostics.add(_line(resumed))
        self._write()

    def _put(self, work: _Work) -> None:
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            # Several threads call this, and `+=` is a read and a write.
            with self._lock:
                self._full += 1

    def _broke(self, error: BaseException) -> None:
        """Count the current item as lost, and go on with the rest: captions come first."""
        # Otherwise the operator would read that the disk does not answer.
        self._busy_since_s = 0.0
        with self._lock:
            self._full += 1
        if described(error) == self._broke_by:  # already reported
            return
        self._broke_by = described(error)
        message = f"{self.incomplete.message} Its writing failed: {self._broke_by}."
        with suppress(RuntimeError):  # as in _write
            self._on_fault(Fault("diagnostics", "session-incomplete", message))

    def _run(self) -> None:
        if (earlier := self._earlier) is not None:
            self._earlier = None
            self._go_on(earlier)
        if self._may_prune:
            # Only once, even if this thread restarts. In this thread, because deleting years of
            # sessions must not delay the start.
            self._may_prune = False
            prune(self._keeping, self.folder, datetime.now(UTC))
        while (work := self._queue.get()) is not None:
            self._busy_since_s = time.monotonic()
            work()
            # After each item: a kill loses only what still waits in the queue.
            self._write()
            self._busy_since_s = 0.0
        # No record follows that a held caption could wait for.
        self._captions.settle_all()
        self._write()
        self._sum_up()
        self._write()
        for file in self._files:
            file.close()

    def _add_caption(self, message: CaptionMessage, lang: str) -> None:
        # A caption may arrive after its stretch of time was purged.
        if not self._purges.takes(message):
            self._captions.add(message, lang)

    def _add_record(self, record: Record, line: bytes) -> None:
        if not self._purges.takes(record):
            self._diagnostics.add(line)
            self._captions.settle(record)

    def _add_sound(self, record: UtteranceRecord, pcm: Pcm) -> None:
        if not self._purges.takes(record):
            self._recordings.add(record, pcm)

    def _sum_up(self) -> None:
        """Make the files of pairs and the summary from what is in the files.

        While a purge is pending no pairs are filed: `review` does it later from what is left.
        """
        name, first = self.folder.name, self._captions.first
        try:
            records = [
                record
                for record in _parsed(self._diagnostics, parse_record)
                # Rules and church words of the summary must not be off the record.
                if not (record is None or record.type == "summary" or self._purges.takes(record))
            ]
            messages = list(_parsed(self._captions.journals[first], parse_caption))
        except OSError:  # other writes fail as well, and are reported
            return
        filed: Mapping[str, Sequence[Pair]] = dict.fromkeys(NAMES, ())
        if not self.purging:
            utterances = [record for record in records if isinstance(record, UtteranceRecord)]
            filed = file_pairs(utterances, operator_edits(messages), name, first)
            for each, file in self._pairs.items():
                file.content = pair_lines(filed[each])
        summary = summarized(
            records,
            utc=utc_now(),
            session=name,
            dropped_records=self.dropped,
            pairs=len(filed[PAIRS]),
            review=len(filed[QUEUE]),
        )
        self._diagnostics.add(_line(summary))
        self._summary.content = orjson.dumps(
            summary, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        )

    def _write(self) -> None:
        if self.dropped > self._told:
            self._told = self.dropped
            self._diagnostics.add(_line(RecordsDroppedEvent(utc=utc_now(), count=self._told)))
        failed: Exception | None = None
        # Purges first, then every file: one that fails must not stop the others.
        for step in (self._purge, *(file.flush for file in self._files)):
            try:
                step()
            except Exception as error:  # noqa: BLE001 - raised after all files had their turn
                failed = failed or error
        if failed is not None and not isinstance(failed, OSError):
            raise failed
        if failed is not None and not self._failing:
            message = f"{self.folder} cannot be written: {failed.strerror or failed}."
            message += " What is missing is written as soon as it can be."
            with suppress(RuntimeError):  # the event loop may be closed already
                self._on_fault(Fault("diagnostics", "session-unwritable", message))
        self._failing = bool(failed)

    def _purge(self) -> None:
        """Do the requested purges. Raises OSError; then they stay pending."""
        if self._purges.begin():
            # Before the files are swept: cues and pairs that wait for the disk may hold the text.
            self._captions.remake()
            for file in self._pairs.values():
                file.content = None
        self._purges.do(self._note)

    def _note(self, sweep: RedactionFilter) -> None:
        self._captions.remake()
        # The transcripts are on disk before the event says that the text is gone.
        self._captions.flush()
        self._diagnostics.add(_line(event_of(sweep)))
        self._diagnostics.flush()


def _parsed(file: LineFile, parse: Callable[[bytes], T]) -> Iterator[T]:
    """Yield the parsed lines of a file, without damaged ones. Raises OSError."""
    for line in file.lines():
        with suppress(ProtocolError):  # the content of a damaged line is unknown
            yield parse(line)


def _line(record: Record | SummaryRecord) -> bytes:
    return orjson.dumps(record, default=str, option=orjson.OPT_APPEND_NEWLINE)

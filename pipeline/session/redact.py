"""Remove off-the-record speech from a session's files, retrying until it is done.

Before a file is changed, the session gets a mark (`off-record.json`), which is deleted at the end.
If the daemon is killed in between, the mark remains and the next start finishes the work first.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import orjson
import structlog

from pipeline.captions.redaction import MARK, Redaction, RedactionFilter
from pipeline.captions.subtitles import Side, cues, srt, txt, vtt
from pipeline.core.errors import SessionError
from pipeline.core.files import LineFile, WholeFile, sync, write_whole
from pipeline.core.formats import utc_now
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.events import OffRecordEvent, Record
from pipeline.session.reader import JOURNAL, RECORDS, extra_targets, journal_name, read_journal
from pipeline.session.recordings import remove_recordings
from pipeline.session.resume import in_use
from pipeline.session.training_pairs import NAMES

log = structlog.get_logger()

_REVIEWED = "reviewed.jsonl"
_MADE_AGAIN = ("report.html", "summary.json", "*.tmp", *NAMES)
"""Files that are simply deleted: they are made again, or were left by a kill or an earlier run."""
_WHOLE = {"srt": srt, "vtt": vtt, "txt": txt}
_REMEMBERED = 20  # removals whose late records are still known


class Purges:
    """The removals of a running session. `begin`, `do` and `takes` belong to one thread."""

    def __init__(self, folder: Path, files: Sequence[LineFile]) -> None:
        """`files` are all files of the session that consist of lines."""
        self._folder = folder
        self._files = files
        self._mark = WholeFile(folder / MARK)
        # Any thread appends and one thread removes; deque operations are atomic.
        self._asked: deque[Redaction] = deque()
        self._pending: deque[RedactionFilter] = deque()
        self._known: deque[RedactionFilter] = deque(maxlen=_REMEMBERED)
        # Held for two statements only, so `ask` does not wait for the disk.
        self._lock = threading.Lock()
        self.marked = threading.Event()
        """Set once the mark of the latest removal is on the disk."""

    def ask(self, purge: Redaction) -> None:
        """Request a removal; never waits, never fails."""
        with self._lock:
            self.marked.clear()
            self._asked.append(purge)

    @property
    def has_pending(self) -> bool:
        """True while words to be removed may still be in a file."""
        return bool(self._asked or self._pending)

    def takes(self, record: CaptionMessage | Record) -> bool:
        """Return whether a late record belongs to a removed utterance."""
        return any(sweep.takes(record) for sweep in self._known)

    def begin(self) -> bool:
        """Filter the lines that are still queued; return whether a removal was requested."""
        new = False
        while self._asked:
            sweep = RedactionFilter(self._asked[0])
            for file in self._files:
                file.sift(sweep.line)
            self._known.append(sweep)
            self._pending.append(sweep)  # before popleft, so that `has_pending` is true throughout
            self._asked.popleft()
            new = True
        return new

    def do(self, note: Callable[[RedactionFilter], None]) -> None:
        """Do the requested removals in the files.

        `note` is called for each removal after its lines are gone, to rewrite the transcripts and
        record the event. Then the mark is deleted. Raises OSError; then all is done again later.
        """
        if not self._pending:
            return
        self._write_mark()
        # A removal requested meanwhile is not in the mark just written. Without the lock it could
        # come between the check and `set`, and count as marked.
        with self._lock:
            if not self._asked:
                self.marked.set()
        for sweep in self._pending:
            for line in (line for file in self._files for line in file.lines()):
                sweep.line(line)
        # Again, with the ids: without the records, only they tell which recordings to delete.
        self._write_mark()
        for sweep in self._pending:
            _sweep(self._folder, sweep, self._files)
        for sweep in self._pending:
            # Only now, since transcripts are made from the journals, which must be filtered first.
            note(sweep)
        # Last, so that after an earlier kill the next start does everything again.
        (self._folder / MARK).unlink(missing_ok=True)
        self._pending.clear()

    def _write_mark(self) -> None:
        self._mark.content = orjson.dumps([asdict(sweep.found) for sweep in self._pending])
        self._mark.flush()


def event_of(sweep: RedactionFilter) -> OffRecordEvent:
    """Return the event of a finished removal."""
    from_s, to_s = round(sweep.purge.from_s, 3), round(sweep.purge.to_s, 3)
    return OffRecordEvent(utc=utc_now(), from_s=from_s, to_s=to_s, captions=sweep.captions)


def finish_purges(directory: Path) -> None:
    """Finish the removals of killed daemons, in every session of a folder.

    A failure is logged and the mark stays; such a session is never continued.
    """
    for mark in sorted(directory.glob(f"*/{MARK}")):
        try:
            if not in_use(mark.parent / JOURNAL):
                _finish(mark.parent, mark)
        # A truncated mark or one of another version raises one of the last three.
        except (OSError, SessionError, ValueError, TypeError, KeyError) as error:
            log.warning("not purged", code="purge-owed", session=str(mark.parent), error=str(error))


def _finish(folder: Path, mark: Path) -> None:
    extra = [journal_name(lang) for lang in extra_targets(folder)]
    names = (RECORDS, JOURNAL, *extra)
    files = [LineFile(folder / name, keep=True) for name in names]
    records = files[names.index(RECORDS)]
    try:
        files[names.index(JOURNAL)].lock()  # no daemon may continue the session meanwhile
        purges = Purges(folder, files)
        for each in orjson.loads(mark.read_bytes()):
            purges.ask(Redaction(each["from_s"], each["to_s"], tuple(each["ids"])))
        purges.begin()

        def note(sweep: RedactionFilter) -> None:
            # Before the transcripts. A kill in between leaves the mark, and all is done again.
            records.add(orjson.dumps(event_of(sweep), option=orjson.OPT_APPEND_NEWLINE))
            records.flush()
            _remake_transcripts(folder)

        purges.do(note)
    finally:
        for file in files:
            file.close()  # which also gives up the lock on the journal
    log.info("purged", session=str(folder))


def _sweep(folder: Path, sweep: RedactionFilter, files: Sequence[LineFile]) -> None:
    """Filter all files of a session except its transcripts. Raises OSError."""
    for file in files:
        file.rewrite(sweep.line)
    if (folder / _REVIEWED).exists():
        reviewed = LineFile(folder / _REVIEWED, keep=True)
        try:
            reviewed.rewrite(sweep.line)
        finally:
            reviewed.close()
    remove_recordings(folder, sweep.has)
    for pattern in _MADE_AGAIN:
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    sync(folder)  # else a power cut could bring an old file back


def _remake_transcripts(folder: Path) -> None:
    messages = read_journal(folder)
    extra = {lang: read_journal(folder, lang) for lang in extra_targets(folder)}
    paths = list(folder.glob("transcript.*.*"))
    # If each spoken language has captions, the transcripts come from them. Then only the first
    # target has no journal of its own, even if it was spoken first.
    others = {path.name.split(".")[1] for path in paths} - extra.keys()
    source = messages[0].source.lang if messages and len(others) > 1 else ""
    for path in paths:
        _, lang, ending = path.name.split(".", 2)
        side: Side = "source" if lang == source and lang not in extra else "target"
        if ending in _WHOLE:
            content = _WHOLE[ending](cues(extra.get(lang, messages), side))
            write_whole(path, content.encode())

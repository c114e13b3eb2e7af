"""Find the session that a crash, a kill or a power cut left unfinished, so that it can continue.

The journal has the shown captions, the events the operator's settings. An ended session or a
rehearsal is never continued.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pipeline.captions.redaction import MARK
from pipeline.captions.subtitles import languages
from pipeline.config.schema import Settings
from pipeline.core.errors import SessionError
from pipeline.core.files import try_lock
from pipeline.protocol.caption import CaptionMessage
from pipeline.records.events import (
    CommandEvent,
    NoticeEvent,
    OffRecordEvent,
    Record,
    ResumedEvent,
)
from pipeline.records.health import HealthRecord
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.reader import (
    JOURNAL,
    extra_targets,
    read_journal,
    read_records,
    sessions,
    start_utc,
)

_DONE = ("command", "notice", "off-record", "rule")
"""Events of an operator's actions. They must be kept, even if nothing was said."""
# These endings distinguish the name of a played file from a microphone's name.
_FILES = (".wav", ".flac", ".ogg", ".mp3", ".m4a", ".mp4", ".mov", ".webm", ".mkv", ".aiff")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The files of an unfinished session, as needed to continue it."""

    folder: Path
    started_utc: datetime
    messages: tuple[CaptionMessage, ...]
    """The journal, as written."""
    records: tuple[Record, ...]
    """The lines of diagnostics.jsonl, as written."""
    extra_journals: Mapping[str, tuple[CaptionMessage, ...]] = field(default_factory=dict)
    """The journals of the target languages after the first."""

    def journals(self, first: str) -> dict[str, tuple[CaptionMessage, ...]]:
        """Return the journals by target language; `first` is the language of `messages`."""
        return {first: self.messages, **self.extra_journals}

    @property
    def last_id(self) -> int:
        """The highest id of an utterance, 0 without any."""
        ids = [message.id for message in self.messages]
        ids += [record.id for record in self.records if isinstance(record, UtteranceRecord)]
        return max(ids, default=0)

    def audio_s(self, now_utc: datetime) -> float:
        """Return the position of the session's audio now, in seconds.

        It is the last health record's position plus the time since then, since the clock may have
        been set earlier; or the end of the last caption if later, since a file may play faster.
        """
        heard_s = max((message.end_s for message in self.messages), default=0.0)
        health = [record for record in self.records if isinstance(record, HealthRecord)]
        if not health:
            return max(heard_s, (now_utc - self.started_utc).total_seconds())
        since_s = (now_utc - datetime.fromisoformat(health[-1].utc)).total_seconds()
        return max(heard_s, health[-1].audio_s + since_s)

    @property
    def runs(self) -> int:
        """Number of daemon starts for this session."""
        return 1 + sum(isinstance(record, ResumedEvent) for record in self.records)

    @property
    def notice(self) -> NoticeEvent | None:
        """The notice on every screen, if there was one."""
        # An event without texts removed the notice before it.
        notices = [each for each in self.records if isinstance(each, NoticeEvent)]
        return notices[-1] if notices and notices[-1].texts else None

    @property
    def forced_language(self) -> str:
        """The spoken language that an operator has set, empty if none."""
        said = (each for each in reversed(self.records) if isinstance(each, CommandEvent))
        return next((each.lang for each in said if each.name == "spoken"), "")

    def set_by_operator(self, on: str, off: str) -> bool:
        """Return whether the later of two commands, such as blank and unblank, was `on`."""
        return self.last_command((on, off)) == on

    def last_command(self, names: Collection[str]) -> str:
        """Return the latest of the commands `names`, empty if none of them was given.

        The event of a finished purge counts only if a kill has lost the command: it may be written
        long after the command, when the operator is on the record again.
        """
        given = [record.name for record in self.records if isinstance(record, CommandEvent)]
        # After an error of the disk a purge is done again, with the same event.
        purges = {(r.from_s, r.to_s) for r in self.records if isinstance(r, OffRecordEvent)}
        if len(purges) > given.count("off-record"):
            events = [each for each in self.records if each.type == "event"]
            done = [each.name if each.event == "command" else each.event for each in events]
            return next((name for name in reversed(done) if name in names), "")
        return next((name for name in reversed(given) if name in names), "")


def unfinished_session(settings: Settings, now_utc: datetime) -> Unfinished | None:
    """Return the newest session if it can continue: same languages, recent, not ended.

    Starts that failed before anything was said are skipped. A service does not continue the session
    of a played file, nor the other way round. An unreadable session is left as it is. A session
    that another daemon is writing is not taken, nor one whose files may contain off-the-record
    words (pipeline.session.redact).
    """
    try:
        for folder in reversed(sessions(Path(settings.session.directory))):
            began_utc = start_utc(folder.name)
            # The newest decides: continuing an older one would mix two services.
            if began_utc is None or in_use(folder / JOURNAL) or (folder / MARK).exists():
                return None
            records = read_records(folder)
            # Before `_fits`, since a start with a wrong language must not end the search.
            if is_empty(folder, records):
                continue
            if not _fits(folder, records, settings, now_utc):
                return None
            return Unfinished(
                folder,
                began_utc,
                tuple(read_journal(folder)),
                tuple(records),
                {lang: tuple(read_journal(folder, lang)) for lang in extra_targets(folder)},
            )
    except (OSError, SessionError, ValueError, KeyError, TypeError):  # a time without its zone
        return None
    return None


def is_empty(folder: Path, records: Sequence[Record]) -> bool:
    """Whether it is a service without speech and without commands."""
    modes = {record.mode for record in records if isinstance(record, HealthRecord)}
    return not modes - {"live"} and is_untouched(folder, records)


def is_untouched(folder: Path, records: Sequence[Record]) -> bool:
    """Whether a session has no speech and no commands. Raises OSError."""
    said = any(isinstance(record, UtteranceRecord) for record in records)
    done = any(record.type == "event" and record.event in _DONE for record in records)
    return not (said or done or (folder / JOURNAL).stat().st_size)


def _has_languages(folder: Path, source: str, targets: Sequence[str]) -> bool:
    """Whether a session's captions have this source and this first target language."""
    # The file names show it even before anything was said.
    target, extra = targets[0], extra_targets(folder)
    if target in extra:
        return False
    # Before, one language was spoken; now several are. The source transcripts came from the first
    # journal and would be rebuilt from an empty one.
    if source in targets and source not in extra:
        return False
    if not all((folder / f"transcript.{lang}.srt").is_file() for lang in (source, target)):
        return False
    # Swapped languages give the same two names. Each of several spoken languages has captions.
    return source in extra or languages(read_journal(folder)).get("source") != target


def _fits(folder: Path, records: Sequence[Record], settings: Settings, now_utc: datetime) -> bool:
    """Whether a session has these languages and this audio source, and should continue."""
    if not _has_languages(folder, settings.translate.source, settings.translate.langs):
        return False
    # Health records name the microphone, or the file that was played.
    heard = [r.source for r in records if isinstance(r, HealthRecord) and r.source]
    now_file, then_file = Path(settings.audio.input).name, heard[-1] if heard else ""
    is_other = then_file != now_file if now_file else Path(then_file).suffix.lower() in _FILES
    return not is_other and _goes_on(records, settings.session.resume_s, now_utc)


def in_use(journal: Path) -> bool:
    """Return whether a running daemon has locked this journal. Raises OSError."""
    fd = os.open(journal, os.O_RDONLY)
    try:
        # If the lock was free, closing releases it at once.
        return not try_lock(fd)
    finally:
        os.close(fd)


def _goes_on(every: Sequence[Record], resume_s: float, now_utc: datetime) -> bool:
    records = _without_idle_runs(every)
    health = [record for record in records if isinstance(record, HealthRecord)]
    # A crash before the first health record left nothing worth continuing.
    if not health or health[-1].mode != "live":
        return False
    # Any record is a sign of life, not only a health record.
    age_s = (now_utc - datetime.fromisoformat(records[-1].utc)).total_seconds()
    if not 0 <= age_s <= resume_s:  # below 0: the clock was set back, the age is unknown
        return False
    # Only the events of the last run count. A failed run has an end event too.
    last: list[str] = [record.event for record in records if record.type == "event"]
    if "resumed" in last:
        last = last[len(last) - last[::-1].index("resumed") :]
    return "end" not in last or "broken" in last


def _without_idle_runs(records: Sequence[Record]) -> Sequence[Record]:
    """Remove the last runs that ended without speech or commands, so that a run that crashed
    before them can still continue.
    """
    starts = [n for n, record in enumerate(records) if isinstance(record, ResumedEvent)]
    for start in reversed(starts):
        run = records[start:]
        events = {record.event for record in run if record.type == "event"}
        said = any(isinstance(record, UtteranceRecord) for record in run)
        # A killed run has no end event, but its own records show its time.
        if said or events.intersection(_DONE) or "end" not in events:
            break
        records = records[:start]
    return records

"""Find the session that a crash, a kill or a power cut left unfinished, so that it can continue.

The journal holds what was shown, the events what the operator had set. A session that was ended is
never continued, nor is a rehearsal.
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
    RuleEvent,
    held_rules,
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
"""Events of what an operator did: they must not be forgotten, whatever was said."""
# By these the name of a file that was played is told from a microphone's.
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
    """Those of the target languages beside the first."""

    def journals(self, first: str) -> dict[str, tuple[CaptionMessage, ...]]:
        """Return the journals by target language; `first` is that of `messages`."""
        return {first: self.messages, **self.extra_journals}

    @property
    def last_id(self) -> int:
        """The highest id of an utterance, 0 without any."""
        ids = [message.id for message in self.messages]
        ids += [record.id for record in self.records if isinstance(record, UtteranceRecord)]
        return max(ids, default=0)

    def audio_s(self, now_utc: datetime) -> float:
        """Return the position of the session's audio now, in seconds.

        That of the last health record, and the time since it: the clock may have been set before.
        Or that of the last caption if it is later: a file may be played faster.
        """
        heard_s = max((message.end_s for message in self.messages), default=0.0)
        health = [record for record in self.records if isinstance(record, HealthRecord)]
        if not health:
            return max(heard_s, (now_utc - self.started_utc).total_seconds())
        since_s = (now_utc - datetime.fromisoformat(health[-1].utc)).total_seconds()
        return max(heard_s, health[-1].audio_s + since_s)

    @property
    def runs(self) -> int:
        """Number of times that the daemon was started for it."""
        return 1 + sum(isinstance(record, ResumedEvent) for record in self.records)

    @property
    def notice(self) -> NoticeEvent | None:
        """The notice that stood on every screen, if one did."""
        # One without texts has taken the one before it away.
        told = [each for each in self.records if isinstance(each, NoticeEvent)]
        return told[-1] if told and told[-1].texts else None

    @property
    def forced_language(self) -> str:
        """The language that an operator has said is spoken, empty if none."""
        said = (each for each in reversed(self.records) if isinstance(each, CommandEvent))
        return next((each.lang for each in said if each.name == "spoken"), "")

    @property
    def held_rules(self) -> tuple[RuleEvent, ...]:
        """What operators held for the service."""
        return held_rules(self.records)

    def set_by_operator(self, on: str, off: str) -> bool:
        """Return whether the later of two commands, such as blank and unblank, was `on`."""
        return self.last_command((on, off)) == on

    def last_command(self, names: Collection[str]) -> str:
        """Return the latest of some commands, empty if there was none of them.

        The event of a finished purge counts where a kill has lost the command. Otherwise it does
        not: it may be written long after the command, when the operator is on the record again.
        """
        given = [record.name for record in self.records if isinstance(record, CommandEvent)]
        purges = sum(isinstance(record, OffRecordEvent) for record in self.records)
        if purges > given.count("off-record"):
            events = [each for each in self.records if each.type == "event"]
            told = [each.name if each.event == "command" else each.event for each in events]
            return next((name for name in reversed(told) if name in names), "")
        return next((name for name in reversed(given) if name in names), "")


def unfinished_session(settings: Settings, now_utc: datetime) -> Unfinished | None:
    """Return the newest session if it can continue: same languages, recent, not ended.

    Starts that failed before anything was said are passed over; nor does a service go on with the
    session of a file that was played, or the other way round.
    One that cannot be read is left as it is. One that another daemon is writing is not taken, nor
    is one in whose files words may be that were said off the record (pipeline.session.redact).
    """
    try:
        for folder in reversed(sessions(Path(settings.session.directory))):
            began_utc = start_utc(folder.name)
            # The newest decides: to go on with an older one would mix two services.
            if began_utc is None or in_use(folder / JOURNAL) or (folder / MARK).exists():
                return None
            records = read_records(folder)
            # Before `_fits`: a start with a wrong language must not end the search.
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
    except (OSError, SessionError, ValueError, KeyError, TypeError):  # of a time without its zone
        return None
    return None


def is_empty(folder: Path, records: Sequence[Record]) -> bool:
    """Whether it is a service in which nobody spoke and nobody commanded anything."""
    modes = {record.mode for record in records if isinstance(record, HealthRecord)}
    return not modes - {"live"} and is_untouched(folder, records)


def is_untouched(folder: Path, records: Sequence[Record]) -> bool:
    """Whether nobody spoke and nobody commanded anything in a session. Raises OSError."""
    said = any(isinstance(record, UtteranceRecord) for record in records)
    done = any(record.type == "event" and record.event in _DONE for record in records)
    return not (said or done or (folder / JOURNAL).stat().st_size)


def _has_languages(folder: Path, source: str, targets: Sequence[str]) -> bool:
    """Whether a session's captions are of this source and this first target language."""
    # The names of files tell it before anything was said as well.
    target, extra = targets[0], extra_targets(folder)
    if target in extra:
        return False
    # One language was spoken, now several are: its transcripts, made of the first journal, would
    # be made anew of a journal that is empty.
    if source in targets and source not in extra:
        return False
    if not all((folder / f"transcript.{lang}.srt").is_file() for lang in (source, target)):
        return False
    # The other way round there are the same two names. Of several spoken ones each has captions.
    return source in extra or languages(read_journal(folder)).get("source") != target


def _fits(folder: Path, records: Sequence[Record], settings: Settings, now_utc: datetime) -> bool:
    """Whether a session is of these languages and of this source, and is to go on."""
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
        # Closing gives the lock back at once, if it was free: it was only a question.
        return not try_lock(fd)
    finally:
        os.close(fd)


def _goes_on(every: Sequence[Record], resume_s: float, now_utc: datetime) -> bool:
    records = _without_idle_runs(every)
    health = [record for record in records if isinstance(record, HealthRecord)]
    # A crash before the first health record left nothing worth continuing.
    if not health or health[-1].mode != "live":
        return False
    # Any record is a sign of life, not only one of health.
    age_s = (now_utc - datetime.fromisoformat(records[-1].utc)).total_seconds()
    if not 0 <= age_s <= resume_s:  # below 0: the clock was set back, the age is unknown
        return False
    # Only the events of the last run count. A run that broke down has an end event too.
    last: list[str] = [record.event for record in records if record.type == "event"]
    if "resumed" in last:
        last = last[len(last) - last[::-1].index("resumed") :]
    return "end" not in last or "broken" in last


def _without_idle_runs(records: Sequence[Record]) -> Sequence[Record]:
    """Leave out the runs at the end that were ended before anybody spoke or commanded anything:
    what crashed before them stays to be gone on with.
    """
    starts = [n for n, record in enumerate(records) if isinstance(record, ResumedEvent)]
    for start in reversed(starts):
        run = records[start:]
        events = {record.event for record in run if record.type == "event"}
        said = any(isinstance(record, UtteranceRecord) for record in run)
        # One that was killed has no end: by its own records is known when that was.
        if said or events.intersection(_DONE) or "end" not in events:
            break
        records = records[:start]
    return records

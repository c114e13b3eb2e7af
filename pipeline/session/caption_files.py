"""The captions of a session in one target language: a journal, and the transcripts made of it."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from pipeline.captions.subtitles import Cue, Side, cues, follow, srt, txt, vtt, vtt_cue
from pipeline.core.errors import SessionError
from pipeline.core.files import GrowingFile, LineFile, do_all
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import encode, parse_caption
from pipeline.records.events import Record
from pipeline.records.utterance import TranslationRecord, UtteranceRecord
from pipeline.session.reader import JOURNAL, journal_name, read_session_lines

_WAITING = 1_000
"""Cues queued while a file cannot be written; with more, it is rewritten from the journal."""


class _Subtitles:
    """One transcript file. `waiting` holds cues to append; `stale` requests a full rewrite."""

    def __init__(
        self,
        path: Path,
        whole: Callable[[Iterable[Cue]], str],
        one: Callable[[int, Cue], str],
        *,
        keep: bool,
    ) -> None:
        self.file = GrowingFile(path, keep=keep)
        self.waiting: list[Cue] = []
        self.stale = False
        self._cues = 0
        self._whole = whole
        self._one = one
        if not keep:
            self.file.append(whole([]).encode())  # a WebVTT file has a header

    def add(self, cue: Cue) -> None:
        if len(self.waiting) < _WAITING:
            self.waiting.append(cue)
        else:
            self.stale = True

    def replace(self, every: Sequence[Cue]) -> None:
        self.file.replace(self._whole(every).encode())
        self._cues = len(every)
        self.waiting.clear()
        self.stale = False

    def append(self) -> None:
        while self.waiting:
            self.file.append(self._one(self._cues + 1, self.waiting[0]).encode())
            self._cues += 1
            del self.waiting[0]  # only now, so that a failed write is tried again


class Transcripts:
    """The files of a session, three for each of its languages."""

    def __init__(
        self, folder: Path, langs: Mapping[Side, str], journal: str = JOURNAL, *, keep: bool = False
    ) -> None:
        """Create the files of `langs` for the captions of a journal. Raises OSError.

        With `keep`, existing files stay unchanged until `remake` and `flush`.
        """
        self._folder = folder
        self._journal = journal
        self._newest_id = self._newest_seq = -1
        self._held: dict[int, CaptionMessage | None] = {}
        self._last: dict[Side, Cue | None] = dict.fromkeys(langs)
        self._files = {
            side: [
                _Subtitles(folder / f"transcript.{langs[side]}.{ending}", whole, one, keep=keep)
                for ending, whole, one in (
                    ("srt", srt, lambda number, cue: srt([cue], number)),
                    ("vtt", vtt, lambda _, cue: vtt_cue(cue)),
                    ("txt", txt, lambda _, cue: txt([cue])),
                )
            ]
            for side in langs
        }
        self._all = [subtitles for files in self._files.values() for subtitles in files]

    def hold(self, caption_id: int) -> None:
        """Write nothing of this caption until `settle`: it may change."""
        if caption_id in self._held:
            return
        self._held[caption_id] = None
        if caption_id <= self._newest_id:
            # The files may have an operator's text of it that was undone since.
            for subtitles in self._all:
                subtitles.stale = True

    def settle(self, caption_id: int | None = None) -> None:
        """Write the newest version of a held caption; without an id, of all held captions."""
        # A list, because the loop removes entries from the dictionary.
        keys = list(self._held) if caption_id is None else [caption_id]
        for key in keys:
            if message := self._held.pop(key, None):
                self.add(message)

    def add(self, message: CaptionMessage) -> None:
        """Add a final caption. A new version of an earlier one causes a rewrite of the files."""
        if message.id in self._held:
            self._held[message.id] = message
            return
        # Ids increase as utterances end: a lower id is a new version of a written caption.
        latest = message.id > self._newest_id
        self._newest_id = max(self._newest_id, message.id)
        self._newest_seq = max(self._newest_seq, message.seq)
        if not latest:
            for subtitles in self._all:
                subtitles.stale = True
            return
        for side, files in self._files.items():
            if cue := follow(last := self._last[side], message, side):
                self._last[side] = cue
                for subtitles in files:
                    subtitles.add(cue)
                    # A typed cue before it must end where it begins, but is already written.
                    subtitles.stale |= last is not None and message.start_s < last.end_s

    def remake(self) -> None:
        """Rebuild the files from the current journal, whatever was added before."""
        # Held captions are in the journal, so in the new files: their next version is a change.
        self._newest_id = max(self._newest_id, *self._held, -1)
        self._held.clear()
        # The journal may have lost the newest message: waiting for it would never end.
        self._newest_seq = -1
        for subtitles in self._all:
            subtitles.waiting.clear()
            subtitles.stale = True

    def flush(self) -> None:
        """Write the files; the journal must have been written before.

        Raises the first OSError after trying every file; what is not written stays queued.
        """
        every: dict[Side, list[Cue]] = {}

        def write(side: Side, subtitles: _Subtitles) -> None:
            if subtitles.stale:
                if not every:  # read once, if at all
                    every.update(self._from_journal())
                subtitles.replace(every[side])
            subtitles.append()

        do_all(
            partial(write, side, subtitles)
            for side, files in self._files.items()
            for subtitles in files
        )

    def close(self) -> None:
        """Close the files."""
        for subtitles in self._all:
            subtitles.file.close()

    def _from_journal(self) -> dict[Side, list[Cue]]:
        """Return all cues of the journal. Raises OSError if a caption is missing in it."""
        try:
            messages = read_session_lines(self._folder / self._journal, parse_caption)
        except SessionError as error:
            raise OSError(errno.EIO, error.message) from None
        # A journal that could not be written lacks captions that the files have.
        if max((message.seq for message in messages), default=-1) < self._newest_seq:
            raise OSError(errno.EIO, "the journal is not written yet")
        # A session that goes on begins with the captions of the run before.
        self._newest_id = max(self._newest_id, *(message.id for message in messages), -1)
        messages = [message for message in messages if message.id not in self._held]
        made = {side: cues(messages, side) for side in self._files}
        # The next cue follows the last cue of the rebuilt files.
        self._last = {side: every[-1] if every else None for side, every in made.items()}
        return made


class CaptionsByLanguage:
    """The journal and the transcripts of each target language of a session."""

    def __init__(self, folder: Path, source: str, targets: Sequence[str], *, keep: bool) -> None:
        """Create the files, or with `keep` continue the journals. Raises OSError.

        The source text is in the files of the first target: `captions.jsonl` and its transcripts.
        If several languages are spoken, each has captions, and these are its transcripts.
        """
        self.first = targets[0]
        self.journals: dict[str, LineFile] = {}
        self.transcripts: dict[str, Transcripts] = {}
        for lang in targets:
            name = journal_name("" if lang == self.first else lang)
            # Each line is synced to disk: a power cut must not lose what people have read.
            self.journals[lang] = LineFile(folder / name, sync=True, keep=keep)
            sides: dict[Side, str] = {"target": lang}
            if lang == self.first:
                # One lock for the folder is enough: who locks the first journal owns the session.
                self.journals[lang].lock()
                # Otherwise two files would have the same name.
                if source not in targets:
                    sides = {"source": source, "target": lang}
            self.transcripts[lang] = Transcripts(folder, sides, name, keep=keep)

    def __len__(self) -> int:
        return sum(map(len, self.journals.values()))

    @property
    def lost(self) -> int:
        """Captions dropped so far."""
        return sum(journal.lost for journal in self.journals.values())

    def add(self, message: CaptionMessage, lang: str) -> None:
        """Write a final caption."""
        self.journals[lang].add(encode(message) + b"\n")
        self.transcripts[lang].add(message)

    def settle(self, record: Record) -> None:
        """Write the transcripts that waited for an utterance's record."""
        if isinstance(record, TranslationRecord) and record.target in self.transcripts:
            self.transcripts[record.target].settle(record.id)
        elif isinstance(record, UtteranceRecord):
            self.transcripts[self.first].settle(record.id)
            if record.filtered:  # then no record of a translation follows
                self.settle_all(record.id)

    def settle_all(self, caption_id: int | None = None) -> None:
        """Write a held caption to the transcripts; without an id, all held captions."""
        for transcripts in self.transcripts.values():
            transcripts.settle(caption_id)

    def remake(self) -> None:
        """Rebuild all transcripts from the journals."""
        for transcripts in self.transcripts.values():
            transcripts.remake()

    def flush(self) -> None:
        """Write everything pending, a transcript after its journal; then raise the first OSError.

        One full or broken file does not keep the others from the disk.
        """
        pairs = zip(self.journals.values(), self.transcripts.values(), strict=True)
        do_all(file.flush for pair in pairs for file in pair)

    def close(self) -> None:
        """Close all files."""
        for lang, journal in self.journals.items():
            journal.close()
            self.transcripts[lang].close()

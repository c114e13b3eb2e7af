"""The captions of a session in one target language: a journal, and the transcripts made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pipeline.captions.subtitles import Side
from pipeline.core.files import LineFile
from pipeline.protocol.caption import CaptionMessage
from pipeline.protocol.codec import encode
from pipeline.records.events import Record
from pipeline.records.translation import TranslationRecord
from pipeline.records.utterance import UtteranceRecord
from pipeline.session.reader import JOURNAL, journal_name
from pipeline.session.transcripts import Transcripts


class CaptionFiles:
    """A journal, such as `captions.jsonl`, and the transcripts made of it."""

    def __init__(
        self, folder: Path, journal: str, langs: Mapping[Side, str], *, keep: bool
    ) -> None:
        """Make them, or with `keep` go on with the journal. Raises OSError.

        `journal` is its name; `langs` are the languages of the transcripts.
        """
        # Each line is forced to the disk: what people have read is not lost by a power cut.
        self.journal = LineFile(folder / journal, sync=True, keep=keep)
        # One lock for the folder is enough: who has the first journal has the session.
        if journal == JOURNAL:
            self.journal.lock()
        self._transcripts = Transcripts(folder, langs, journal, keep=keep)

    def __len__(self) -> int:
        """Return how many lines of the journal wait for the disk."""
        return len(self.journal)

    def add(self, message: CaptionMessage) -> None:
        """Write a final caption."""
        self.journal.add(encode(message) + b"\n")
        self._transcripts.add(message)

    def restore(self, messages: Iterable[CaptionMessage]) -> None:
        """Make the transcripts of what is in the journal already. Raises OSError."""
        self._transcripts.clear()
        for message in messages:
            self._transcripts.add(message)

    def hold(self, caption_id: int) -> None:
        """Write no transcript of a caption until `settle`: it may change."""
        self._transcripts.hold(caption_id)

    def settle(self, caption_id: int | None = None) -> None:
        """Write the transcript of a caption that was held; without an id of all."""
        self._transcripts.settle(caption_id)

    def remake(self) -> None:
        """Make the transcripts anew from the journal as it is."""
        self._transcripts.remake()

    def flush(self) -> None:
        """Write what waits, the transcripts after the journal. Raises OSError."""
        try:
            self.journal.flush()
        finally:
            # Even then: what a transcript only appends needs no journal.
            self._transcripts.flush()

    def close(self) -> None:
        """Close all files."""
        self.journal.close()
        self._transcripts.close()


class CaptionsByLanguage:
    """The caption files of a session, by target language."""

    def __init__(self, folder: Path, source: str, targets: Sequence[str], *, keep: bool) -> None:
        """Make them. Raises OSError.

        What was said is in the files of the first target, `captions.jsonl` and its transcripts.
        """
        self.first = targets[0]
        sides: Mapping[Side, str] = {"source": source, "target": self.first}
        self.files = {self.first: CaptionFiles(folder, JOURNAL, sides, keep=keep)}
        for lang in targets[1:]:
            self.files[lang] = CaptionFiles(folder, journal_name(lang), {"target": lang}, keep=keep)

    def __len__(self) -> int:
        """Return how many lines of journals wait for the disk."""
        return sum(map(len, self.files.values()))

    @property
    def journals(self) -> list[LineFile]:
        """The journals."""
        return [files.journal for files in self.files.values()]

    @property
    def lost(self) -> int:
        """Captions given up so far."""
        return sum(journal.lost for journal in self.journals)

    def restore(self, journals: Mapping[str, Iterable[CaptionMessage]]) -> None:
        """Make the transcripts of what is in journals already. Raises OSError."""
        for lang, files in self.files.items():
            files.restore(journals.get(lang, ()))

    def settle(self, record: Record) -> None:
        """Write the transcripts that waited for an utterance's record."""
        if isinstance(record, TranslationRecord) and record.target in self.files:
            self.files[record.target].settle(record.id)
        elif isinstance(record, UtteranceRecord):
            self.files[self.first].settle(record.id)
            if record.filtered:  # then no record of a translation follows
                self.settle_all(record.id)

    def settle_all(self, caption_id: int | None = None) -> None:
        """Write the transcripts of a caption that was held; without an id of all."""
        for files in self.files.values():
            files.settle(caption_id)

    def remake(self) -> None:
        """Make all transcripts anew."""
        for files in self.files.values():
            files.remake()

    def flush(self) -> None:
        """Write what waits, of each language; then raise the first OSError."""
        failed: OSError | None = None
        for files in self.files.values():
            try:
                files.flush()
            except OSError as error:
                # One full or broken file must not keep the other languages from the disk.
                failed = failed or error
        if failed is not None:
            raise failed

    def close(self) -> None:
        """Close all files."""
        for files in self.files.values():
            files.close()

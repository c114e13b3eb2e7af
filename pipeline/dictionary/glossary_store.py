"""The glossaries in force: shipped entries, the church's own, and those held for one service.

There is one file for each language pair. Operators' entries are appended to the church's own
file, or are kept in memory until the service ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from pipeline.core.errors import DictionaryError, reading, writing
from pipeline.core.files import read_at_most, write_whole
from pipeline.core.resources import bundled
from pipeline.dictionary.glossary import Glossary, Term, compile_glossary, make_term, parse_terms
from pipeline.dictionary.rules import appended, without

_NAME = "glossary.{}-{}.toml"
"""Name of the church's own file, in the folder of its own rules."""

_MOST_BYTES = 1_000_000
"""Eight times the largest shipped file. Reloading a larger one would take seconds."""


class GlossaryStore:
    """Holds a glossary for each target language. Any thread may read; one thread changes them."""

    def __init__(self, source: str, folder: Path, *, is_on: bool) -> None:
        """Describe the files of a spoken language; `folder` holds the church's own."""
        self.names: Collection[str] = ()
        """Names of this service that may also be common words, in lower case."""
        self._source = source
        self._folder = folder
        self._is_on = is_on
        self._terms: dict[str, tuple[Term, ...]] = {}
        self._held: dict[str, tuple[Term, ...]] = {}
        self._compiled: Mapping[str, Glossary] = {}

    @property
    def files(self) -> list[Path]:
        """The existing files, shipped ones first; the church's files may be created later.

        Raises DictionaryError.
        """
        return [file for lang in self._langs() for file in self._files(lang)]

    def of(self, target: str) -> Glossary:
        """Return the glossary into a language; an empty one if there is none."""
        return self._compiled.get(target) or compile_glossary((), target)

    def own(self, target: str) -> Path:
        """Return the church's own file into a language; it may not exist."""
        return self._folder / _NAME.format(self._source, target)

    def load(self) -> None:
        """Read the files and put their entries in force. Raises DictionaryError."""
        self._terms = {lang: self._parsed(self._files(lang)) for lang in self._langs()}
        self._compile()

    def take(self, other: GlossaryStore) -> None:
        """Replace files and entries by those of another store; held entries stay."""
        self._folder, self._is_on, self._terms = other._folder, other._is_on, other._terms
        self._compile()

    def held(self, target: str) -> tuple[Term, ...]:
        """Return the entries held for this service only."""
        return self._held.get(target, ())

    def hold(self, target: str, say: str, write: str) -> Term:
        """Put an entry in force for this service; it overrides all files.

        Raises DictionaryError, also if the glossary is off.
        """
        term = self.term_to_hold(say, write)
        self.exchange(target, (), (term,))
        return term

    def term_to_hold(self, say: str, write: str) -> Term:
        """Return the entry that `hold` would put in force. Raises DictionaryError."""
        self._require_on()
        return make_term(say, write)

    def release(self, target: str, term: Term) -> None:
        """Remove an entry that `hold` has put in force."""
        self.exchange(target, (term,), ())

    def exchange(self, target: str, old: Collection[Term], new: Collection[Term]) -> None:
        """Release held entries and hold others, with one compilation, which takes a while.

        Raises DictionaryError if there are new ones and the glossary is off.
        """
        # A new entry for the same word replaces the old one; both cannot be in force.
        replaced = {term.id: term for term in new if self._is_on}
        kept = (each for each in self.held(target) if each not in old and each.id not in replaced)
        self._held[target] = (*kept, *replaced.values())
        self._compile()
        # Last: old entries are released even if the glossary is off.
        if new:
            self._require_on()

    def add(self, target: str, say: str, write: str, utc: datetime) -> tuple[Term, str]:
        """Append an entry to the church's own file and put it in force.

        Returns it and its text in the file. Raises DictionaryError; then nothing has changed.
        """
        self._require_on()
        file = self.own(target)
        term = make_term(say, write, str(file))
        values = {"say": term.say, "write": term.write}
        content, text = appended(read_own(file), "term", values, utc)
        self._put(target, content)
        return term, text

    def remove(self, target: str, text: str) -> None:
        """Remove an entry that `add` has appended from the file. Raises DictionaryError."""
        file = self.own(target)
        self._put(target, without(read_own(file), text, file))

    def _put(self, target: str, content: str) -> None:
        """Write new content of the church's own file and put it in force."""
        own = self.own(target)
        terms = self._parsed(file for file in self._files(target) if file != own)
        terms += parse_terms(content, str(own))  # raises, before anything is written
        write_own(own, content)
        # This language only: reading the others' files could raise after this one is written. The
        # operator would then try again and add the entry twice.
        self._terms = {**self._terms, target: terms}
        self._compile()

    def _parsed(self, files: Iterable[Path]) -> tuple[Term, ...]:
        return tuple(term for file in files for term in parse_terms(read_own(file), str(file)))

    def _require_on(self) -> None:
        if not self._is_on:
            fix = "Set church.glossary = true and reload."
            raise DictionaryError("dictionary-off", "The glossary is switched off.", fix)

    def _compile(self) -> None:
        langs = {*self._terms, *self._held} if self._is_on else set[str]()
        # Other threads read it, so it is replaced, never changed in place.
        self._compiled = {
            # Held entries come last: of equal phrases the later one wins.
            lang: compile_glossary((*self._terms.get(lang, ()), *self.held(lang)), lang)
            for lang in langs
        }

    def _langs(self) -> list[str]:
        """Return the target languages that have a file. Raises DictionaryError."""
        if not self._is_on:
            return []
        shipped = bundled("dictionary", "glossary").glob(f"{self._source}-*.toml")
        own = self._folder.glob(_NAME.format(self._source, "*"))
        try:
            # "en-es" and "glossary.en-es" both end with the target.
            return sorted({file.stem.rpartition("-")[2] for file in (*shipped, *own)})
        except OSError as error:  # for example, no file descriptor is left
            message = f"The glossaries in {self._folder} cannot be listed: {error.strerror}."
            fix = "Let the program's user read that folder, or set church.glossary = false."
            raise DictionaryError("dictionary-unreadable", message, fix) from None

    def _files(self, lang: str) -> list[Path]:
        shipped = bundled("dictionary", "glossary", f"{self._source}-{lang}.toml")
        return [file for file in (shipped, self.own(lang)) if file.is_file()]


def read_own(file: Path, *, is_required: bool = False) -> str:
    """Return the text of a file of rules or entries with its own line ends, "" if it is missing.

    Raises DictionaryError, also for a missing file that `is_required`.
    """
    fix = "Check dictionary.file in the settings."
    wrong = (UnicodeDecodeError,)
    with reading(f"The dictionary {file}", DictionaryError, "dictionary-unreadable", fix, wrong):
        try:
            content = read_at_most(file, _MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            if is_required:
                raise
            return ""
        if content is not None:
            return content.decode()
    raise DictionaryError(
        "dictionary-too-large",
        f"The dictionary {file} has more than {_MOST_BYTES // 1000} kB.",
        "Check dictionary.file in the settings, or remove rules.",
    )


def write_own(file: Path, content: str) -> None:
    """Write one of the church's files atomically. Raises DictionaryError."""
    path = file.resolve()  # so that a symlink stays a symlink
    mode = path.stat().st_mode if path.exists() else None
    fix = f"Let the program's user write in {path.parent}, or set dictionary.file."
    with writing(file, DictionaryError, "dictionary-unwritable", fix):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content.encode())
        # The file was replaced by a new one, so its mode must be restored.
        if mode is not None:
            path.chmod(mode)

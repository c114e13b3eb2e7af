"""The dictionary in force: the shipped rules and the church's own, reloaded when a file changes.

It also holds the translation glossaries.

Operators' rules are appended to the church's own file; the rest of that file never changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path

from pipeline.config.schema import Settings
from pipeline.core.errors import DictionaryError, quoted
from pipeline.core.resources import bundled
from pipeline.core.types import Word
from pipeline.dictionary.glossary_store import GlossaryStore, read_own, write_own
from pipeline.dictionary.matcher import Lexicon, compile_lexicon
from pipeline.dictionary.near_names import GARBLED, NearNames, names_of, unsure_words
from pipeline.dictionary.rules import Rule, appended, free_id, key, parse_rules, without

OWN = "dictionary.toml"
"""The church's own rules in session.directory, if the settings name no other file."""

_HELD = "this service"
"""Source of a rule that is in no file."""
_HOTWORDS = 40
"""Most hotwords: they take time and space in the recognizer's prompt."""


class Dictionary:
    """Holds the lexicon. Any thread may read `lexicon`; one thread adds and takes.

    To load the files again, make another dictionary and `take` it: after an error the old rules
    stay in force.
    """

    def __init__(self, settings: Settings) -> None:
        """Load the files. Raises DictionaryError."""
        self.enabled = settings.dictionary.enabled
        """Whether texts are corrected."""
        self._lang = settings.translate.source
        self._also_spoken = settings.translate.also_spoken
        # Now: during a service no file descriptor may be left.
        self._common = common_words(self._lang)
        self._known = known_words(self._lang)
        self._named = settings.dictionary.file != ""
        self.own = Path(settings.dictionary.file or Path(settings.session.directory) / OWN)
        """The church's own file. It may be missing unless the settings name it."""
        self._names: NearNames | None = None
        self._held: tuple[Rule, ...] = ()
        self._stores = {
            lang: GlossaryStore(lang, self.own.parent, is_on=settings.church.glossary)
            for lang in settings.translate.spoken
        }
        self.glossaries = self._stores[self._lang]
        """Translations of church words into the target languages."""
        self._files = [_shipped(self._lang), self.own] if self.enabled else []
        self._stamps = self._modified()  # before reading, to notice a change in between next time
        for store in self._stores.values():
            store.load()
        shipped = {lang: _shipped(lang) for lang in self._also_spoken if self.enabled}
        self._of_others = {
            lang: parse_rules(read_own(file), str(file)) for lang, file in shipped.items()
        }
        self.lexicon = self._compiled({file: self._read(file) for file in self._files})

    @property
    def lexicon(self) -> Lexicon:
        """The rules in force."""
        return self._lexicon

    @lexicon.setter
    def lexicon(self, lexicon: Lexicon) -> None:
        # One assignment: another thread sees the old rules or the new ones, never a mix.
        self._lexicon = lexicon
        # The church's own rules apply to every spoken language.
        first = str(_shipped(self._lang))
        own = [rule for rule in lexicon.rules if rule.source != first]
        self._lexicons = {
            lang: compile_lexicon([*rules, *own]) for lang, rules in self._of_others.items()
        }
        self._tell_names()

    @property
    def names(self) -> NearNames | None:
        """Names from this service's notes; another thread may read it."""
        return self._names

    @names.setter
    def names(self, names: NearNames | None) -> None:
        self._names = names
        self._tell_names()

    def _tell_names(self) -> None:
        """Pass the names of the notes and of the church's rules to all glossaries."""
        rules = (rule for rule in self.lexicon.rules if rule.source in {str(self.own), _HELD})
        own = {rule.write.lower() for rule in rules if rule.write.istitle()}
        # A person's name may be a common word in any spoken language.
        for each in self._stores.values():
            each.names = own | set(self._names.names if self._names else ())

    def glossaries_of(self, lang: str) -> GlossaryStore:
        """Return the translations of church words from a spoken language."""
        return self._stores.get(lang, self.glossaries)

    def lexicon_of(self, lang: str) -> Lexicon:
        """Return the rules in force for a spoken language."""
        return self._lexicons.get(lang, self.lexicon)

    def lexicon_for(self, text: str, words: Sequence[Word] = (), lang: str = "") -> Lexicon:
        """Return the rules in force, plus rules that write names that were nearly heard in `text`.

        These are names from the notes and, if the recognizer was unsure of `words`, from the rules.
        `lang` is the language of the text; without it, the first spoken one.
        """
        # Everyday words are known only for the first language.
        if not self.enabled or lang in self._also_spoken:
            return self.lexicon_of(lang)
        unsure = unsure_words(text, words)
        lexicon = self.lexicon
        # Notes first: `also` keeps a phrase that exists, and the notes are about this service.
        notes = self.names
        if notes and (near := notes.found(text, unsure, self._common, self._known)):
            lexicon = lexicon.also(near, "notes")
        garbled = unsure_words(text, words, GARBLED)
        for names in names_of(lexicon.rules, self._common, str(self.own)) if unsure else ():
            near = names.found(text, unsure, self._common)
            # Without a list of words every word would be one that does not exist.
            if self._known:
                near = names.sounding(text, garbled, self._known) | near
            lexicon = lexicon.also(near, "heard")
        return lexicon

    @property
    def known_names(self) -> frozenset[str]:
        """The names that the rules write, those of the Bible and of the church."""
        lists = names_of(self.lexicon.rules, self._common, str(self.own))
        return frozenset(name for each in lists for name, _ in each.names.values())

    @property
    def hotwords(self) -> str:
        """The rare words that the recognizer should expect, separated by commas."""
        return self.lexicon.hotwords(_HOTWORDS)

    def take(self, other: Dictionary) -> None:
        """Replace files and rules by those of another dictionary, which a reload has loaded."""
        # The spoken languages stay: they change at a restart only.
        self._files, self._stamps, self.own = other._files, other._stamps, other.own
        self.enabled, self._named, self._of_others = other.enabled, other._named, other._of_others
        # Set only once: other threads must never see the lexicon without the held rules.
        held = self._held if self.enabled else ()
        self.lexicon = compile_lexicon([*other.lexicon.rules, *held]) if held else other.lexicon
        for lang, store in self._stores.items():
            store.take(other._stores[lang])

    def changed(self) -> bool:
        """Return whether a file has changed since it was loaded; true once for each change."""
        try:
            stamps = self._modified()
        except DictionaryError:  # the state of the files is unknown: check again next time
            return False
        changed = stamps != self._stamps
        self._stamps = stamps
        return changed

    def hold(self, heard: str, write: str) -> Rule:
        """Put a rule in force for this service, in no file. Raises DictionaryError."""
        # This raises before anything changes.
        rule = self.rule_to_hold(heard, write)
        # The last of equal rules wins, so held rules override all files.
        self.lexicon = compile_lexicon([*self.lexicon.rules, rule])
        self._held = (*self._held, rule)
        return rule

    def rule_to_hold(self, heard: str, write: str) -> Rule:
        """Return the rule that `hold` would put in force. Raises DictionaryError."""
        self._require_enabled()
        require_rare(heard, self._lang)
        if any(key(heard) == key(phrase) for rule in self._held for phrase in rule.hear):
            raise DictionaryError(
                "dictionary-duplicate-phrase", f"A rule for {quoted(heard)} is held already.", ""
            )
        taken = {rule.id for rule in self.lexicon.rules}
        return Rule(free_id(write, taken), (heard,), write, source=_HELD)

    def release(self, rule: Rule) -> None:
        """Remove a held rule."""
        self._held = tuple(each for each in self._held if each != rule)
        self.lexicon = compile_lexicon(each for each in self.lexicon.rules if each != rule)

    def add(self, heard: str, write: str, utc: datetime) -> tuple[Rule, str]:
        """Append an operator's rule to the church's own file and put it in force.

        Returns the rule and its text in the file. Raises DictionaryError; then nothing has changed.
        """
        self._require_enabled()
        require_rare(heard, self._lang)
        content = self._read(self.own)
        taken = {rule.id for rule in parse_rules(content, str(self.own))}
        rule = Rule(free_id(write, taken), (heard,), write, source=str(self.own))
        values = {"id": rule.id, "hear": rule.hear, "write": write}
        content, text = appended(content, "rule", values, utc)
        self._write(content)
        return rule, text

    def remove(self, text: str) -> None:
        """Remove a rule that `add` has appended from the file. Raises DictionaryError."""
        self._write(without(self._read(self.own), text, self.own))

    def _require_enabled(self) -> None:
        if not self.enabled:
            message = "The dictionary is switched off."
            fix = "Set dictionary.enabled = true and reload."
            raise DictionaryError("dictionary-off", message, fix)

    def _write(self, content: str) -> None:
        """Compile new content of the church's own file, then write it. Raises DictionaryError."""
        texts = {file: self._read(file) for file in self._files} | {self.own: content}
        lexicon = self._compiled(texts)
        write_own(self.own, content)
        # Stamps are read after writing, so that this change does not look like another person's.
        self._stamps, self.lexicon = self._modified(), lexicon

    def _compiled(self, texts: dict[Path, str]) -> Lexicon:
        rules = (rule for file, text in texts.items() for rule in parse_rules(text, str(file)))
        return compile_lexicon([*rules, *self._held])

    def _read(self, file: Path) -> str:
        """Return a file's text with its own line ends. Raises DictionaryError."""
        return read_own(file, is_required=self._named and file == self.own)

    def _modified(self) -> dict[Path, float]:
        files = (file for store in self._stores.values() for file in store.files)
        return {file: _modified_s(file) for file in (*self._files, *files)}


def _shipped(lang: str) -> Path:
    """Return the file of rules that ships for a spoken language; there may be none."""
    return Path(bundled("dictionary", f"{lang}.toml"))


def _modified_s(file: Path) -> float:
    """Return when a file was changed; 0.0 if that fails, as reading it will report why."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


@lru_cache(maxsize=4)
def common_words(lang: str) -> frozenset[str]:
    """Return the words of `dictionary/common/LANG.txt`, none if there is no such file."""
    file = bundled("dictionary", "common", f"{lang}.txt")
    if not file.is_file():
        return frozenset()
    lines = file.read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@cache
def known_words(lang: str) -> Mapping[str, int]:
    """Return the words that translators have learnt, from 1 (seldom) to 7; only English is counted.

    The names of the Bible are among them.
    """
    if lang != "en":
        return {}
    lines = bundled("models", "doubt", "words_en.txt").read_text(encoding="utf-8").splitlines()
    return {word: step for step, line in enumerate(lines, 1) for word in line.split()}


def require_rare(heard: str, lang: str) -> None:
    """Raise DictionaryError if a rule's phrase is only an everyday word."""
    if key(heard) in common_words(lang):
        raise DictionaryError(
            "dictionary-common-word",
            f"{quoted(heard)} is an everyday word: it would be changed wherever it is right.",
            "Correct this caption only, or let the rule hear two words or more.",
        )

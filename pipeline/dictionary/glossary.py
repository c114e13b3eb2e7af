"""Translations of church words: the glossary's entries, and how to find them in texts. Pure.

[[term]]
say = ["covenant"]                 # in the spoken language; plural and 's are added automatically
write = "pacto"                    # several if the sentence decides: ["ungido", "ungió"]
also = ["alianza", "concert*"]     # also correct, but never written; a star is any ending
verb = "pactar"                    # all forms of these verbs are also correct
plural = "pactos"                  # if the language's rule does not give it
not_near = ["lease"]               # senses: as in the rules of the dictionary
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache

from pipeline.core.errors import DictionaryError
from pipeline.core.terms import WantedTerm
from pipeline.dictionary import inflection
from pipeline.dictionary.matcher import Found, Lexicon, compile_lexicon, find
from pipeline.dictionary.rules import Rule, Table, context, key, lists_of, read_toml, tables_of
from pipeline.text.words import WORD, Span, begins_sentence, elided, plain

_MOST_FORMS = 4
"""Most renderings that are tried; the translator must score each."""


@dataclass(frozen=True, slots=True)
class Term:
    """One entry of a glossary file.

    `say` are the phrases of the spoken language. `write` are the forms of their rendering; the
    form that fits is written. `also` holds other correct renderings (`*` is any ending), and `verb`
    holds infinitives of which all forms are correct. A term with `also = "*"` is not checked.
    `plural`: the rendering for the plural of `say`. `name`: with a capital inside a sentence it is
    a person's name, not this term. `near`, `not_near` and `within_words` are as in a rule.
    """

    id: str
    say: tuple[str, ...]
    write: tuple[str, ...]
    also: tuple[str, ...] = ()
    verb: tuple[str, ...] = ()
    plural: tuple[str, ...] = ()
    name: bool = False
    near: frozenset[str] = frozenset()
    not_near: frozenset[str] = frozenset()
    within_words: int = 8
    source: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A term, compiled for the search in a translation."""

    term: Term
    singular: tuple[str, ...]
    plural: tuple[str, ...]
    pattern: str
    foreign: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Glossary:
    """Compiled entries of one language pair. Immutable, so a reload replaces it."""

    terms: tuple[Term, ...]
    lexicon: Lexicon
    by_rule: Mapping[str, Term]
    lang: str
    """The language of the renderings."""

    def __bool__(self) -> bool:
        """Whether there is any entry."""
        return bool(self.terms)

    def find(self, text: str) -> tuple[WantedTerm, ...]:
        """Return the terms in a text of the spoken language, each once, in order."""
        wanted: dict[str, WantedTerm] = {}
        for found in find(self.lexicon, text):
            entry = _entry(self.by_rule[found.rule.id], self.lang)
            if "*" in entry.term.also or (entry.term.name and _is_name(text, found)):
                continue
            # "the covenant's" is one covenant.
            is_singular = found.write in {found.rule.write, f"{found.rule.write}'s"}
            forms = entry.singular if is_singular else entry.plural
            name, place = entry.term.id, (found.start, found.end)
            pattern, foreign = entry.pattern, entry.foreign
            is_capital = entry.term.say[0].islower() and _is_name(text, found)
            if is_capital or (entry.term.name and text[found.start].isupper()):
                # If the translator keeps the word, it is a person's name: "Grace", "Mr Priest".
                foreign = tuple(word for word in foreign if word != key(found.rule.hear[0]))
                own = plain(text[found.start : found.end]).removesuffix("'s")
                pattern = f"{pattern}|{own}"
            wanted.setdefault(name, WantedTerm(name, *place, forms, self.lang, pattern, foreign))
        return tuple(wanted.values())


def shown(text: str, wanted: WantedTerm) -> Span | None:
    """Return the first place of a term's rendering in a translation, None if it has none."""
    return next(shown_all(text, wanted), None)


def shown_all(text: str, wanted: WantedTerm) -> Iterator[Span]:
    """Yield all places of a term's renderings in a translation, in order."""
    # Matched in plain words with single spaces, but returned as places in the original text.
    spans = [match.span() for match in WORD.finditer(text)]
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    plain_text = ""
    # "l'alliance" is two words here: a church word is found after any article.
    for start, end in ((a, b) for word in spans for a, b in _parted(text, *word)):
        plain_text += " " if plain_text else ""
        starts[len(plain_text)] = start
        plain_text += plain(text[start:end])
        ends[len(plain_text)] = end
    for found in re.finditer(rf"(?<!\S)(?:{wanted.pattern})(?!\S)", plain_text):
        start, end = starts[found.start()], ends[found.end()]
        if text[start:end].casefold() not in wanted.foreign:
            yield start, end


def _parted(text: str, start: int, end: int) -> list[Span]:
    cut = start + elided(text, start)
    return [(start, cut), (cut, end)] if cut > start else [(start, end)]


# Cached: one held entry makes all languages' glossaries compile again.
@lru_cache(maxsize=16)
def compile_glossary(terms: tuple[Term, ...], lang: str) -> Glossary:
    """Compile entries, shipped ones first, for the target language `lang`.

    If two entries have the same phrase, the later one wins.
    """
    # A phrase of a later entry is removed from the earlier one, which keeps its other phrases.
    owner = {key(said): number for number, term in enumerate(terms) for said in term.say}
    rules: list[Rule] = []
    by_rule: dict[str, Term] = {}
    kept: list[Term] = []
    for number, term in enumerate(terms):
        say = tuple(said for said in term.say if owner[key(said)] == number)
        if not say:
            continue
        kept.append(term)
        # By number: two files may have an entry for the same word.
        name = f"{number}"
        by_rule[name] = term
        near, not_near, within = term.near, term.not_near, term.within_words
        rules.append(Rule(name, say, key(say[0]), near, not_near, within))
    return Glossary(tuple(kept), compile_lexicon(rules), by_rule, lang)


# Cached: when one file changes, all languages' files are read again.
@lru_cache(maxsize=16)
def parse_terms(toml_text: str, name: str) -> tuple[Term, ...]:
    """Return the entries of one file in file order; `name` is the file's name, for messages.

    Raises DictionaryError, which names the file, the entry and the fix.
    """
    top = Table(read_toml(toml_text, name), {"lists", "term"}, name)
    lists = lists_of(top, name)
    terms: list[Term] = []
    said: dict[str, int] = {}
    for number, table in enumerate(tables_of(top, "term", _KEYS, name), 1):
        term = _term(table, lists, name)
        for phrase in map(key, term.say):
            if phrase in said:
                raise DictionaryError(
                    "dictionary-duplicate-phrase",
                    f"{table.where}: {phrase!r} is already said in term {said[phrase]}.",
                    "Keep it once.",
                )
            said[phrase] = number
        terms.append(term)
    return tuple(terms)


def make_term(say: str, write: str, source: str = "") -> Term:
    """Return an entry of two phrases. Raises DictionaryError if one of them holds no word."""
    for at, phrase in (("say", say), ("write", write)):
        _require_word(phrase, at, "The entry")
    return Term(key(say), (say,), (write,), source=source)


_KEYS = {field.name for field in fields(Term)} - {"id", "source"}


def _term(table: Table, lists: Mapping[str, frozenset[str]], name: str) -> Term:
    phrases = {
        at: tuple(" ".join(text.split()) for text in table.texts(at))
        for at in ("say", "write", "also", "verb", "plural")
    }
    table.require(say=phrases["say"], write=phrases["write"])
    for at, values in phrases.items():
        for value in values:
            # If anything is correct, every key may hold a star.
            if value != "*" or "*" not in phrases["also"]:
                _require_word(value, at, table.where)
    return Term(
        id=key(phrases["say"][0]),
        **phrases,
        name=table.take("name", bool, "true or false", False),
        near=context(table, "near", lists),
        not_near=context(table, "not_near", lists),
        within_words=table.within_words(),
        source=name,
    )


def _require_word(phrase: str, at: str, where: str) -> None:
    if not key(phrase):
        raise DictionaryError(
            "dictionary-empty-phrase",
            f"{where}: {at} = {phrase!r} has no word in it.",
            "Write at least one word.",
        )


# Compiled when a term is first said: a whole glossary would cost half a second at each start.
@lru_cache(maxsize=4096)
def _entry(term: Term, lang: str) -> _Entry:
    many = term.plural or tuple(filter(None, (inflection.plural(f, lang) for f in term.write)))
    # The longest first: an alternation takes the first match.
    known = sorted({*term.write, *term.also, *many}, key=len, reverse=True)

    def pattern(fold: Callable[[str], str]) -> str:
        forms = [inflection.pattern(form, lang, fold) for form in known]
        verbs = [inflection.verb_pattern(verb, lang, fold) for verb in term.verb]
        return "|".join(dict.fromkeys(filter(None, [*forms, *verbs])))

    # Untranslated English: equal without accents ("grace"), but with another spelling.
    english = {form for said in map(key, term.say) for form in (said, f"{said}s")}
    loose, exact = (re.compile(pattern(fold)) for fold in (plain, str.casefold))
    # Sorted: the order of a set differs between runs.
    foreign = tuple(sorted(e for e in english if loose.fullmatch(e) and not exact.fullmatch(e)))
    return _Entry(term, term.write[:_MOST_FORMS], many[:_MOST_FORMS], loose.pattern, foreign)


def _is_name(text: str, found: Found) -> bool:
    """Whether words begin with a capital that is not due to the start of a sentence."""
    return text[found.start].isupper() and not begins_sentence(text, found.start)

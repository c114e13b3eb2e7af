"""Names that a translation has lost, or has taken for common words. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher

from pipeline.church.scripture.tokens import Tokens
from pipeline.core.language_words import WORDS
from pipeline.core.types import Check
from pipeline.dictionary.glossary import Glossary, shown_all
from pipeline.text.words import Span, is_free, plain

_WORDS = {lang: words.names for lang, words in WORDS.items() if words.names}
_ENDS = frozenset('.!?…:"“«')
_ALIKE = 0.5
"""Of the letters of a name and of a word with a capital that may stand for it."""
_SAME = 0.87
"""... and of any word: "Charity" is not "charité"."""


def kept(
    said: str,
    text: str,
    langs: tuple[str, str],
    glossary: Glossary | None = None,
    *,
    known: Collection[str] = (),
    skip: Sequence[Span] = (),
) -> tuple[str, list[Check]]:
    """Return a translation with the names put back that are certain, and what was found.

    `known`: names of this service, in small letters. `skip`: stretches of `said` that are no names.
    """
    words = _WORDS.get(langs[0])
    if words is None:
        return text, []
    tokens, checks = Tokens(said), list[Check]()
    for at in _capitals(tokens, skip):
        name = tokens.piece(at, at + 1)
        is_first = _begins(tokens, at)
        if is_first and not (tokens.gap(at)[:1] == "," and tokens.word(at + 1) in words.addressed):
            continue  # but "Grace, would you read it?"
        if tokens.word(at) in words.translated or name in text:
            continue
        # A small letter elsewhere: one of the two was translated, and nobody could tell which.
        is_certain = name.lower() not in said and (
            is_first
            or tokens.word(at) in known
            or tokens.word(at - 1) in words.titles
            or _is_name(tokens, at + 1)
        )
        place = _rendering(text, name, langs[1], glossary) if is_certain else None
        if place:
            checks.append(Check("name", "repaired", name, text[slice(*place)], name))
            text = text[: place[0]] + name + text[place[1] :]
        elif not is_first and not _has_like(text, name):
            checks.append(Check("name", "doubtful", name))
    return text, checks


def _capitals(tokens: Tokens, skip: Sequence[Span]) -> Iterator[int]:
    """Yield the words with a capital that may be names."""
    for at, (start, end) in enumerate(tokens.spans):
        word = tokens.text[start:end]
        if word.isalpha() and word.istitle() and len(word) > 2 and is_free((start, end), skip):
            yield at


def _begins(tokens: Tokens, at: int) -> bool:
    return not at or not _ENDS.isdisjoint(tokens.gap(at - 1))


def _is_name(tokens: Tokens, at: int) -> bool:
    """Whether the word behind a name is one, too: "Grace Miller"."""
    return at < len(tokens) and tokens.is_joined(at - 1) and tokens.is_capital(at)


def _rendering(text: str, name: str, lang: str, glossary: Glossary | None) -> Span | None:
    """Return where the common word for a name stands, its article with it; None if it is unsure."""
    terms = glossary.find(name.lower()) if glossary else ()
    places = [place for term in terms for place in shown_all(text, term)]
    if len(places) != 1:
        return None
    (start, end) = places[0]
    references = WORDS[lang].references if lang in WORDS else None
    before = text[:start].split()[-1:] if text[:start].endswith(" ") else []
    if references and before and plain(before[0]) in references.articles:
        start = text[:start].rstrip().rindex(before[0])
    return start, end


def _has_like(text: str, name: str) -> bool:
    """Whether a word may stand for a name: "Pedro" for "Peter"."""
    word, tokens = plain(name), Tokens(text)
    for at, other in enumerate(tokens.words):
        alike = SequenceMatcher(None, other, word).ratio()
        if alike > (_ALIKE if tokens.is_capital(at) else _SAME):
            return True
        if tokens.is_capital(at) and other[:1] == word[:1]:
            return True
    return False

"""Compare a final caption with the source text: references, numbers, negation, church words. Pure.

A difference is repaired if only one repair is possible; otherwise it is marked as doubtful. The
text outside a repaired slot does not change, except for contractions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from pipeline.church.fidelity import numbers
from pipeline.church.fidelity.given_text import in_digits
from pipeline.church.fidelity.numbers import Difference, Quantity
from pipeline.church.fidelity.rarity import is_unknown
from pipeline.church.scripture import references
from pipeline.church.scripture.books import LANGS, Mention
from pipeline.church.scripture.references import end_of_numbers, find_slot
from pipeline.church.scripture.tokens import Tokens
from pipeline.config.schema import Church
from pipeline.core.language_words import WORDS, NegationWords
from pipeline.core.terms import TermRepair
from pipeline.core.types import Caption, Check
from pipeline.dictionary.glossary import Glossary, shown, shown_all
from pipeline.text.words import Span, is_free, plain

_MEASURES = re.compile(
    r"\b(?:feet|foot|inch\w*|miles?|yards?|pounds?|ounces?|gallons?|acres?|degrees|fahrenheit|"
    r"cubits?|dollars?|pies|pulgadas?|millas?|yardas?|libras?|grados|"
    r"pieds|pouces?|milles|livres?|onces?|degrés|coudées?|verges?)\b",
    re.IGNORECASE,
)
"""With one of these units a different number may be right: miles become kilometres."""
_NEAR = 60
"""Characters after a reference in which the rest of its numbers may follow."""
_SMALL = 100
"""A number below it may count hundreds, thousands or decades."""
_NEGATION = {lang: words.negation for lang, words in WORDS.items() if words.negation}
_LIMITS = [words.limits for words in _NEGATION.values() if words.limits]


def checked(
    caption: Caption, church: Church, glossary: Glossary | None = None, names: Collection[str] = ()
) -> Caption:
    """Return a final caption with its repairs and its checks.

    The translator has already put church words in; here they are only reported. `names`: the names
    of this service, in lower case. A caption in the spoken language is returned unchanged.
    """
    said, source, target = caption.transcript.text, caption.transcript.lang, caption.lang
    if source == target or not (said and caption.text):
        return caption
    text, checks = contracted(caption.text, target), []
    # References first: the numbers in them are left out of the comparison below.
    if church.references:
        text, found = _with_references(said, text, (source, target))
        checks += found
    # Not after a doubtful reference: its numbers would be reported twice.
    if church.numbers and not any(check.outcome == "doubtful" for check in checks):
        text, found = _with_numbers(in_digits(said, source), text, (source, target))
        checks += found
    # A lost "not" is only marked: its place in the sentence is unknown.
    if church.negation and (word := lost_negation(said, text, (source, target))):
        checks.append(Check("negation", "doubtful", word))
    if church.glossary:
        stretches = list(_stretches(references.find(said, source)))
        text, found = kept(said, text, (source, target), glossary, known=names, skip=stretches)
        checks += found
    if church.glossary and glossary:
        repairs = caption.translation.repairs if caption.translation else ()
        # A printed reference has no "chapter" and "verse", even if the speaker said them.
        printed = references.find(said, source) if church.references else ()
        # Last, on the current text: the repairs above may have moved its words.
        people = {each.said for each in checks if each.kind == "name"}
        found = list(_terms(said, text, glossary, printed, {each.term: each for each in repairs}))
        checks += [each for each in found if each.said not in people]
    if not checks and text == caption.text:
        return caption
    # A repair may change the length, and a final is committed as a whole.
    return replace(caption, text=text, stable=len(text), checks=(*caption.checks, *checks))


def contracted(text: str, lang: str) -> str:
    """Return a text with contractions that a translator wrote as two words: "le argent"."""
    words = WORDS.get(lang)
    for two, one in words.spelling.contractions if words and words.spelling else ():
        text = two.sub(one, text)
    return text


def _with_references(said: str, text: str, langs: tuple[str, str]) -> tuple[str, list[Check]]:
    """Return the text with every reference of `said` in the printed form of its language."""
    meant = references.find(said, langs[0])
    if not meant or not LANGS.issuperset(langs):
        return text, []
    there = _mentions(text, langs)
    checks: list[Check] = []
    changes: list[tuple[int, int, str]] = []
    for mention in meant:
        words = said[mention.start : mention.end]
        new = references.printed(mention.reference, langs[1])
        # A place in the translation matches at most one reference, so it is removed below.
        other, is_equal = _counterpart(mention, meant, there)
        if other is None:
            span = None if _rivals(mention, meant) else find_slot(text, mention.reference, langs)
            # A slot must not overlap another reference or a repair made before.
            taken = [*_stretches(there), *((start, end) for start, end, _ in changes)]
            if span is None or not is_free(span, taken):
                checks.append(Check("reference", "doubtful", words, written=new))
                continue
            checks.append(Check("reference", "repaired", words, text[slice(*span)], new))
            changes.append((*span, new))
            continue
        there.remove(other)
        found = text[other.start : other.end]
        # A right reference in another form ("chapter 3 of John") is good Spanish; it stays.
        is_right = found == new or (is_equal and not other.book_first)
        if is_right or _is_told_apart(mention, other, (said, text), langs):
            checks.append(Check("reference", "right", words, found, found))
            continue
        # A wrong reference is replaced with all numbers after it, or some of them would stay.
        end = other.end if is_equal else end_of_numbers(text, other.end)
        start, new = references.slot(text, other, new, langs[1])
        checks.append(
            Check("reference", "written" if is_equal else "repaired", words, text[start:end], new)
        )
        changes.append((start, end, new))
    # From the end, so that earlier positions stay valid.
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text, checks


def _terms(
    said: str,
    text: str,
    glossary: Glossary,
    printed: Sequence[Mention],
    repairs: Mapping[str, TermRepair],
) -> Iterator[Check]:
    """Yield a check for each church word: its rendering is right, repaired or doubtful."""
    for term in glossary.find(said):
        words = said[term.start : term.end]
        place = shown(text, term)
        if place is None:
            if not is_free((term.start, term.end), _stretches(printed)):
                continue
            best = term.forms[0] if term.forms else ""
            yield Check("term", "doubtful", words, written=best, term=term.term)
            continue
        there = text[slice(*place)]
        if repair := repairs.get(term.term):
            yield Check("term", "repaired", words, repair.found, there, term.term)
        else:
            yield Check("term", "right", words, there, there, term.term)


def _mentions(text: str, langs: tuple[str, str]) -> list[Mention]:
    """Return the references of a translation; book names left untranslated count as well."""
    found = list(references.find(text, langs[1], strict=False))
    # Not strict: the source has a reference, so a common word with numbers is a book.
    for mention in references.find(text, langs[0], strict=False):
        if is_free((mention.start, mention.end), _stretches(found)):
            # `book_first`, so that it is always rewritten: it is in the spoken language.
            found.append(replace(mention, book_first=True))
    return sorted(found, key=lambda mention: mention.start)


def _counterpart(
    mention: Mention, meant: tuple[Mention, ...], there: list[Mention]
) -> tuple[Mention | None, bool]:
    """Return the translation's counterpart of a reference, and whether it is right."""
    # In order of certainty: the same reference, the only one of its book, the same numbers.
    wanted = mention.reference
    for other in there:
        if other.reference == wanted:
            return other, True
    same_book = [other for other in there if other.reference.book == wanted.book]
    if len(same_book) == 1 and not _rivals(mention, meant):
        return same_book[0], False
    same_place = [
        other
        for other in there
        if wanted.verse
        and (other.reference.chapter, other.reference.verse) == (wanted.chapter, wanted.verse)
    ]
    return (same_place[0], False) if len(same_place) == 1 and len(meant) == 1 else (None, False)


def _is_told_apart(
    mention: Mention, other: Mention, texts: tuple[str, str], langs: tuple[str, str]
) -> bool:
    """Whether one reference lacks numbers that follow in its text: "8, from verse 28"."""
    ours, theirs = _numbers(mention), _numbers(other)
    common = min(len(ours), len(theirs))
    is_other_book = mention.reference.book != other.reference.book
    if is_other_book or len(ours) == len(theirs) or ours[:common] != theirs[:common]:
        return False
    # Search for the rest after the shorter of the two.
    which = len(ours) > len(theirs)
    end = (mention, other)[which].end
    behind = numbers.find(texts[which][end : end + _NEAR], langs[which])
    return {each.value for each in behind}.issuperset((*ours[common:], *theirs[common:]))


def _numbers(mention: Mention) -> list[int]:
    place = mention.reference
    numbers_said = (place.chapter, place.verse, place.last, *(place.until or ()))
    return [number for number in numbers_said if number]


def _rivals(mention: Mention, meant: tuple[Mention, ...]) -> list[Mention]:
    """Return the other references to the same book, which make a match ambiguous."""
    return [m for m in meant if m.reference.book == mention.reference.book and m is not mention]


def _with_numbers(said: str, text: str, langs: tuple[str, str]) -> tuple[str, list[Check]]:
    """Return the text with a number corrected, if exactly one differs."""
    if not numbers.LANGS.issuperset(langs):
        return text, []
    ours = references.find(said, langs[0])
    theirs = _mentions(text, langs) if ours else []
    difference = numbers.compare(
        numbers.find(said, langs[0], list(_stretches(ours))),
        numbers.find(text, langs[1], list(_stretches(theirs))),
        (said, text),
        langs,
    )
    # "Philippians 4, 6 and 7" may be "Filipenses 4:6-7".
    difference = Difference(_without(difference.said, theirs), _without(difference.written, ours))
    # One missing and one extra are the same number. Two pairs would be ambiguous.
    if len(difference.said) == len(difference.written) == 1:
        (meant,), (other,) = difference.said, difference.written
        new = numbers.written_like(meant, other, langs[1])
        # A number with more zeros may have another unit: "thirty grand", "three decades".
        digits = f"{other.value}".removeprefix(f"{meant.value}")
        is_small = meant.value < _SMALL or len(digits) >= len("000")
        is_other_unit = is_small and not digits.strip("0")
        if new and not is_other_unit and not (_MEASURES.search(said) or _MEASURES.search(text)):
            # At the beginning of a sentence a number in words keeps its capital: "Thirty".
            new = new[0].upper() + new[1:] if text[other.start].isupper() else new
            check = Check("number", "repaired", _of(said, meant), _of(text, other), new)
            return text[: other.start] + new + text[other.end :], [check]
    missing = [Check("number", "doubtful", _of(said, q)) for q in difference.said]
    added = [Check("number", "doubtful", "", _of(text, q)) for q in difference.written]
    return text, missing + added


def _without(quantities: Sequence[Quantity], mentions: Sequence[Mention]) -> tuple[Quantity, ...]:
    """Return the quantities that are in no reference of the other text."""
    printed = {number for mention in mentions for number in _numbers(mention)}
    return tuple(each for each in quantities if each.value not in printed)


def _of(text: str, quantity: Quantity) -> str:
    return text[quantity.start : quantity.end]


def _stretches(mentions: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    return ((mention.start, mention.end) for mention in mentions)


def lost_negation(said: str, written: str, langs: tuple[str, str]) -> str:
    """Return the negation word that has no counterpart in a translation, "" if none is lost.

    `langs`: of the source, of the translation. The rules only compare words, so they report only
    the sure case: a "not" in one text, and no possible counterpart at all in the other.
    """
    if not _NEGATION.keys() >= set(langs):
        return ""
    ours, theirs = _NEGATION[langs[0]], _NEGATION[langs[1]]
    # "It is good, isn't it?" denies nothing.
    bare = ours.tags.sub(" ", said) if ours.tags else said
    found = ours.strong.search(_without_only(bare, ours))
    # "Nothing but" is well translated as "ne ... que", which by itself is no negation.
    is_limited = any(limits.search(said) for limits in _LIMITS)
    there = written if is_limited else _without_only(written, theirs)
    return found.group() if found and not theirs.any.search(there) else ""


def _without_only(text: str, words: NegationWords) -> str:
    return words.only.sub(" ", text) if words.only else text


_WORDS = {lang: words.names for lang, words in WORDS.items() if words.names}
_ENDS = frozenset('.!?…:"“«')
_ALIKE = 0.5
"""Least similarity of a name and a capitalized word that may stand for it."""
_ALMOST = 0.6
"""Least similarity of an unknown name and a capitalized word that is its wrong spelling."""
_SAME = 0.87
"""Least similarity of a name and any other word: "Charity" is not "charité"."""


def kept(
    said: str,
    text: str,
    langs: tuple[str, str],
    glossary: Glossary | None = None,
    *,
    known: Collection[str] = (),
    skip: Sequence[Span] = (),
) -> tuple[str, list[Check]]:
    """Return a translation in which the certain names are restored, and the checks.

    `known`: names of this service, in lower case. `skip`: spans of `said` that are no names.
    """
    words = _WORDS.get(langs[0])
    if words is None:
        return text, []
    tokens, checks = Tokens(said), list[Check]()
    for at in _capitals(tokens, skip):
        name = tokens.piece(at, at + 1)
        is_first = _begins(tokens, at)
        if is_first and not (tokens.gap(at)[:1] == "," and tokens.word(at + 1) in words.addressed):
            continue  # but not in "Grace, would you read it?"
        if tokens.word(at) in words.translated or name in text:
            continue
        # If the word also occurs in lower case, it is unclear which of the two was translated.
        is_certain = name.lower() not in said and (
            is_first
            # With accents: the names of the service keep theirs.
            or name.lower() in known
            or tokens.word(at - 1) in words.titles
            or _is_name(tokens, at + 1)
        )
        place = _rendering(text, name, langs[1], glossary) if is_certain else None
        if place is None and is_unknown(name, langs[0]):
            place = _misspelled(text, name, tokens)
        if place:
            # Replaced at once: the next name is searched for in the changed text.
            checks.append(Check("name", "repaired", name, text[slice(*place)], name))
            text = text[: place[0]] + name + text[place[1] :]
        elif not is_first and not _has_like(text, name):
            checks.append(Check("name", "doubtful", name))
    return text, checks


def _capitals(tokens: Tokens, skip: Sequence[Span]) -> Iterator[int]:
    """Yield the capitalized words that may be names."""
    for at, (start, end) in enumerate(tokens.spans):
        word = tokens.text[start:end]
        # Words shorter than three letters are "I", "Mr" and initials.
        if word.isalpha() and word.istitle() and len(word) > 2 and is_free((start, end), skip):
            yield at


def _begins(tokens: Tokens, at: int) -> bool:
    return not at or not _ENDS.isdisjoint(tokens.gap(at - 1))


def _is_name(tokens: Tokens, at: int) -> bool:
    """Whether the word after a name is a name too: "Grace Miller"."""
    return at < len(tokens) and tokens.is_joined(at - 1) and tokens.is_capital(at)


def _rendering(text: str, name: str, lang: str, glossary: Glossary | None) -> Span | None:
    """Return the span of the common word for a name, with its article; None if unsure."""
    terms = glossary.find(name.lower()) if glossary else ()
    places = [place for term in terms for place in shown_all(text, term)]
    if len(places) != 1:
        return None
    (start, end) = places[0]
    references = WORDS[lang].references if lang in WORDS else None
    before = text[:start].split()[-1:] if text[:start].endswith(" ") else []
    if references and before and plain(before[0]) in references.articles:
        # A person's name has no article: "la Gracia" becomes "Grace".
        start = text[:start].rstrip().rindex(before[0])
    return start, end


def _misspelled(text: str, name: str, said: Tokens) -> Span | None:
    """Return the span of a translation's own spelling of a name; None if unsure.

    A translator that never met a name invents: "Pedroboro" for "Peterborough".
    """
    word, tokens = plain(name), Tokens(text)
    found = [
        tokens.spans[at]
        for at, other in enumerate(tokens.words)
        # "los Powell" for "the Powells" is right; so is an accent.
        if tokens.is_capital(at) and other not in said.words and word not in (other, f"{other}s")
        if SequenceMatcher(None, other, word).ratio() > _ALMOST
    ]
    return found[0] if len(found) == 1 else None


def _has_like(text: str, name: str) -> bool:
    """Whether the text has a word that may stand for a name: "Pedro" for "Peter"."""
    word, tokens = plain(name), Tokens(text)
    for at, other in enumerate(tokens.words):
        alike = SequenceMatcher(None, other, word).ratio()
        if alike > (_ALIKE if tokens.is_capital(at) else _SAME):
            return True
        # "Juan" for "John": names of two languages may share only the first letter.
        if tokens.is_capital(at) and other[:1] == word[:1]:
            return True
    return False

"""Find where a missing church word belongs in a translation, and put it in. Pure.

The translator weights the words that it made from the term: by attention, or by the probability of
the approved rendering in their place. The text around the slot does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.core.language_words import WORDS
from pipeline.core.terms import WantedTerm
from pipeline.dictionary import inflection
from pipeline.dictionary.glossary import shown_all
from pipeline.text.words import WORD, Span, begins_sentence, elided, is_free, plain

_WIDEST = 4
"""A slot of more words than this stops growing: one term hardly becomes so many words."""
_NEAR = 0.5
"""A neighbour belongs to the slot if it has this share of the best word's weight."""
_LEAST = 0.05
"""Least weight of a slot's best word: below it the place of the term is unknown."""
_SHORT = 3
"""Articles and prepositions have at most so many letters; a term does not replace them alone."""
_POSSESSIVES = frozenset[str]().union(
    *(words.inflection.possessives for words in WORDS.values() if words.inflection)
)
"""Longer words that a term does not replace alone either."""
_LIKE = 3
"""Equal first letters by which a word counts as a misspelling of another."""
_STEM = 5
"""Least length of a form's stem by which a derived word is recognized."""
_MOST = 3
"""Ways to write one term that a translator rates: each takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A translation with a term put in: the old and new text of the slot, and the whole text."""

    slot: Span
    found: str
    written: str
    text: str
    form: str = ""
    """The form of the term, without a determiner."""


def words_in(text: str) -> list[Span]:
    """Return the spans of the words of a text."""
    return [match.span() for match in WORD.finditer(text)]


def taken(text: str, wanted: Sequence[WantedTerm]) -> list[Span]:
    """Return the spans of renderings that are already there: no other term is put there."""
    return [place for term in wanted for place in shown_all(text, term)]


def names(text: str, said: str, wanted: Sequence[WantedTerm]) -> list[Span]:
    """Return the spans of names from the source, "Pablo" for "Paul": no term is put there.

    A name and its rendering begin with the same letter (John, Juan). At the beginning of a sentence
    two letters must match, as any word has a capital there. The terms' own words do not count.
    """
    own = [(term.start, term.end) for term in wanted]
    heard = tuple(
        plain(said[start:end])[: 2 if begins_sentence(said, start) else 1]
        for start, end in _capitals(said)
        if is_free((start, end), own)
    )
    # Without a name the tuple is empty, and `startswith` is false for an empty tuple.
    return [(a, b) for a, b in _capitals(text) if plain(text[a:b]).startswith(heard)]


def slot(text: str, weights: Sequence[float], others: Sequence[Span]) -> Span | None:
    """Return the likeliest place of a term, None if it is unknown.

    `weights`: how strongly each word of the text (`words_in`) relates to the term. A slot includes
    neighbours of similar weight.
    """
    places = words_in(text)
    free = [
        index
        for index, (start, end) in enumerate(places)
        if weights[index] > 0 and is_free((start, end), others)
    ]
    long = [
        index
        for index in free
        if len(word := text[slice(*places[index])]) > _SHORT and word.lower() not in _POSSESSIVES
    ]
    # Attention favours articles: they are candidates only if there are no other words.
    best = max(long or free, key=lambda index: weights[index], default=None)
    if best is None or weights[best] < _LEAST:
        return None
    first, last = best, best
    # From the best word to either side, until a word has clearly less weight.
    for step in (1, -1):
        at = best + step
        # Only free words: a slot never grows into another term or a name.
        while at in free and weights[at] >= _NEAR * weights[best] and last - first < _WIDEST:
            if at in long:  # an article at the edge stays outside
                first, last = min(first, at), max(last, at)
            at += step
    return places[first][0], places[last][1]


def fillings(
    text: str,
    place: Span,
    term: WantedTerm,
    others: Sequence[Span] = (),
    said: str = "",
) -> list[Filled]:
    """Return the ways to write a term into its slot: each form, its determiner in each gender.

    Spans in `others` are not changed. `said` is the source text.
    """
    found: list[Filled] = []
    term_is_name = any(form[0].isupper() for form in term.forms)
    own = _own_words(term, said)
    for form in term.forms:
        wide = _widened(text, place, form)
        # The words beside a slot may be another term; then the slot is not widened.
        found += _filled(text, wide if is_free(wide, others) else place, form, term.lang)
    return [
        each
        for each in found
        if is_free(each.slot, others)
        and not (_stutters(each) or _is_made_of_it(each.found, each.form))
        and (term_is_name or not _has_name(text, each.slot, own))
        # The limit comes last, so that refused ways do not count.
    ][:_MOST]


def _capitals(text: str) -> list[Span]:
    """Return the capitalized words, except those as short as an article."""
    # Skip French elisions: in "d'Israël" the capital is the I.
    bare = ((a + elided(text, a), b) for a, b in words_in(text))
    return [(a, b) for a, b in bare if text[a].isupper() and b - a > _SHORT]


def _filled(text: str, place: Span, form: str, lang: str) -> list[Filled]:
    start, end = place
    # A word that begins like the form stands for it, so its determiner is right ("el Leví"). In
    # French the determiner may still have to change with the sound.
    is_like = plain(text[start:end])[:_LIKE] == plain(form)[:_LIKE]
    ways = inflection.determiners(text, start, form, lang)
    found: list[Filled] = []
    for begins, new in ways:
        if not (is_like and new and lang != "fr"):
            written = f"{new}{form}" if new else _cased(text, begins, form)
            whole = text[:begins] + written + text[end:]
            found.append(Filled((begins, end), text[begins:end], written, whole, form))
    return found


def _cased(text: str, start: int, form: str) -> str:
    """Return a form, with a capital at the beginning of a sentence."""
    begins = begins_sentence(text, start)
    return form[0].upper() + form[1:] if begins and text[start].isupper() else form


def _widened(text: str, place: Span, form: str) -> Span:
    """Return a slot extended by the neighbouring words that the form contains itself.

    "El brazo de Dios" becomes "la armadura de Dios", and not "... de Dios de Dios".
    """
    start, end = place
    own = [plain(word) for word in form.split()]
    before = [span for span in words_in(text) if span[1] <= start]
    behind = [span for span in words_in(text) if span[0] >= end]
    # The longest match: any such word that is left would be repeated.
    for count in range(len(own) - 1, 0, -1):
        # `_reads` is False for too few words, so `before` is not empty after the `and`.
        if _reads(text, before[-count:], own[:count]) and text[before[-1][1] : start].isspace():
            start = before[-count][0]
            break
    for count in range(len(own) - 1, 0, -1):
        if _reads(text, behind[:count], own[-count:]) and text[end : behind[0][0]].isspace():
            end = behind[count - 1][1]
            break
    return start, end


def _reads(text: str, places: Sequence[Span], words: Sequence[str]) -> bool:
    """Whether these places contain these words, with only spaces between them."""
    return [plain(text[a:b]) for a, b in places] == list(words) and all(
        text[one[1] : other[0]].isspace() for one, other in pairwise(places)
    )


def _own_words(term: WantedTerm, said: str) -> frozenset[str]:
    """Return the capitalized words of a term, in the source and in its forms.

    "Levite" and "Bible study" have one in English and none in Spanish.
    """
    phrases = (said[term.start : term.end], *term.forms)
    return frozenset(plain(each[a:b]) for each in phrases for a, b in _capitals(each))


def _has_name(text: str, slot: Span, own: frozenset[str]) -> bool:
    """Whether a slot contains a name, such as the Lord's, which comes from the source too.

    A word that begins like one of the term's own words comes from the term: "Leví" from "Levite".
    """
    beginnings = tuple(word[:2] for word in own)
    spans = (match.span() for match in WORD.finditer(text, *slot))
    places = ((start + elided(text, start), end) for start, end in spans)
    return any(
        text[start].isupper()
        and not begins_sentence(text, start)
        and not plain(text[start:end]).startswith(beginnings)
        for start, end in places
    )


def _stutters(filled: Filled) -> bool:
    """Whether a word is repeated, also as the end of the word before it: "Jesucristo Cristo"."""
    every = [plain(word) for word in WORD.findall(filled.text)]
    return any(
        one == other or (len(other) > _SHORT and one.endswith(other))
        for one, other in pairwise(every)
    )


def _is_made_of_it(found: str, form: str) -> bool:
    """Whether a word is derived from a form, as "pastorcito" from "pastor", and so is right."""
    # An ending replaces the last vowel: "iglesia", "iglesita".
    stem = plain(form).rstrip("aeio")
    return len(stem) >= _STEM and any(
        plain(word).startswith(stem) and len(word) > len(form) for word in WORD.findall(found)
    )

"""Where in a translation a missing church word belongs, and how the text reads with it. Pure.

A translator says which words of its text it made of the term, by attention or by how likely the
approved rendering would have been in their place; the text around them stays letter by letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.core.terms import WantedTerm
from pipeline.dictionary import inflection
from pipeline.dictionary.glossary import shown_all
from pipeline.text.words import WORD, elided, is_free, plain

_WIDEST = 4
"""A slot of more words than this grows no more: so many were hardly made of one term."""
_NEAR = 0.5
"""A neighbour belongs to the slot if it has this share of the best word's weight."""
_LEAST = 0.05
"""Least weight of a slot's best word: below it nobody knows where the term would belong."""
_SHORT = 3
"""Articles and prepositions have so many letters; a term is not put in their place alone."""
_LIKE = 3
"""Letters by which a word is taken for a slip of another."""
_STEM = 5
"""Letters of a form without its ending by which another word is known to be made of it."""
_MOST = 3
"""Ways to write one term that a translator is asked about: each costs it some milliseconds."""

Place = tuple[int, int]
"""From and up to which character."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A translation with a term put in: what stood in the slot, what stands there, the text."""

    slot: Place
    found: str
    written: str
    text: str
    form: str = ""
    """Of the term, without a determiner."""


def words_in(text: str) -> list[Place]:
    """Return where the words of a text stand."""
    return [match.span() for match in WORD.finditer(text)]


def taken(text: str, wanted: Sequence[WantedTerm]) -> list[Place]:
    """Return where renderings of terms stand already: no other term is put there."""
    return [place for term in wanted for place in shown_all(text, term)]


def names(text: str, said: str, wanted: Sequence[WantedTerm]) -> list[Place]:
    """Return where names stand that were said, "Pablo" for "Paul": no term is put there.

    A name and its rendering begin with the same letter (John, Juan), or with the same two where a
    sentence begins, as any word has a capital there. The terms' own words do not count.
    """
    own = [(term.start, term.end) for term in wanted]
    heard = tuple(
        plain(said[start:end])[: 2 if _begins_sentence(said, start) else 1]
        for start, end in _capitals(said)
        if is_free((start, end), own)
    )
    # With no name heard the tuple is empty, and no word begins with an empty tuple.
    return [(a, b) for a, b in _capitals(text) if plain(text[a:b]).startswith(heard)]


def slots(
    text: str, weights: Sequence[float], others: Sequence[Place], most: int = 1
) -> list[Place]:
    """Return the likeliest places of a term, the best first.

    `weights`: how much each word of the text (`words_in`) has to do with it. A slot has several
    words where neighbours have about as much.
    """
    places = words_in(text)
    free = [
        index
        for index, (start, end) in enumerate(places)
        if weights[index] > 0 and is_free((start, end), others)
    ]
    long = {index for index in free if places[index][1] - places[index][0] > _SHORT}
    # Attention likes articles: they are candidates only where there is nothing else.
    ranked = sorted(long or free, key=lambda index: -weights[index])
    found: list[Place] = []
    for best in ranked:
        if weights[best] < _LEAST:
            break
        first, last = best, best
        # From the best word outwards, to either side, until a word has clearly less to do with it.
        for step in (1, -1):
            at = best + step
            # Only free words: a slot never grows into the place of another term or a name.
            while at in free and weights[at] >= _NEAR * weights[best] and last - first < _WIDEST:
                if at in long:  # an article at the edge stays outside
                    first, last = min(first, at), max(last, at)
                at += step
        place = (places[first][0], places[last][1])
        # A second best inside a slot that was found is the same place once more.
        if is_free(place, found):
            found.append(place)
        if len(found) == most:
            break
    return found


def fillings(
    text: str,
    places: Sequence[Place],
    term: WantedTerm,
    others: Sequence[Place] = (),
    said: str = "",
) -> list[Filled]:
    """Return the ways to write a term into its slots: each form, its determiner in each gender.

    What is in `others` stays untouched. `said` is what the text translates.
    """
    found: list[Filled] = []
    term_is_name = any(form[0].isupper() for form in term.forms)
    own = _own_words(term, said)
    for place in places:
        for form in term.forms:
            wide = _widened(text, place, form)
            # What lies beside a slot may be another term; then the slot stays as narrow as it was.
            found += _filled(text, wide if is_free(wide, others) else place, form, term.lang)
    return [
        each
        for each in found
        if is_free(each.slot, others)
        and not (_stutters(each) or _is_made_of_it(each.found, each.form))
        and (term_is_name or not _has_name(text, each.slot, own))
        # Cut at the end, so that ways which are refused do not use up the few that are tried.
    ][:_MOST]


def _capitals(text: str) -> list[Place]:
    """Return the words with a capital, but for those that are as short as an article."""
    # Behind what French elides: of "d'Israël" the capital is the I.
    bare = ((a + elided(text, a), b) for a, b in words_in(text))
    return [(a, b) for a, b in bare if text[a].isupper() and b - a > _SHORT]


def _filled(text: str, place: Place, form: str, lang: str) -> list[Filled]:
    start, end = place
    # What begins like the form was meant to be it: its determiner is the form's ("el Leví"). In
    # French it may have to change with the sound all the same.
    is_like = plain(text[start:end])[:_LIKE] == plain(form)[:_LIKE]
    ways = inflection.determiners(text, start, form, lang)
    return [
        _put(text, begins, end, f"{new}{form}" if new else _cased(text, begins, form), form)
        for begins, new in ways
        if not (is_like and new and lang != "fr")
    ]


def _put(text: str, start: int, end: int, written: str, form: str) -> Filled:
    told = text[:start] + written + text[end:]
    return Filled((start, end), text[start:end], written, told, form)


def _cased(text: str, start: int, form: str) -> str:
    """Return a form with a capital where a sentence begins with it."""
    begins = _begins_sentence(text, start)
    return form[0].upper() + form[1:] if begins and text[start].isupper() else form


def _begins_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \"“«'¡¿(")
    return not before or before[-1] in ".!?…:"


def _widened(text: str, place: Place, form: str) -> Place:
    """Return a slot together with the words beside it that the form brings along itself.

    "El brazo de Dios" becomes "la armadura de Dios", and not "... de Dios de Dios".
    """
    start, end = place
    own = [plain(word) for word in form.split()]
    before = [span for span in words_in(text) if span[1] <= start]
    behind = [span for span in words_in(text) if span[0] >= end]
    # As many as there are: any that is left would be said twice.
    for count in range(len(own) - 1, 0, -1):
        # `_reads` is false of too few words, so `before` is not empty behind the `and`.
        if _reads(text, before[-count:], own[:count]) and text[before[-1][1] : start].isspace():
            start = before[-count][0]
            break
    for count in range(len(own) - 1, 0, -1):
        if _reads(text, behind[:count], own[-count:]) and text[end : behind[0][0]].isspace():
            end = behind[count - 1][1]
            break
    return start, end


def _reads(text: str, places: Sequence[Place], words: Sequence[str]) -> bool:
    """Whether these words stand in these places, with nothing but space between them."""
    return [plain(text[a:b]) for a, b in places] == list(words) and all(
        text[one[1] : other[0]].isspace() for one, other in pairwise(places)
    )


def _own_words(term: WantedTerm, said: str) -> frozenset[str]:
    """Return the words of a term with a capital, as they were said and as they are written.

    "Levite" and "Bible study" have one in English and none in Spanish.
    """
    phrases = (said[term.start : term.end], *term.forms)
    return frozenset(plain(each[a:b]) for each in phrases for a, b in _capitals(each))


def _has_name(text: str, slot: Place, own: frozenset[str]) -> bool:
    """Whether somebody's name stands in a slot, such as the Lord's: it was said as well.

    A word that begins as one of the term's own does was made of the term: "Leví" of "Levite".
    """
    beginnings = tuple(word[:2] for word in own)
    spans = (match.span() for match in WORD.finditer(text, *slot))
    places = ((start + elided(text, start), end) for start, end in spans)
    return any(
        text[start].isupper()
        and not _begins_sentence(text, start)
        and not plain(text[start:end]).startswith(beginnings)
        for start, end in places
    )


def _stutters(filled: Filled) -> bool:
    """Whether a word stands twice in a row, be it as the end of another: "Jesucristo Cristo"."""
    told = [plain(word) for word in WORD.findall(filled.text)]
    return any(
        one == other or (len(other) > _SHORT and one.endswith(other))
        for one, other in pairwise(told)
    )


def _is_made_of_it(found: str, form: str) -> bool:
    """Whether a word was made of a form, as "pastorcito" of "pastor": it is right as it is."""
    # The last vowel gives way to an ending: "iglesia", "iglesita".
    stem = plain(form).rstrip("aeio")
    return len(stem) >= _STEM and any(
        plain(word).startswith(stem) and len(word) > len(form) for word in WORD.findall(found)
    )

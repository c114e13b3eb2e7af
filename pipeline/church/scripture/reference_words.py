"""Tables of the words around the numbers of a Bible reference. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.church.scripture.books import chapters, verses
from pipeline.church.scripture.number_words import Number
from pipeline.text.words import word_set


@dataclass(frozen=True, slots=True)
class Place:
    """Chapter and verse, up to a token."""

    chapter: int
    verse: int
    end: int
    is_explicit: bool
    """Whether "chapter", "verse" or a colon says what the numbers are."""


def combined(run: list[Number]) -> list[int]:
    """Return what numbers in a row may stand for as one: [1, 19] for 119, [1, -5] for 105."""
    values = [number.value for number in run]
    if len(values) == 1 and values[0] > 0:
        return values
    if len(values) == 2 and 0 < values[0] < 10 and (10 <= values[1] < 100 or -10 < values[1] < 0):
        return [values[0] * 100 + abs(values[1])]
    return []


def resolved(book: int, run: list[Number]) -> Place | None:
    """Return the chapter and verse that a run of numbers says, as long as possible.

    Where several readings are valid, the one that takes more of the numbers; then the plain one.
    """
    # Psalms has 150 chapters: what is greater can only be chapter and verse run together.
    if len(run) == 1 or abs(run[0].value) > 150:
        return alone(book, run[0])
    best: Place | None = None
    for used in (1, 2):
        for chapter in combined(run[:used]):
            count = verses(book, chapter)
            for more in (1, 2):
                for verse in combined(run[used : used + more]):
                    if 1 <= verse <= count and len(run) >= used + more:
                        end = run[used + more - 1].end
                        if best is None or end > best.end:
                            best = Place(chapter, verse, end, is_explicit=False)
    if best is None:
        both = [c for c in combined(run[:2]) if verses(book, c)]
        if both:
            return Place(both[0], 0, run[1].end, is_explicit=False)
        return None
    return best


def alone(book: int, number: Number) -> Place | None:
    """Return what a single number says: a chapter, the verse of a short book, or "316"."""
    value = number.value
    if chapters(book) == 1 and 1 <= value <= verses(book, 1):
        return Place(1, value, number.end, is_explicit=False)
    if verses(book, value):
        return Place(value, 0, number.end, is_explicit=False)
    digits = str(value) if value >= 100 else ""
    # "316" is 3:16. Only one way to part the digits may be valid, or nobody could tell.
    splits = [(int(digits[:k]), digits[k:]) for k in range(1, len(digits))]
    fits = [(c, int(v)) for c, v in splits if v[0] != "0" and 1 <= int(v) <= verses(book, c)]
    return Place(*fits[0], number.end, is_explicit=False) if len(fits) == 1 else None


@dataclass(frozen=True, slots=True)
class ReferenceWords:
    """What a language says around the numbers."""

    chapter: frozenset[str]
    verse: frozenset[str]
    until: frozenset[str]
    both: str
    of: frozenset[str]
    articles: frozenset[str]
    fillers: frozenset[str]
    """Between "first" and "Corinthians": letter, of, Paul, to, the."""
    cues: frozenset[str]
    """Before a book whose name is an ordinary word."""
    follow: frozenset[str]
    """May stand behind a chapter that is said alone."""
    counted: frozenset[str]
    """Behind a number these say that it counts something, or is a time."""
    people: frozenset[str]
    """Before a name these say that it is somebody's."""
    zero: frozenset[str] = frozenset()


WORDS: Mapping[str, ReferenceWords] = {
    "en": ReferenceWords(
        chapter=word_set("chapter chap"),
        verse=word_set("verse verses v vv vs"),
        until=word_set("through to thru until till"),
        both="and",
        of=word_set("of in from"),
        articles=word_set("the"),
        fillers=word_set("book letter epistle of to the paul paul's st saint"),
        cues=word_set("in from read reading gospel book scripture turn"),
        follow=word_set(
            "says say said tells reads teaches is was and where when we which that it he you i the "
            "in on for with because so but as our this paul jesus god verse verses promises talks "
            "shows reminds gives describes goes begins ends speaks has together again if there all"
        ),
        counted=word_set(
            "am pm o'clock oclock times time years year days day weeks week months "
            "month hours hour minutes minute seconds people men women children dollars euros cents "
            "miles percent points point "
            "pages page sheep more other others tomorrow tonight today feet "
            "pounds kids boys girls brothers sisters friends big little new old good things of or "
            "weeks ago million thousand hundred sharp degrees inches kilometers members families"
        ),
        people=word_set(
            "meet met see saw call called told tell ask asked gave give by at around with"
        ),
        # As in "Psalm one oh five".
        zero=word_set("oh o zero"),
    ),
    "es": ReferenceWords(
        chapter=word_set("capitulo cap"),
        verse=word_set("versiculo versiculos verso versos v vv"),
        until=word_set("al a hasta"),
        both="y",
        of=word_set("de del en"),
        articles=word_set("el la los las"),
        fillers=word_set("carta epistola libro de del a los las la el san pablo"),
        # Saints stand before gospels: "según San Juan".
        cues=word_set("en leer lean leamos leemos evangelio libro lectura segun san"),
        follow=word_set(
            "dice dijo nos ensena es y donde cuando que el la los en para con porque pero como "
            "este pablo jesus dios versiculo versiculos promete habla muestra recuerda "
            "comienza termina"
        ),
        counted=word_set(
            "anos ano veces vez dias dia semanas semana meses mes horas hora minutos personas "
            "hombres mujeres ninos dolares euros millas por puntos paginas ovejas mas otros "
            "manana hoy pies de"
        ),
        people=word_set("vi vio ver llame llamo dijo dije con a"),
    ),
    "fr": ReferenceWords(
        chapter=word_set("chapitre chap"),
        verse=word_set("verset versets v vv"),
        until=word_set("a au jusqu'a jusqu'au"),
        both="et",
        of=word_set("de du des d' dans en selon"),
        articles=word_set("le la les l'"),
        fillers=word_set(
            "epitre lettre livre de du des d' la le les l' a au aux saint paul apotre"
        ),
        cues=word_set("dans en lisez lisons lire lit evangile livre lecture ecriture selon"),
        follow=word_set(
            "dit nous enseigne est et ou quand que qui il elle je tu le la les en dans pour avec "
            "parce car mais comme ce paul jesus dieu verset versets promet parle montre rappelle "
            "commence finit ensemble encore si"
        ),
        counted=word_set(
            "ans an annees annee fois jours jour semaines semaine mois heures heure minutes minute "
            "secondes personnes hommes femmes enfants dollars euros francs kilometres points pages "
            "page brebis autres freres soeurs amis milliers millions demain de d'"
        ),
        people=word_set("vu voir vois rencontre appelle appele dit demande a avec chez"),
    ),
}

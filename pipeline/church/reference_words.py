"""What a language says around the numbers of a Bible reference. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


WORDS: Mapping[str, ReferenceWords] = {
    "en": ReferenceWords(
        chapter=_set("chapter chap"),
        verse=_set("verse verses v vv vs"),
        until=_set("through to thru until till"),
        both="and",
        of=_set("of in from"),
        articles=_set("the"),
        fillers=_set("book letter epistle of to the paul paul's st saint"),
        cues=_set("in from read reading gospel book scripture turn"),
        follow=_set(
            "says say said tells reads teaches is was and where when we which that it he you i the "
            "in on for with because so but as our this paul jesus god verse verses promises talks "
            "shows reminds gives describes goes begins ends speaks has together again if there all"
        ),
        counted=_set(
            "am pm o'clock oclock times time years year days day weeks week months "
            "month hours hour minutes minute seconds people men women children dollars euros cents "
            "miles percent points point "
            "pages page sheep more other others tomorrow tonight today feet "
            "pounds kids boys girls brothers sisters friends big little new old good things of or "
            "weeks ago million thousand hundred sharp degrees inches kilometers members families"
        ),
        people=_set("meet met see saw call called told tell ask asked gave give by at around with"),
        zero=_set("oh o zero"),
    ),
    "es": ReferenceWords(
        chapter=_set("capitulo cap"),
        verse=_set("versiculo versiculos verso versos v vv"),
        until=_set("al a hasta"),
        both="y",
        of=_set("de del en"),
        articles=_set("el la los las"),
        fillers=_set("carta epistola libro de del a los las la el san pablo"),
        cues=_set("en leer lean leamos leemos evangelio libro lectura segun san"),
        follow=_set(
            "dice dijo nos ensena es y donde cuando que el la los en para con porque pero como "
            "este pablo jesus dios versiculo versiculos promete habla muestra recuerda "
            "comienza termina"
        ),
        counted=_set(
            "anos ano veces vez dias dia semanas semana meses mes horas hora minutos personas "
            "hombres mujeres ninos dolares euros millas por puntos paginas ovejas mas otros "
            "manana hoy pies de"
        ),
        people=_set("vi vio ver llame llamo dijo dije con a"),
    ),
}

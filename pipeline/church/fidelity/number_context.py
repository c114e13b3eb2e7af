"""Tables of the words around numbers: times of day, and words that mean a number. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.text.words import word_set


@dataclass(frozen=True, slots=True)
class NumberContext:
    """The words around the numbers of a language, as `tokens.plain` has them."""

    half: frozenset[str]
    quarter: frozenset[str]
    past: frozenset[str]
    to: frozenset[str]
    before_time: frozenset[str]
    after_time: frozenset[str]
    meaning: Mapping[int, frozenset[str]]
    """Words that say a number without being one."""
    idioms: re.Pattern[str]
    """Numbers in these are figures of speech."""
    unsure: frozenset[str]
    """What alone may be something else: a room, a beer, a part of a minute."""


_NAMES = "twenties thirties forties fifties sixties seventies eighties nineties"
_DECADES = {1900 + 10 * ten: word_set(name) for ten, name in enumerate(_NAMES.split(), 2)}
# "Les années soixante" are the 1960s: the century is not said.
_FRENCH_DECADES = {year: frozenset({"annees"}) for year in (*range(1900, 2000, 10), 2010, 2020)}

WORDS: Mapping[str, NumberContext] = {
    "en": NumberContext(
        half=word_set("half"),
        quarter=word_set("quarter"),
        past=word_set("past after"),
        to=word_set("to till before"),
        before_time=word_set("at by until till around about"),
        after_time=word_set("o'clock oclock am pm a.m p.m"),
        meaning={
            2: word_set(
                "both twice double couple pair either neither two-thirds half twin twins second "
                "other"
            ),
            3: word_set("triple thrice threefold triplets trinity"),
            4: word_set("quarter fourfold"),
            6: word_set("dozen"),
            12: word_set("dozen dozens"),
            # As in "threescore and ten".
            20: word_set("score"),
            14: word_set("fortnight"),
            100: word_set("century hundreds hundredfold percent"),
            1000: word_set("thousands grand millennium thousandfold"),
            # Spanish counts a fortnight as fifteen days (quincena).
            15: word_set("fortnight"),
            10: word_set("decade tithe tenths"),
            10**6: word_set("millions million"),
        }
        | _DECADES,
        idioms=re.compile(
            r"\b(?:a|one|per) (?:hundred|million|thousand) (?:times|percent|thanks)\b"
            r"|\bone hundred percent\b|\btwenty-four seven\b|\bat sixes and sevens\b"
            r"|\bcloud nine\b",
            re.IGNORECASE,
        ),
        unsure=word_set("second seconds third thirds quarter fourth fifth tenth"),
    ),
    "es": NumberContext(
        half=word_set("media"),
        quarter=word_set("cuarto"),
        past=word_set("y"),
        to=word_set("menos"),
        before_time=word_set("las la"),
        after_time=word_set("am pm a.m p.m"),
        meaning={
            2: word_set(
                "ambos ambas doble dobles par pareja segunda segundo medio media mitad otro otra"
            ),
            3: word_set("triple trinidad trillizos"),
            4: word_set("cuarto cuarta"),
            12: word_set("docena docenas mediodia medianoche"),
            14: word_set("quincena"),
            15: word_set("quincena"),
            10: word_set("decada diezmo decena decenas"),
            7: word_set("semana"),
            100: word_set("siglo cientos centenar centenares centenario"),
            1000: word_set("miles milenio millar millares"),
            10**6: word_set("millones"),
        },
        idioms=re.compile(
            r"\b(?:mil|un millón de) (?:gracias|veces)\b|\bcien por cien(?:to)?\b|\bpor ciento\b"
            r"|\btercera edad\b|\bde dos en dos\b|\bonce varas\b",
            re.IGNORECASE,
        ),
        unsure=word_set("segundo segundos segunda cuarto cuartos quinto octavo primo sexto decimo"),
    ),
    "fr": NumberContext(
        half=word_set("demi demie"),
        quarter=word_set("quart"),
        past=word_set("et"),
        to=word_set("moins"),
        before_time=word_set("a vers des avant jusqu'a est environ presque les"),
        after_time=word_set("heure heures h"),
        meaning={
            2: word_set(
                "double doubles doublement paire paires couple couples demi demie moitie jumeaux "
                "jumelles autre quinze quinzaine tiers"
            ),
            3: word_set("triple triples trinite tiers quarts"),
            4: word_set("quart quarts quadruple coins"),
            6: word_set("douzaine"),
            7: word_set("semaine"),
            8: word_set("huit 8 huitaine"),
            10: word_set("decennie dizaine dizaines dime dimes"),
            12: word_set("midi minuit douzaine douzaines"),
            14: word_set("quinze 15 quinzaine"),
            15: word_set("quinze 15 quinzaine quart"),
            20: word_set("vingtaine"),
            30: word_set("trentaine demi demie"),
            40: word_set("quarantaine"),
            45: word_set("quarts"),
            50: word_set("cinquantaine"),
            60: word_set("soixantaine"),
            100: word_set("siecle siecles centaine centaines centenaire centuple"),
            1000: word_set("millier milliers millenaire millenaires"),
            10**6: word_set("millions million"),
            10**9: word_set("milliards"),
        }
        | _FRENCH_DECADES,
        # "Quinze jours" are two weeks, "huit jours" one: neither is the number that it says.
        idioms=re.compile(
            r"\b(?:cent )?pour[ -]cent\b|\bun cent\b|\bmille (?:mercis?|excuses|pardons)\b"
            r"|(?<!deux )(?<!trois )(?<!quatre )(?<!cinq )(?<!six )(?<!sept )(?<!huit )"
            r"(?<!neuf )(?<!dix )\b(?:cent|mille) fois\b"
            r"|\b(?:quinze|15|huit|8) jours\b|\bquatre coins\b|\btrois[ -]quarts\b"
            r"|\bannées (?:\d0|vingt|trente|quarante|cinquante|soixante(?:-dix)?"
            r"|quatre-vingts?(?:-dix)?)\b|\btrente[ -]six chandelles\b",
            re.IGNORECASE,
        ),
        # "Un cœur neuf" is a new heart.
        unsure=word_set(
            "neuf second seconde seconds secondes tiers cinquieme cinquiemes dixieme dixiemes"
        ),
    ),
}

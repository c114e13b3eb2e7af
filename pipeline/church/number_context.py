"""What a language says around numbers: times, and words that mean a number. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


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


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


WORDS: Mapping[str, NumberContext] = {
    "en": NumberContext(
        half=_set("half"),
        quarter=_set("quarter"),
        past=_set("past after"),
        to=_set("to till before"),
        before_time=_set("at by until till around about"),
        after_time=_set("o'clock oclock am pm a.m p.m"),
        meaning={
            2: _set("both twice double couple pair either two-thirds half twin twins second other"),
            3: _set("triple thrice threefold triplets trinity"),
            4: _set("quarter fourfold"),
            12: _set("dozen dozens"),
            20: _set("score"),
            14: _set("fortnight"),
            100: _set("century hundreds hundredfold percent"),
            1000: _set("thousands grand millennium thousandfold"),
            15: _set("fortnight"),
            10: _set("decade tithe tenths"),
            10**6: _set("millions"),
        },
        idioms=re.compile(
            r"\b(?:a|one|per) (?:hundred|million|thousand) (?:times|percent|thanks)\b"
            r"|\bone hundred percent\b|\btwenty-four seven\b|\bat sixes and sevens\b"
            r"|\bcloud nine\b",
            re.IGNORECASE,
        ),
        unsure=_set("second seconds third thirds quarter fourth fifth tenth"),
    ),
    "es": NumberContext(
        half=_set("media"),
        quarter=_set("cuarto"),
        past=_set("y"),
        to=_set("menos"),
        before_time=_set("las la"),
        after_time=_set("am pm a.m p.m"),
        meaning={
            2: _set(
                "ambos ambas doble dobles par pareja segunda segundo medio media mitad otro otra"
            ),
            3: _set("triple trinidad trillizos"),
            4: _set("cuarto cuarta"),
            12: _set("docena docenas mediodia medianoche"),
            14: _set("quincena"),
            15: _set("quincena"),
            10: _set("decada diezmo decena decenas"),
            7: _set("semana"),
            100: _set("siglo cientos centenar centenares centenario"),
            1000: _set("miles milenio millar millares"),
            10**6: _set("millones"),
        },
        idioms=re.compile(
            r"\b(?:mil|un millón de) (?:gracias|veces)\b|\bcien por cien(?:to)?\b|\bpor ciento\b"
            r"|\btercera edad\b|\bde dos en dos\b|\bonce varas\b",
            re.IGNORECASE,
        ),
        unsure=_set("segundo segundos segunda cuarto cuartos quinto octavo primo sexto decimo"),
    ),
}

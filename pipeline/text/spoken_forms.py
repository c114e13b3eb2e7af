"""Write abbreviations, ordinals, times and numbers as they are said (es, fr, pt). Pure.

Only forms that espeak-ng spells out or misreads; it knows the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_ABBREVIATIONS = {
    "es": {
        "Ud.": "usted",
        "Uds.": "ustedes",
        "Vd.": "usted",
        "Vds.": "ustedes",
        "Sr.": "señor",
        "Sra.": "señora",
        "Srta.": "señorita",
        "Sres.": "señores",
        "Dr.": "doctor",
        "Dra.": "doctora",
        "Prof.": "profesor",
        "Rev.": "reverendo",
        "Hno.": "hermano",
        "Hna.": "hermana",
        "Hnos.": "hermanos",
        "Hnas.": "hermanas",
        "Pr.": "pastor",
        "Sto.": "santo",
        "Sta.": "santa",
        "EE.UU.": "Estados Unidos",
        "cap.": "capítulo",
        "caps.": "capítulos",
        "pág.": "página",
        "págs.": "páginas",
        "v.": "versículo",
        "vv.": "versículos",
        "vers.": "versículo",
        "ss.": "siguientes",
        "etc.": "etcétera",
        "p.ej.": "por ejemplo",
        "aprox.": "aproximadamente",
        "a.C.": "antes de Cristo",
        "d.C.": "después de Cristo",
        "a.m.": "a eme",
        "p.m.": "pe eme",
    },
    "fr": {
        "M.": "monsieur",
        "MM.": "messieurs",
        "Mme": "madame",
        "Mgr": "monseigneur",
        "Dr.": "docteur",
        "Rév.": "révérend",
        "p.ex.": "par exemple",
        "chap.": "chapitre",
        "v.": "verset",
        "vv.": "versets",
        "c.-à-d.": "c'est-à-dire",
        "av.J.-C.": "avant Jésus-Christ",
        "apr.J.-C.": "après Jésus-Christ",
        "ap.J.-C.": "après Jésus-Christ",
    },
    "pt": {"cap.": "capítulo", "v.": "versículo", "Pr.": "pastor"},
}
"""Includes titles, which espeak-ng knows: Kokoro would pause after their full stop."""
_ROMAN = "(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})"
"""Up to 39: numerals with more letters are as often initials."""
_VALUES = {"I": 1, "V": 5, "X": 10}


def _roman(text: str) -> int:
    """Return the value of a Roman numeral."""
    values = [_VALUES[letter] for letter in text]
    following = [*values[1:], 0]
    return sum(-one if one < after else one for one, after in zip(values, following, strict=True))


def _cardinal(found: re.Match[str]) -> str:
    return str(_roman(found[0]))


def _ordinal(found: re.Match[str]) -> str:
    return f"{_roman(found[1])}ème"


_FORMS: dict[str, tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...]] = {
    "es": (
        (r"\b[nN](?:\.? ?[º°]|úm\.) ?(?=\d)", "número "),
        (r"\bSal\.? (?=\d)", "Salmo "),
        (r"\bpp?\. ?(?=\d)", "página "),
        (r"(?<=\d)\.(?=[ºª])", ""),
        *((r"\b1\.?er\b", "primer"), (r"\b3\.?er\b", "tercer")),
        (rf"(?<=[Ss]iglo ){_ROMAN}\b|(?<=[Cc]apítulo ){_ROMAN}\b", _cardinal),
        # Thousands. Only Psalm 119 has verses of three digits; four groups are a phone number.
        (r"(?<![\d.,:])(?<!\d )(?!119 1)(\d{1,3}) (\d{3})(?![ .,:]?\d)", r"\1\2"),
        (r"(?<![\d.,:])(?<!\d )(\d{1,2}) (\d{3}) (\d{3})(?![ .,:]?\d)", r"\1\2\3"),
        (r"\b(\d\d?)[:.](\d\d) ?h(?:rs|s)?\b", r"\1, \2 horas"),
        (r"(?<=\d) ?h(?:rs|s)?\b", " horas"),
        *((r"(?<=\d) ?km\b", " kilómetros"), (r"(?<=\d) ?cm\b", " centímetros")),
        # "En Apocalipsis 1 Juan ve" is no letter of John's: if it may be a person's name, a
        # chapter must follow.
        *(
            (rf"\b(?:{number}) (?=(?:{books})\b)", f"{said} de ")
            for books, sayings in (
                ("Corintios|Tesalonicenses", ("primera", "segunda")),
                (r"(?:Timoteo|Pedro|Juan) \d+", ("primera", "segunda", "tercera")),
                (r"(?:Samuel|Reyes|Crónicas) \d+", ("primero", "segundo")),
            )
            for number, said in zip(("1|I", "2|II", "3|III"), sayings, strict=False)
        ),
    ),
    "fr": (
        *(("ᵉ", "e"), ("ʳ", "r")),
        (r"\b[nN]° ?(?=\d)", "numéro "),
        (r"\bPs\.? (?=\d)", "Psaume "),
        # Spaces separate thousands, so espeak-ng reads "2020 500" as one number; nobody writes so.
        (r"(?<![\d.,])(\d{4,}) (?=\d{3}\b)", r"\1, "),
        (r"\b(Psaume 119) (?=1\d\d\b)", r"\1, "),
        (r"\bpp?\. ?(?=\d)", "page "),
        (r"\bch\. ?(?=\d)", "chapitre "),
        (r"\b1(?:re|ère)(s?)\b", r"première\1"),
        (r"\bIer\b", "premier"),
        (r"\b2n?d(es?)?\b", r"second\1"),
        (rf"\b({_ROMAN})(?:e|ème)s?\b", _ordinal),
        (r"\b(\d+)e(?:me)?s?\b", r"\1ème"),
        (rf"\bI(?= (?:Corinthiens|Thessaloniciens)\b)|(?<=[Cc]hapitre ){_ROMAN}\b", _cardinal),
        (rf"\b(?=[IVX]{{2}}){_ROMAN}\b", _cardinal),
        *((r"\b1 ?h ?(?=\d\d\b)", "une heure "), (r"\b1 ?h\b", "une heure")),
        *((r"(?<=\d) ?h ?(?=\d\d\b)", " heures "), (r"(?<=\d) ?h\b", " heures")),
    ),
}
"""Forms with numbers; each is applied to the result of those before it."""


def _known(lang: str) -> tuple[re.Pattern[str], dict[str, str]]:
    given = _ABBREVIATIONS[lang]
    # Capitalized for the start of a sentence, except single letters, which would be initials.
    capital = {key[0].upper() + key[1:]: said for key, said in given.items() if key[1] != "."}
    known = capital | given
    longest = sorted(known, key=len, reverse=True)
    written = "|".join(re.escape(key).replace(r"\.", r"\. ?").removesuffix(" ?") for key in longest)
    return re.compile(rf"(?<![\w.])(?:{written})(?![^\W\d])"), known


_KNOWN = {lang: _known(lang) for lang in _ABBREVIATIONS}


def as_said(text: str, lang: str) -> str:
    """Return a text, with single spaces between its words, with such forms written out."""
    if lang in _KNOWN:
        pattern, known = _KNOWN[lang]

        def written_out(found: re.Match[str]) -> str:
            after = text[found.end() :]
            # Its full stop may also end the sentence, and "v.4" has no space.
            end = "." if not after and found[0][-1] == "." else " " * after[:1].isdigit()
            return known[found[0].replace(". ", ".")] + end

        text = pattern.sub(written_out, text)
    for form, said in _FORMS.get(lang, ()):
        text = re.sub(form, said, text)
    return text

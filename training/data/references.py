"""Practice with Bible references: every book, chapter and verse, in words and in digits."""

# ruff: noqa: SIM905, E501 - lists and pairs of sentences read best as they are
from __future__ import annotations

import random

from training.data.corpora import Pair

_BOOKS = """Genesis=Génesis|Exodus=Éxodo|Leviticus=Levítico|Numbers=Números|Deuteronomy=Deuteronomio
|Joshua=Josué|Judges=Jueces|Ruth=Rut|Ezra=Esdras|Nehemiah=Nehemías|Esther=Ester|Job=Job
|Psalms=Salmos|Proverbs=Proverbios|Ecclesiastes=Eclesiastés|Song of Songs=Cantares|Isaiah=Isaías
|Jeremiah=Jeremías|Lamentations=Lamentaciones|Ezekiel=Ezequiel|Daniel=Daniel|Hosea=Oseas|Joel=Joel
|Amos=Amós|Obadiah=Abdías|Jonah=Jonás|Micah=Miqueas|Nahum=Nahúm|Habakkuk=Habacuc
|Zephaniah=Sofonías|Haggai=Hageo|Zechariah=Zacarías|Malachi=Malaquías|Matthew=Mateo|Mark=Marcos
|Luke=Lucas|John=Juan|Acts=Hechos|Romans=Romanos|Galatians=Gálatas|Ephesians=Efesios
|Philippians=Filipenses|Colossians=Colosenses|Titus=Tito|Philemon=Filemón|Hebrews=Hebreos
|James=Santiago|Jude=Judas|Revelation=Apocalipsis"""
_NUMBERED = """Samuel=Samuel|Kings=Reyes|Chronicles=Crónicas|Corinthians=Corintios
|Thessalonians=Tesalonicenses|Timothy=Timoteo|Peter=Pedro|John=Juan"""
_TEMPLATES = (
    ("Turn with me to {b}, chapter {c}, verse {v}.", "Vayan conmigo a {b}, capítulo {c}, versículo {v}."),
    ("Please open your Bibles to {b}, chapter {c}, verse {v}.", "Por favor, abran sus Biblias en {b}, capítulo {c}, versículo {v}."),
    ("Open your Bibles to the book of {b}, chapter {c}.", "Abran sus Biblias en el libro de {b}, capítulo {c}."),
    ("Our reading today is from the book of {b}, chapter {c}, verse {v}.", "Nuestra lectura de hoy es del libro de {b}, capítulo {c}, versículo {v}."),
    ("Our text is {b}, chapter {c}, verses {v} to {w}.", "Nuestro texto es {b}, capítulo {c}, versículos {v} al {w}."),
    ("We read in {b}, chapter {c}, beginning at verse {v}.", "Leemos en {b}, capítulo {c}, desde el versículo {v}."),
    ("In {b}, chapter {c}, verse {v}, we read these words.", "En {b}, capítulo {c}, versículo {v}, leemos estas palabras."),
    ("{b} chapter {c} verse {v}.", "{b}, capítulo {c}, versículo {v}."),
    ("Look at verse {v} of chapter {c}.", "Miren el versículo {v} del capítulo {c}."),
    ("Now look at verse {v}.", "Ahora miren el versículo {v}."),
    ("This is the word of God in {b}, chapter {c}.", "Esta es la palabra de Dios en {b}, capítulo {c}."),
)  # fmt: skip
_SHORT_TEMPLATES = (
    ("Turn with me to {b} {c}:{v}.", "Vayan conmigo a {b} {c}:{v}."),
    ("In {b} {c}:{v} it is written.", "En {b} {c}:{v} está escrito."),
    ("Our text today is {b} {c}:{v}.", "Nuestro texto de hoy es {b} {c}:{v}."),
    ("{b} {c}:{v} says this.", "{b} {c}:{v} dice esto."),
    ("Read {b} {c} this week.", "Lean {b} {c} esta semana."),
)
_ORDINALS = (("First", "Primera de"), ("Second", "Segunda de"))

_ENGLISH = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen""".split()
_ENGLISH_TENS = (None, None, *"twenty thirty forty fifty sixty seventy eighty ninety".split())
_SPANISH = """cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince
dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro
veinticinco veintiséis veintisiete veintiocho veintinueve""".split()
_SPANISH_TENS = (
    *(None,) * 3,
    *"treinta cuarenta cincuenta sesenta setenta ochenta noventa".split(),
)


def english_number(number: int) -> str:
    """0 to 199 in words."""
    if number >= 100:
        rest = f" and {english_number(number - 100)}" if number > 100 else ""
        return f"one hundred{rest}"
    if number < 20:
        return _ENGLISH[number]
    tens, ones = divmod(number, 10)
    return f"{_ENGLISH_TENS[tens]}-{_ENGLISH[ones]}" if ones else f"{_ENGLISH_TENS[tens]}"


def spanish_number(number: int) -> str:
    """0 to 199 in words."""
    if number >= 100:
        return f"ciento {spanish_number(number - 100)}" if number > 100 else "cien"
    if number < 30:
        return _SPANISH[number]
    tens, ones = divmod(number, 10)
    return f"{_SPANISH_TENS[tens]} y {_SPANISH[ones]}" if ones else f"{_SPANISH_TENS[tens]}"


def references(count: int, rng: random.Random) -> list[Pair]:
    """Return sentences with a Bible reference; one in three writes its numbers in digits."""
    return [_reference(rng) for _ in range(count)]


def _reference(rng: random.Random) -> Pair:
    in_digits = rng.random() < 1 / 3
    english_book, spanish_book = _book(in_digits, rng)
    verse = rng.randint(1, 60)
    numbers = {"c": rng.randint(1, 150 if english_book == "Psalms" else 50), "v": verse}
    numbers["w"] = verse + rng.randint(1, 12)
    digits = {name: str(number) for name, number in numbers.items()}
    short = in_digits and rng.random() < 0.7
    english, spanish = rng.choice(_SHORT_TEMPLATES if short else _TEMPLATES)
    en = digits if in_digits else {name: english_number(n) for name, n in numbers.items()}
    es = digits if in_digits else {name: spanish_number(n) for name, n in numbers.items()}
    english = english.format(b=english_book, **en)
    return Pair(english, spanish.format(b=spanish_book, **es), "reference")


def _book(in_digits: bool, rng: random.Random) -> tuple[str, str]:
    if rng.random() < 0.25:
        english, spanish = _named(_NUMBERED, rng)
        index = rng.randrange(2)
        if in_digits:
            return f"{index + 1} {english}", f"{index + 1} {spanish}"
        return f"{_ORDINALS[index][0]} {english}", f"{_ORDINALS[index][1]} {spanish}"
    return _named(_BOOKS, rng)


def _named(books: str, rng: random.Random) -> tuple[str, str]:
    english, spanish = rng.choice(books.replace("\n", "").split("|")).split("=")
    return english, spanish

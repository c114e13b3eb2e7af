"""The 66 books of the Bible: how they are said and printed in each language. Pure.

A name that is also an ordinary word or a person's name is marked with `*`: it needs more beside it
before it is taken for a book. None of them ever counts without a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.church.scripture.versification import VERSES
from pipeline.text.words import plain

PSALMS = 19

# Of each book: its printed name, then other ways to say it. "1 Samuel" stands for first, 1st, I ...
_EN = """
Genesis| Exodus| Leviticus| Numbers*| Deuteronomy| Joshua*| Judges*| Ruth*| 1 Samuel| 2 Samuel|
1 Kings| 2 Kings| 1 Chronicles| 2 Chronicles| Ezra*| Nehemiah| Esther*| Job*| Psalm, Psalms|
Proverbs, Proverb| Ecclesiastes| Song of Solomon, Song of Songs, Canticles| Isaiah| Jeremiah|
Lamentations*| Ezekiel| Daniel*| Hosea| Joel*| Amos*| Obadiah| Jonah*| Micah*| Nahum| Habakkuk|
Zephaniah| Haggai| Zechariah| Malachi| Matthew*| Mark*| Luke*| John*| Acts*, Acts of the Apostles|
Romans| 1 Corinthians| 2 Corinthians| Galatians| Ephesians| Philippians| Colossians|
1 Thessalonians| 2 Thessalonians| 1 Timothy| 2 Timothy| Titus*| Philemon| Hebrews*| James*|
1 Peter| 2 Peter| 1 John| 2 John| 3 John| Jude*| Revelation, Revelations, Apocalypse
"""
_ES = """
Génesis| Éxodo| Levítico| Números*| Deuteronomio| Josué*| Jueces*| Rut*, Ruth*| 1 Samuel|
2 Samuel| 1 Reyes| 2 Reyes| 1 Crónicas| 2 Crónicas| Esdras*| Nehemías| Ester*, Esther*| Job*|
Salmo, Salmos| Proverbios, Proverbio| Eclesiastés| Cantares, Cantar de los Cantares, Cantar| Isaías|
Jeremías| Lamentaciones*| Ezequiel| Daniel*| Oseas| Joel*| Amós*| Abdías| Jonás*| Miqueas*| Nahúm|
Habacuc| Sofonías| Hageo| Zacarías| Malaquías| Mateo*| Marcos*| Lucas*| Juan*|
Hechos*, Hechos de los Apóstoles| Romanos| 1 Corintios| 2 Corintios| Gálatas| Efesios| Filipenses|
Colosenses| 1 Tesalonicenses| 2 Tesalonicenses| 1 Timoteo| 2 Timoteo| Tito*| Filemón| Hebreos*|
Santiago*| 1 Pedro| 2 Pedro| 1 Juan| 2 Juan| 3 Juan| Judas*| Apocalipsis, Revelación
"""
_FR = """
Genèse| Exode| Lévitique| Nombres*| Deutéronome| Josué*| Juges*| Ruth*| 1 Samuel| 2 Samuel|
1 Rois| 2 Rois| 1 Chroniques| 2 Chroniques| Esdras*| Néhémie| Esther*| Job*| Psaume, Psaumes|
Proverbes, Proverbe| Ecclésiaste| Cantique des Cantiques, Cantique| Ésaïe, Isaïe| Jérémie*|
Lamentations*, Lamentations de Jérémie| Ézéchiel| Daniel*| Osée| Joël*| Amos*| Abdias| Jonas*|
Michée*| Nahum| Habacuc| Sophonie*| Aggée| Zacharie*| Malachie| Matthieu*| Marc*| Luc*| Jean*|
Actes*, Actes des Apôtres| Romains| 1 Corinthiens| 2 Corinthiens| Galates| Éphésiens| Philippiens|
Colossiens| 1 Thessaloniciens| 2 Thessaloniciens| 1 Timothée| 2 Timothée| Tite*| Philémon|
Hébreux*| Jacques*| 1 Pierre| 2 Pierre| 1 Jean| 2 Jean| 3 Jean| Jude*| Apocalypse, Révélation
"""

_FIRST = {
    "en": ("first one 1 i 1st", "second two 2 ii 2nd", "third three 3 iii 3rd"),
    "es": (
        "primera primer primero uno 1 i 1ª 1a",
        "segunda segundo dos 2 ii 2ª 2a",
        "tercera tercer tercero tres 3 iii 3ª 3a",
    ),
    "fr": (
        "premier premiere un une 1 i 1er 1re 1ere",
        "deuxieme second seconde deux 2 ii 2e 2nd 2nde 2eme",
        "troisieme trois 3 iii 3e 3eme",
    ),
}


@dataclass(frozen=True, slots=True)
class BookName:
    """A way to say a book."""

    number: int
    """1 Genesis to 66 Revelation."""
    words: tuple[str, ...]
    """As `tokens.plain` has them; without the number of "1 Samuel"."""
    ordinal: int = 0
    """The 1 of "1 Samuel", 0 where there is none."""
    is_common: bool = False
    """Whether it is an ordinary word or a person's name, too."""


def _printed(table: str) -> tuple[tuple[str, ...], ...]:
    books = " ".join(table.split()).split("|")
    return tuple(tuple(name.strip() for name in book.split(",")) for book in books)


_TABLES = {lang: _printed(table) for lang, table in (("en", _EN), ("es", _ES), ("fr", _FR))}

LANGS = frozenset(_TABLES)
"""The languages that references are read and written in."""

PRINTED: Mapping[str, tuple[str, ...]] = {
    lang: tuple(names[0].rstrip("*") for names in table) for lang, table in _TABLES.items()
}
"""The names of the books in the order of the Bible, as a language prints them."""

ORDINALS: Mapping[str, Mapping[str, int]] = {
    lang: {word: n for n, words in enumerate(each, 1) for word in words.split()}
    for lang, each in _FIRST.items()
}
"""What is said for the number of "1 Samuel"."""


def _names(lang: str) -> dict[str, tuple[BookName, ...]]:
    found: dict[str, list[BookName]] = {}
    for number, names in enumerate(_TABLES[lang], 1):
        for name in names:
            words = tuple(plain(word) for word in name.rstrip("*").split())
            ordinal = int(words[0]) if words[0].isdecimal() else 0
            words = words[1:] if ordinal else words
            made = BookName(number, words, ordinal, is_common=name.endswith("*"))
            found.setdefault(words[0], []).append(made)
    # The longest first: "Song of Songs" before "Song".
    return {w: tuple(sorted(each, key=lambda n: -len(n.words))) for w, each in found.items()}


NAMES: Mapping[str, Mapping[str, tuple[BookName, ...]]] = {lang: _names(lang) for lang in LANGS}
"""By language and first word."""


def chapters(book: int) -> int:
    """Return how many chapters a book has."""
    return len(VERSES[book - 1])


def verses(book: int, chapter: int) -> int:
    """Return how many verses a chapter has, 0 if there is no such chapter."""
    return VERSES[book - 1][chapter - 1] if 1 <= chapter <= chapters(book) else 0

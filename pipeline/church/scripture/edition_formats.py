"""Read Bibles in publishers' formats: OSIS, Zefania (both XML), USFM, and text with tabs. Pure.

Notes and headings are left out: only text that is read aloud counts.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from xml.etree import ElementTree as ET

from pipeline.church.scripture.books import NAMES
from pipeline.church.scripture.editions import VerseId
from pipeline.core.errors import VersesError
from pipeline.text.words import closed_up, plain

_OSIS = (
    "Gen Exod Lev Num Deut Josh Judg Ruth 1Sam 2Sam 1Kgs 2Kgs 1Chr 2Chr Ezra Neh Esth Job Ps Prov "
    "Eccl Song Isa Jer Lam Ezek Dan Hos Joel Amos Obad Jonah Mic Nah Hab Zeph Hag Zech Mal Matt "
    "Mark Luke John Acts Rom 1Cor 2Cor Gal Eph Phil Col 1Thess 2Thess 1Tim 2Tim Titus Phlm Heb Jas "
    "1Pet 2Pet 1John 2John 3John Jude Rev"
)
_USFM = (
    "GEN EXO LEV NUM DEU JOS JDG RUT 1SA 2SA 1KI 2KI 1CH 2CH EZR NEH EST JOB PSA PRO ECC SNG ISA "
    "JER LAM EZK DAN HOS JOL AMO OBA JON MIC NAM HAB ZEP HAG ZEC MAL MAT MRK LUK JHN ACT ROM 1CO "
    "2CO GAL EPH PHP COL 1TH 2TH 1TI 2TI TIT PHM HEB JAS 1PE 2PE 1JN 2JN 3JN JUD REV"
)
_CODES: Mapping[str, int] = {
    code.casefold(): n for codes in (_OSIS, _USFM) for n, code in enumerate(codes.split(), 1)
}
_NOT_READ = {"note", "title", "reference", "rdg", "header"}
# Elements on a line of their own: the words before and after one are separate words.
_LINES = {"br", "cell", "chapter", "div", "item", "l", "lb", "lg", "milestone", "p", "verse"}
_TAGS = re.compile(r"(<[^<>]*>)")
# Marks the edges of words that the translators added: some publishers omit the space there.
_ADDED = "\0"
_GLUED = re.compile(rf"(?<=\w){_ADDED}(?=\w)")
_NOTES = ("f", "fe", "ef", "x", "ex", "rq", "fig", "va", "vp")
# Picture captions and verse numbers of other editions end like notes and are not read aloud.
_NOTE = re.compile(rf"\\({'|'.join(_NOTES)})\b(?!\*)")
# Also headings in a chapter: the speaker (sp), letters of an acrostic psalm (qa), ranges (mr).
_HEADINGS = re.compile(r"\\(?:s\d?|sp|sr|qa|r|d|mt\d?|ms\d?|mr|h|toc\d?|rem|cl|cd)\b[^\n]*")
# Possessive (++): if nothing ends the match, no shorter one is tried.
_ATTRIBUTES = re.compile(r"\|[^\\\n]*+(\\?)")
_MARKER = re.compile(r"\\\+?[a-z]+\d?\*?")
_VERSE = re.compile(r"\\v\s++(\d++)(?:[-,]\d++)?\S*+\s++")
MOST_CHARACTERS = 64 << 20
"""Limit for the text with notes and expanded entities; a study Bible has 10 million."""
_MOST_VERSES = 100_000
"""A Bible has 31,102."""


def parse(text: str, name: str) -> dict[VerseId, str]:
    """Return the verses of a file's text, in any of the four formats. Raises VersesError.

    `name` is the file name, for messages.
    """
    start = text.lstrip("\ufeff \n\r\t")[:2000]
    if start.startswith("<"):
        verses = dict(_xml(text, name))
    elif re.search(r"\\id\s", start):
        verses = {}
        for place, words in _usfm(text):
            # A verse may come in parts, as \v 3a and \v 3b.
            verses[place] = f"{verses.get(place, '')} {words}"
    else:
        verses = dict(_tabs(text, name))
    if len(verses) > _MOST_VERSES:
        message = f"{name} has {len(verses)} verses: that is more than a Bible."
        raise VersesError("verses-too-large", message, "Add one Bible at a time.")
    whole = {place: tidy(words) for place, words in verses.items()}
    found = {place: words for place, words in whole.items() if words}
    if not found:
        raise VersesError(
            "verses-empty",
            f"{name} has no verses that could be read.",
            "Known are OSIS, Zefania, USFM, and lines of book, chapter, verse, text with tabs.",
        )
    return found


def tidy(words: str) -> str:
    """Return a verse on one line, without paragraph signs."""
    return closed_up(" ".join(words.replace("¶", " ").split()))


def _xml(text: str, name: str) -> Mapping[VerseId, str]:
    verses = _XmlVerses(name)
    # expat calls this for each tag: no tree is built, which would be deep and large.
    parser = ET.XMLParser(target=verses)  # noqa: S314 - the text is counted
    try:
        parser.feed(text.lstrip("\ufeff \n\r\t"))
        parser.close()
    except (ET.ParseError, ValueError) as error:
        message = f"{name} is not XML: {error}."
        raise VersesError("verses-broken-file", message, "Get the file again.") from None
    return {place: "".join(words) for place, words in verses.found.items()}


class _XmlVerses:
    """Collects the verses of OSIS and of Zefania, as the target of an XML parser."""

    def __init__(self, name: str) -> None:
        self.found: dict[VerseId, list[str]] = {}
        self._name = name
        self._verse: VerseId | None = None
        self._not_read = 0
        """How many open elements are notes or headings, or inside one."""
        self._book: str | None = None
        self._chapter: str | None = None
        """Both are from Zefania's attributes."""
        self._open_marks: list[bool] = []
        """For each open OSIS verse element: whether it only marks where a verse begins."""
        self._left = MOST_CHARACTERS

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = _local(tag)
        if self._not_read or tag in _NOT_READ:
            # Elements inside are counted too: the end of an inner one does not end the note.
            self._not_read += 1
            return
        match tag:
            case "verse":
                # A verse is one element, or the text between two empty ones (sID and eID).
                named = attributes.get("sID") or attributes.get("osisID") or ""
                self._verse = None if attributes.get("eID") else _osis_place(named)
                self._open_marks.append(bool(attributes.get("sID")))
            case "biblebook":
                self._book, self._chapter = attributes.get("bnumber"), None
            case "chapter":
                self._chapter = attributes.get("cnumber")
            case "vers":
                self._verse = _place(self._book, self._chapter, attributes.get("vnumber"))
                if self._verse:
                    self.found[self._verse] = []
        self._gap(tag)

    def end(self, tag: str) -> None:
        if self._not_read:
            self._not_read -= 1
            return
        tag = _local(tag)
        self._gap(tag)
        # A verse that is marked by two empty elements continues after the first.
        if tag == "vers" or (tag == "verse" and not self._open_marks.pop()):
            self._verse = None

    def data(self, text: str) -> None:
        """Take text. Raises VersesError if entities expand to too much."""
        # Counted before notes are left out: entities can expand within a note as well.
        self._left -= len(text)
        if self._left < 0:
            raise VersesError("verses-too-large", f"{self._name} is too large for a Bible.")
        if self._verse and not self._not_read:
            self.found.setdefault(self._verse, []).append(text)

    def _gap(self, tag: str) -> None:
        if self._verse and tag in _LINES:
            self.found.setdefault(self._verse, []).append(" ")


def osis_words(markup: str) -> str:
    """Return the text of a piece of OSIS that is read aloud; tags may be left open.

    "" if a note does not end: better no verse than half of one.
    """
    words: list[str] = []
    depth = 0  # open notes and headings
    for part in _TAGS.split(markup):
        if not (part.startswith("<") and part.endswith(">")):
            if not depth:
                words.append(html.unescape(part))
            continue
        name = part[1:-1].strip("/").split(maxsplit=1)[:1]
        tag = name[0].rpartition(":")[2].casefold() if name else ""
        if tag in _LINES:
            words.append(" ")
        elif tag == "transchange" and not depth:
            words.append(_ADDED)
        if tag in _NOT_READ and not part.endswith("/>"):
            depth = max(0, depth + (-1 if part.startswith("</") else 1))
    return "" if depth else _GLUED.sub(" ", "".join(words)).replace(_ADDED, "")


def _osis_place(named: str) -> VerseId | None:
    # The first of several, without the prefix that names the work: "Bible.KJV:Gen.1.1".
    parts = named.split(maxsplit=1)[0].rpartition(":")[2].split(".") if named.strip() else []
    return _place(*parts[:3]) if len(parts) >= 3 else None


def _usfm(text: str) -> Iterator[tuple[VerseId, str]]:
    # Notes first: they may contain text that looks like a heading.
    text = _HEADINGS.sub("", _without_notes(text))
    for part in re.split(r"(?=\\id\s)", text):
        head = re.match(r"\\id\s+(\w+)", part)
        if head is None:
            continue
        book = head.group(1)
        for chapter in re.split(r"(?=\\c\s+\d)", part)[1:]:
            # The split has left a number after each \c.
            number = chapter[2:].split()[0]
            pieces = _VERSE.split(chapter)
            for verse, words in zip(pieces[1::2], pieces[2::2], strict=True):
                if place := _place(book, number, verse):
                    yield place, _MARKER.sub(" ", _ATTRIBUTES.sub(_no_attribute, words))


def _no_attribute(found: re.Match[str]) -> str:
    # Only a backslash ends an attribute; without one it is text of the verse.
    return found[1] or found[0]


def _without_notes(text: str) -> str:
    """Return USFM without its notes; an unclosed note stays."""
    ends = {kind: text.rfind(f"\\{kind}*") for kind in _NOTES}
    pieces, at = [], 0
    for note in _NOTE.finditer(text):
        if at <= note.start() < ends[note[1]]:
            pieces.append(text[at : note.start()])
            end = f"\\{note[1]}*"
            at = text.index(end, note.end()) + len(end)
    return "".join([*pieces, text[at:]])


def _tabs(text: str, name: str) -> Iterator[tuple[VerseId, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split("\t", 3)
        place = _place(*parts[:3]) if len(parts) == 4 else None
        if place is None and number > 1:  # the first line may be a heading
            raise VersesError(
                "verses-bad-line",
                f"{name}, line {number}: not book, chapter, verse and text with tabs between.",
                "Correct the line.",
            )
        if place:
            yield place, parts[3]


def _place(book: str | None, chapter: str | None, verse: str | None) -> VerseId | None:
    numbers = (chapter or "", verse or "")
    # The length is limited because int() raises for thousands of digits.
    if not all(part.strip().isdecimal() and len(part) < 5 for part in numbers):
        return None
    number = _book(book or "")
    return (number, int(numbers[0]), int(numbers[1])) if number else None


@lru_cache(maxsize=1024)
def _book(name: str) -> int:
    """Return the number of a book by number, code or name; 0 if it is none of the 66."""
    name = name.strip()
    if name.isdecimal() and len(name) < 3:
        return int(name) if 1 <= int(name) <= 66 else 0
    if code := _CODES.get(name.casefold(), 0):
        return code
    words = tuple(plain(name).split())
    romans = {"i": 1, "ii": 2, "iii": 3}
    ordinal = 0
    if len(words) > 1 and (words[0] in romans or words[0] in ("1", "2", "3")):
        ordinal = romans.get(words[0]) or int(words[0])
        words = words[1:]
    for names in NAMES.values():
        for each in names.get(words[0], ()) if words else ():
            if each.words == words and each.ordinal == ordinal:
                return each.number
    return 66 if name == "Revelation of John" else 0  # the name in Zefania's files


def _local(tag: str) -> str:
    # Without the namespace, which differs between publishers.
    return tag.rpartition("}")[2].casefold()

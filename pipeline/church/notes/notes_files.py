"""Read a preacher's notes (.docx, .pdf, .md, .txt); store and load what was extracted from them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from pipeline.church.notes.notes import Notes, draw, parse
from pipeline.core.errors import NotesError, writing
from pipeline.core.files import read_at_most, write_whole
from pipeline.core.formats import human_size
from pipeline.core.limited import Limits, call

NOTES = "notes.toml"
"""File in the sessions' folder until a service begins, then in that session's folder."""

_MOST_BYTES = 20_000_000
_MOST_CHARACTERS = 300_000
_MOST_PAGES = 100
_END = "\n"
"""The end of a paragraph."""
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_GAPS = {f"{_WORD}tab": " ", f"{_WORD}br": _END, f"{_WORD}cr": _END, f"{_WORD}noBreakHyphen": "-"}
"""Word elements that stand for a character; without it the words around it would be joined."""
_NO_TEXT = re.compile("[\0-\x08\x0e-\x1f\x7f\ud800-\udfff]")
"""Control characters and lone surrogates: a file with them cannot be written."""
_MARKS = re.compile(r"^[ \t]*+(?:#{1,6}\s+|[-*+>]\s+|\d+\.\s+)|[*_`]{1,3}", re.MULTILINE)
_FIX = "Save it again, as .docx or as plain text, and add that."


LIMITS = Limits(seconds=60, memory_bytes=1 << 30, answer_bytes=16 << 20)
"""A hundred pages of PDF take about 6 s, longer while the engines use the processor."""


async def draw_out(content: bytes, name: str, lang: str, known: Collection[str] = ()) -> Notes:
    """Return what is extracted from a file of notes, read in a separate process.

    The suffix of `name` gives the file type, `lang` is the notes' language, `known` as in `draw`.
    Raises NotesError.
    """

    def failed(what: str) -> NotesError:
        return NotesError("notes-unreadable", f"{name} {what}.", _FIX)

    return await call(LIMITS, failed, drawn, content, name, lang, known)


def drawn(content: bytes, name: str, lang: str, known: Collection[str] = ()) -> Notes:
    """Return what is extracted from a file of notes, in this process. Raises NotesError."""
    return draw(text_of(content, name), lang, known)


def content_of(path: Path) -> bytes:
    """Return the content of a file of notes. Raises NotesError."""
    _reader(path.suffix, str(path))  # first: an unknown type fails even if the file is missing
    try:
        content = read_at_most(path, _MOST_BYTES)
    except FileNotFoundError as error:
        raise NotesError("notes-missing", f"{path}: {error.strerror}.", "") from None
    except OSError as error:
        raise NotesError("notes-unreadable", f"{path}: {error.strerror}.", "") from None
    if content is None:
        raise _too_long(str(path), f"has more than {human_size(_MOST_BYTES)}")
    return content


def text_of(content: bytes, name: str) -> str:
    """Return the text of notes; the suffix of `name` gives the file type. Raises NotesError."""
    text = _reader(Path(name).suffix, name)(content, name)
    # Counted here: the size of a packed file says little about the length of its text.
    if len(text) > _MOST_CHARACTERS:
        raise _too_long(name, f"has {len(text)} characters")
    if not re.search(r"\w", text):
        fix = "Is it a scan? Save the text itself, as .docx or .txt."
        raise NotesError("notes-empty", f"{name}: there is no text in it.", fix)
    return _NO_TEXT.sub("", text)


def _reader(suffix: str, name: str) -> Callable[[bytes, str], str]:
    if reader := _READERS.get(suffix.lower()):
        return reader
    fix = f"Save it as one of {', '.join(_READERS)}."
    raise NotesError("notes-unknown", f"{name}: this kind of file is not known.", fix)


def _too_long(name: str, what: str) -> NotesError:
    fix = "Give what is said on the day: a sermon has some ten pages."
    return NotesError("notes-too-long", f"{name} {what}: that is no sermon.", fix)


def _plain(content: bytes, name: str) -> str:
    # Among text encodings only UTF-16 has zeros, and it begins with a byte order mark.
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotesError("notes-unreadable", f"{name} is not a text file.", _FIX)
    # Older editors on Windows write cp1252; latin-1 below accepts any byte.
    for encoding in (
        "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig",
        "cp1252",
    ):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1")


def _markdown(content: bytes, name: str) -> str:
    return _MARKS.sub("", _plain(content, name))


def _docx(content: bytes, name: str) -> str:
    """Return the paragraphs of a Word file: XML in a zip."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            part = parts.getinfo("word/document.xml")
            # The archive's own number is enough: zipfile unpacks no more of a part than that.
            if part.file_size > _MOST_BYTES:
                raise _too_long(name, f"has {human_size(part.file_size)} of text")
            parser = ET.XMLParser(target=_Paragraphs(name))  # noqa: S314 - no entities
            parser.feed(parts.read(part))
        return str(parser.close())
    # RuntimeError: zipfile needs a password, or does not know the compression.
    except (OSError, KeyError, zipfile.BadZipFile, ET.ParseError, RuntimeError) as error:
        message = f"{name} is no whole Word file: {error}"
        raise NotesError("notes-unreadable", message, _FIX) from None


class _Paragraphs:
    """Collects the text of Word's XML as the target of a parser, without building a tree."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pieces = [_END]
        self._is_text = False

    def doctype(self, *_: str | None) -> None:
        """Refuse a DOCTYPE: Word never writes one, and without it there are no entities."""
        raise NotesError("notes-unreadable", f"{self._name} has a DOCTYPE in it.", _FIX)

    def start(self, tag: str, _: Mapping[str, str]) -> None:
        self._is_text = tag == f"{_WORD}t"
        # A paragraph's tab stop has the same name. It comes before all text, so it is skipped.
        if tag in _GAPS and self._pieces[-1] != _END:
            self._pieces.append(_GAPS[tag])
        # The paragraphs of a text box are inside another paragraph.
        if tag == f"{_WORD}p" and self._pieces[-1] != _END:
            self._pieces.append(_END)

    def end(self, tag: str) -> None:
        self._is_text = False
        if tag == f"{_WORD}p":
            self._pieces.append(_END)

    def data(self, text: str) -> None:
        # expat may deliver one text in several pieces.
        if self._is_text:
            self._pieces.append(text)

    def close(self) -> str:
        """Return the whole text, one line per paragraph."""
        return "".join(self._pieces[1:]).removesuffix(_END)


def _pdf(content: bytes, name: str) -> str:
    import pypdf  # noqa: PLC0415 - heavy

    try:
        pages = pypdf.PdfReader(io.BytesIO(content)).pages
        count = len(pages)
        # Counted first: reading the pages of a whole book would take long.
        text = "\n".join(page.extract_text() for page in pages) if count <= _MOST_PAGES else ""
    except Exception as error:  # noqa: BLE001 - broken files raise all kinds
        message = f"{name} cannot be read as a PDF: {error}"
        raise NotesError("notes-unreadable", message, _FIX) from None
    # Outside the `try`, which would report a broken file.
    if count > _MOST_PAGES:
        raise _too_long(name, f"has {count} pages")
    return text


# The error for an unknown file type lists them in this order.
_READERS: Mapping[str, Callable[[bytes, str], str]] = {
    ".docx": _docx,
    ".pdf": _pdf,
    ".md": _markdown,
    ".txt": _plain,
}


def read_notes(path: Path) -> Notes:
    """Read the file of extracted notes. Raises NotesError."""
    try:
        # -sig: some editors on Windows write a byte order mark, which TOML does not allow.
        content = path.read_text("utf-8-sig")
    except FileNotFoundError:
        fix = "Add some with `stark-translate notes add FILE`."
        raise NotesError("notes-missing", f"{path}: there are no notes.", fix) from None
    except (OSError, UnicodeDecodeError) as error:
        raise NotesError("notes-unreadable", f"{path}: {error}", "Draw them again.") from None
    return parse(content, str(path))


def write_notes(path: Path, content: str) -> None:
    """Write the file atomically. Raises NotesError."""
    fix = f"Let the program's user write in {path.parent}."
    with writing(path, NotesError, "notes-unwritable", fix):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content.encode())

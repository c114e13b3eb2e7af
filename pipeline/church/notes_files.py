"""A preacher's notes as they come: .docx, .pdf, .md, .txt; and where what was drawn out is kept."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from pipeline.church.notes import Notes, parse
from pipeline.core.errors import NotesError
from pipeline.core.files import WholeFile

NOTES = "notes.toml"
"""In the sessions' folder until a service begins, then in that session's own folder."""

_MOST_BYTES = 20_000_000
_MOST_CHARACTERS = 300_000
_MOST_PAGES = 100
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MARKS = re.compile(r"^\s*(?:#{1,6}\s+|[-*+>]\s+|\d+\.\s+)|[*_`]{1,3}", re.MULTILINE)
_FIX = "Save it again, as .docx or as plain text, and add that."


def read(path: Path) -> str:
    """Return the text of a file of notes. Raises NotesError."""
    _reader(path.suffix, str(path))  # first: what is of no kind that is known need not be there
    try:
        size = path.stat().st_size
        # Before it is read: whatever it is would come into memory whole.
        if size > _MOST_BYTES:
            raise _too_long(str(path), f"has {size / 1e6:.0f} MB")
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise NotesError("notes-missing", f"{path}: {error.strerror}.", "") from None
    except OSError as error:
        raise NotesError("notes-unreadable", f"{path}: {error.strerror}.", "") from None
    return text_of(content, str(path))


def text_of(content: bytes, name: str) -> str:
    """Return the text of notes; the file's name says what it is. Raises NotesError."""
    text = _reader(Path(name).suffix, name)(content, name)
    if len(text) > _MOST_CHARACTERS:
        raise _too_long(name, f"has {len(text)} characters")
    if not re.search(r"\w", text):
        fix = "Is it a scan? Save the text itself, as .docx or .txt."
        raise NotesError("notes-empty", f"{name}: there is no text in it.", fix)
    return text


def _reader(suffix: str, name: str) -> Callable[[bytes, str], str]:
    if reader := _READERS.get(suffix.lower()):
        return reader
    fix = f"Save it as one of {', '.join(_READERS)}."
    raise NotesError("notes-unknown", f"{name}: this kind of file is not known.", fix)


def _too_long(name: str, what: str) -> NotesError:
    fix = "Give what is said on the day: a sermon has some ten pages."
    return NotesError("notes-too-long", f"{name} {what}: that is no sermon.", fix)


def _plain(content: bytes, name: str) -> str:
    # Of text only UTF-16 has zeros, and it begins with a mark.
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotesError("notes-unreadable", f"{name} is not a text file.", _FIX)
    # cp1252 is what older editors on Windows write; latin-1 below takes any byte.
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
            size = part.file_size
            # By what the archive says: zipfile unpacks no more of a part than that.
            xml = parts.read(part) if size <= _MOST_BYTES else b""
        # Word writes no DOCTYPE; without one there are no entities that could make it endless.
        root = ET.fromstring(b"" if b"<!DOCTYPE" in xml else xml or b"<w/>")  # noqa: S314
    except (OSError, KeyError, zipfile.BadZipFile, ET.ParseError, RuntimeError) as error:
        message = f"{name} is no whole Word file: {error}"
        raise NotesError("notes-unreadable", message, _FIX) from None
    if size > _MOST_BYTES:
        raise _too_long(name, f"has {size / 1e6:.0f} MB of text")
    paragraphs = (
        "".join(each.text or "" for each in paragraph.iter(f"{_WORD}t"))
        for paragraph in root.iter(f"{_WORD}p")
    )
    return "\n".join(paragraphs)


def _pdf(content: bytes, name: str) -> str:
    try:
        import pypdf  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        fix = "Run `pip install stark-translate[notes]`, or save the notes as .docx or .txt."
        raise NotesError("notes-no-pdf", f"{name}: PDF needs one more package.", fix) from None
    try:
        pages = pypdf.PdfReader(io.BytesIO(content)).pages
        count = len(pages)
        # Counted first: to read the pages of a whole book would take its time.
        text = "\n".join(page.extract_text() for page in pages) if count <= _MOST_PAGES else ""
    except Exception as error:  # noqa: BLE001 - broken files raise all kinds
        message = f"{name} cannot be read as a PDF: {error}"
        raise NotesError("notes-unreadable", message, _FIX) from None
    if count > _MOST_PAGES:
        raise _too_long(name, f"has {count} pages")
    return text


_READERS: Mapping[str, Callable[[bytes, str], str]] = {
    ".docx": _docx,
    ".pdf": _pdf,
    ".md": _markdown,
    ".txt": _plain,
}


def read_notes(path: Path) -> Notes:
    """Read what was drawn out of notes. Raises NotesError."""
    try:
        content = path.read_text("utf-8")
    except FileNotFoundError:
        fix = "Add some with `stark-translate notes add FILE`."
        raise NotesError("notes-missing", f"{path}: there are no notes.", fix) from None
    except (OSError, UnicodeDecodeError) as error:
        raise NotesError("notes-unreadable", f"{path}: {error}", "Draw them again.") from None
    return parse(content, str(path))


def write_notes(path: Path, content: str) -> None:
    """Write it whole or not at all. Raises NotesError."""
    file = WholeFile(path)
    file.content = content.encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file.flush()
    except OSError as error:
        fix = f"Let the program's user write in {path.parent}."
        raise NotesError("notes-unwritable", f"{path}: {error.strerror}.", fix) from None

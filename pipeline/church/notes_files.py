"""A preacher's notes as they come: .docx, .pdf, .md, .txt; and where what was drawn out is kept."""

from __future__ import annotations

import re
import zipfile
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
    """Return the text of notes. Raises NotesError."""
    readers = {".docx": _docx, ".pdf": _pdf, ".md": _markdown, ".txt": _plain}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        fix = f"Save it as one of {', '.join(readers)}."
        raise NotesError("notes-unknown", f"{path}: this kind of file is not known.", fix)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise NotesError("notes-missing", f"{path}: {error.strerror}.", "") from None
    if size > _MOST_BYTES:
        raise _too_long(path, f"has {size / 1e6:.0f} MB")
    text = reader(path)
    if len(text) > _MOST_CHARACTERS:
        raise _too_long(path, f"has {len(text)} characters")
    if not re.search(r"\w", text):
        fix = "Is it a scan? Save the text itself, as .docx or .txt."
        raise NotesError("notes-empty", f"{path}: there is no text in it.", fix)
    return text


def _too_long(path: Path, what: str) -> NotesError:
    fix = "Give what is said on the day: a sermon has some ten pages."
    return NotesError("notes-too-long", f"{path} {what}: that is no sermon.", fix)


def _plain(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NotesError("notes-unreadable", f"{path}: {error.strerror}.", "") from None
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotesError("notes-unreadable", f"{path} is not a text file.", _FIX)
    for encoding in (
        "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig",
        "cp1252",
    ):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1")


def _markdown(path: Path) -> str:
    return _MARKS.sub("", _plain(path))


def _docx(path: Path) -> str:
    """Return the paragraphs of a Word file: XML in a zip."""
    try:
        with zipfile.ZipFile(path) as parts:
            part = parts.getinfo("word/document.xml")
            size = part.file_size
            content = parts.read(part) if size <= _MOST_BYTES else b""
        # Word writes no DOCTYPE; without one there are no entities that could make it endless.
        root = ET.fromstring(b"" if b"<!DOCTYPE" in content else content or b"<w/>")  # noqa: S314
    except (OSError, KeyError, zipfile.BadZipFile, ET.ParseError, RuntimeError) as error:
        message = f"{path} is no whole Word file: {error}"
        raise NotesError("notes-unreadable", message, _FIX) from None
    if size > _MOST_BYTES:
        raise _too_long(path, f"has {size / 1e6:.0f} MB of text")
    paragraphs = (
        "".join(each.text or "" for each in paragraph.iter(f"{_WORD}t"))
        for paragraph in root.iter(f"{_WORD}p")
    )
    return "\n".join(paragraphs)


def _pdf(path: Path) -> str:
    try:
        import pypdf  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        fix = "Run `pip install stark-translate[notes]`, or save the notes as .docx or .txt."
        raise NotesError("notes-no-pdf", f"{path}: PDF needs one more package.", fix) from None
    try:
        pages = pypdf.PdfReader(path).pages
        count = len(pages)
        text = "\n".join(page.extract_text() for page in pages) if count <= _MOST_PAGES else ""
    except Exception as error:  # noqa: BLE001 - broken files raise all kinds
        message = f"{path} cannot be read as a PDF: {error}"
        raise NotesError("notes-unreadable", message, _FIX) from None
    if count > _MOST_PAGES:
        raise _too_long(path, f"has {count} pages")
    return text


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

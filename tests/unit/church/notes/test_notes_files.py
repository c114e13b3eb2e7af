"""Files of notes: Word, PDF, Markdown and text; and other files."""

from __future__ import annotations

import asyncio
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.church.notes import notes_files
from pipeline.church.notes.notes import Notes, written
from pipeline.church.notes.notes_files import (
    content_of,
    draw_out,
    drawn,
    read_notes,
    text_of,
    write_notes,
)
from pipeline.core.errors import NotesError

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def read(path: Path) -> str:
    return text_of(content_of(path), str(path))


def docx(
    path: Path, *paragraphs: str, before: str = "", encoding: str = "utf-8", body: str = ""
) -> Path:
    """Write a Word file of plain paragraphs, each in two runs as Word makes them."""
    body = body or "".join(
        f"<w:p><w:r><w:t>{text[:5]}</w:t></w:r><w:r><w:t>{text[5:]}</w:t></w:r></w:p>"
        for text in paragraphs
    )
    xml = f'{before}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    with zipfile.ZipFile(path, "w") as parts:
        parts.writestr("word/document.xml", xml.encode(encoding), zipfile.ZIP_DEFLATED)
    return path


def pdf(path: Path, text: str, pages: int = 1, times: int = 1) -> Path:
    """Write a PDF with a text on each page, `times` times at the same place."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    stream = f"BT /F1 12 Tf 72 720 Td {f'({text}) Tj ' * times}ET"
    for number in range(pages):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R"
            f" >> >> /Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    start = out.index("xref\n0 ")
    out += f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    path.write_bytes(out.encode("latin-1"))
    return path


def test_markdown_is_read_without_its_marks_and_text_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Grace\n\n* **Ruth** 1:16\n", "utf-8")
    assert read(tmp_path / "a.md").split() == ["Grace", "Ruth", "1:16"]
    for encoding in ("utf-8-sig", "cp1252", "utf-16"):
        (tmp_path / "a.txt").write_text("Ravensbrück", encoding)
        assert read(tmp_path / "a.txt") == "Ravensbrück"


@pytest.mark.slow
def test_a_pdf_is_its_text(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", "Shadrach and Meshach", pages=3)
    assert read(path).splitlines() == ["Shadrach and Meshach"] * 3


@pytest.mark.slow
def test_a_book_as_pdf_and_a_broken_one_get_clear_answers(tmp_path: Path) -> None:
    with pytest.raises(NotesError, match=r"has 200 pages.*notes-too-long"):
        read(pdf(tmp_path / "book.pdf", "word", pages=200))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4\n1 0 obj\n<< /Type")
    with pytest.raises(NotesError, match=r"cannot be read as a PDF.*notes-unreadable"):
        read(tmp_path / "broken.pdf")


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.odt", b"x", "notes-unknown"),
        ("a.txt", b"", "notes-empty"),
        ("a.txt", b"\x7fELF\0\0\0", "notes-unreadable"),
        ("a.txt", b"word " * 70_000, "notes-too-long"),
        ("a.docx", b"no zip", "notes-unreadable"),
        ("a.docx", b"", "notes-unreadable"),
    ],
)
def test_what_is_no_sermon_is_named(tmp_path: Path, name: str, content: bytes, code: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NotesError) as raised:
        read(tmp_path / name)
    assert raised.value.code == code
    assert name in raised.value.message


def test_a_word_file_with_entities_or_without_text_is_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]>'
    with pytest.raises(NotesError, match="notes-unreadable"):
        read(docx(tmp_path / "a.docx", "&amp;", before=bomb))
    with zipfile.ZipFile(tmp_path / "b.docx", "w") as parts:
        parts.writestr("other.xml", "<a/>")
    with pytest.raises(NotesError, match="notes-unreadable"):
        read(tmp_path / "b.docx")


def test_a_word_file_in_utf_16_is_read_and_its_entities_are_refused(tmp_path: Path) -> None:
    head = '<?xml version="1.0" encoding="utf-16"?>'
    assert read(docx(tmp_path / "a.docx", "Ravensbr\u00fcck", before=head, encoding="utf-16"))
    inner = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 7))
    bomb = f'{head}<!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">{inner}]>'
    with pytest.raises(NotesError, match="has a DOCTYPE in it"):
        read(docx(tmp_path / "b.docx", "&a6;", before=bomb, encoding="utf-16"))


def test_paragraphs_in_paragraphs_are_read_once_however_deep(tmp_path: Path) -> None:
    box = "<w:p><w:r><w:t>the box</w:t></w:r></w:p>"
    body = f"<w:p><w:r><w:t>before</w:t>{box}<w:t>after</w:t></w:r></w:p>"
    assert read(docx(tmp_path / "a.docx", body=body)).split("\n") == ["before", "the box", "after"]
    depth = 20_000
    body = "<w:p><w:r><w:t>Ruth</w:t>" * depth + "</w:r></w:p>" * depth
    began_s = time.thread_time()
    assert read(docx(tmp_path / "deep.docx", body=body)).count("Ruth") == depth
    assert time.thread_time() - began_s < 2, "it took 17 s in the square of the depth"


def test_empty_lines_of_markdown_are_read_in_no_time(tmp_path: Path) -> None:
    began_s = time.thread_time()
    assert text_of(b"\n" * 50_000 + b"- Ruth", "a.md").strip() == "Ruth"
    assert time.thread_time() - began_s < 1, "it took minutes in the square of their number"


def test_control_characters_of_notes_do_not_spoil_the_file_that_is_kept(tmp_path: Path) -> None:
    notes = drawn(b"cove\x07nant = pac\x1bto", "a.txt", "en")
    assert notes.terms == ("covenant = pacto",)
    write_notes(tmp_path / "notes.toml", written(notes, "a.txt"))
    assert read_notes(tmp_path / "notes.toml") == notes


@pytest.mark.slow
def test_a_pdf_that_takes_too_long_is_refused_and_costs_this_process_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes_files, "LIMITS", replace(notes_files.LIMITS, seconds=2))
    content = pdf(tmp_path / "drawing.pdf", "a", times=1_000_000).read_bytes()
    began_s = time.process_time()
    with pytest.raises(NotesError, match=r"^drawing\.pdf took more than 2 s to read\..*Save it"):
        asyncio.run(draw_out(content, "drawing.pdf", "en"))
    assert time.process_time() - began_s < 1


def test_missing_files_are_missing(tmp_path: Path) -> None:
    for reader in (content_of, read_notes):
        with pytest.raises(NotesError, match="notes-missing"):
            reader(tmp_path / "a.txt")


def test_what_was_drawn_out_is_kept_and_read(tmp_path: Path) -> None:
    notes = Notes(names=("Ruth",), words=frozenset({"hope"}))
    write_notes(tmp_path / "new" / "notes.toml", written(notes, "a.txt"))
    assert read_notes(tmp_path / "new" / "notes.toml") == notes
    (tmp_path / "file").touch()
    with pytest.raises(NotesError, match="notes-unwritable"):
        write_notes(tmp_path / "file" / "notes.toml", "")


def test_what_stands_for_a_character_in_word_parts_words(tmp_path: Path) -> None:
    body = (
        '<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>Romans</w:t><w:tab/>'
        "<w:t>8:28</w:t><w:br/><w:t>covenant = pacto</w:t><w:noBreakHyphen/><w:t>x</w:t></w:r>"
        "</w:p>"
    )
    assert read(docx(tmp_path / "a.docx", body=body)) == "Romans 8:28\ncovenant = pacto-x"


def test_notes_corrected_with_an_editor_of_windows_are_read(tmp_path: Path) -> None:
    file = tmp_path / "notes.toml"
    file.write_text('\ufeffnames = ["Boaz"]\r\n', encoding="utf-8")
    assert read_notes(file).names == ("Boaz",)

"""The document is a zip of well-formed XML with Word's own names in their order."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
import zipfile

import pytest

from pipeline.captions.docx import Paragraph, document

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
SAID = [
    Paragraph("Grace & peace <to> you", "en", quoted=True),
    Paragraph("Gracia y paz a ustedes", "es"),
    Paragraph("نعمة لكم وسلام", "ar"),
]


def parts(content: bytes) -> dict[str, ET.Element]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: ET.fromstring(archive.read(name)) for name in archive.namelist()}


def test_it_has_the_parts_of_a_document_and_each_is_named_to_word() -> None:
    found = parts(document("22 November 2026", SAID))
    assert next(iter(found)) == "[Content_Types].xml"
    overrides = {each.get("PartName") for each in found["[Content_Types].xml"]}
    assert {"/word/document.xml", "/word/styles.xml"} <= overrides
    for relations, folder in (("_rels/.rels", ""), ("word/_rels/document.xml.rels", "word/")):
        for each in found[relations]:
            assert f"{folder}{each.get('Target')}" in found


def test_texts_languages_and_directions_are_kept() -> None:
    root = parts(document("22 November 2026", SAID))["word/document.xml"]
    paragraphs = list(root.iter(f"{W}p"))
    texts = ["".join(t.text or "" for t in p.iter(f"{W}t")) for p in paragraphs]
    assert texts == ["22 November 2026", *(each.text for each in SAID)]
    styles = [[s.get(f"{W}val") for s in p.iter(f"{W}pStyle")] for p in paragraphs]
    assert styles == [["Title"], ["Quote"], [], []]
    assert [p.find(f".//{W}bidi") is not None for p in paragraphs] == [False, False, False, True]
    langs = [[e.get(f"{W}val") for e in p.iter(f"{W}lang")] for p in paragraphs]
    assert langs == [[], ["en"], ["es"], ["ar"]]
    known = {s.get(f"{W}styleId") for s in parts(document("", []))["word/styles.xml"]}
    assert known == {"Normal", "Title", "Quote"}


@pytest.mark.parametrize("text", ["a\x00b\x0bc", "half \ud83d", "end \ufffe", "tab\tnew\nline", ""])
def test_what_xml_cannot_hold_is_left_out(text: str) -> None:
    root = parts(document("t", [Paragraph(text, "en")]))["word/document.xml"]
    assert len(list(root.iter(f"{W}p"))) == 2


def test_the_same_captions_are_the_same_file() -> None:
    assert document("t", SAID) == document("t", SAID)

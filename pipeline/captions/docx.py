"""Write a transcript as a Word document (Office Open XML, ECMA-376), no other packages. Pure."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from pipeline.core.languages import language

_EPOCH = (1980, 1, 1, 0, 0, 0)  # fixed, so that the same captions always make the same file
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PARTS = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_RELATIONS = "application/vnd.openxmlformats-package.relationships+xml"

_TYPES = (
    f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
    f'<Default Extension="rels" ContentType="{_RELATIONS}"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_PARTS}.document.main+xml"/>'
    f'<Override PartName="/word/styles.xml" ContentType="{_PARTS}.styles+xml"/></Types>'
)
_ROOT = (
    f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
)
_OF_DOCUMENT = (
    f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>'
)


# Sizes are half points; `szCs` is Word's separate size for Arabic and Hebrew. keepNext: no page
# break between the source and its translation.
_STYLES = f"""{_XML}<w:styles xmlns:w="{_MAIN}">
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/>
<w:pPr><w:spacing w:after="160" w:line="300" w:lineRule="auto"/></w:pPr>
<w:rPr><w:sz w:val="24"/><w:szCs w:val="24"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/><w:basedOn w:val="Normal"/>
<w:rPr><w:b/><w:sz w:val="40"/><w:szCs w:val="40"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Quote"><w:name w:val="Quote"/><w:basedOn w:val="Normal"/>
<w:pPr><w:keepNext/><w:ind w:left="567"/></w:pPr>
<w:rPr><w:i/><w:color w:val="404040"/></w:rPr></w:style>
</w:styles>"""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph in one language; `quoted` marks the source before its translation."""

    text: str
    lang: str
    quoted: bool = False


def document(title: str, paragraphs: Sequence[Paragraph]) -> bytes:
    """Return the bytes of a .docx file."""
    every = [_paragraph(title, "", "Title") if title else ""]
    every += [_paragraph(each.text, each.lang, "Quote" * each.quoted) for each in paragraphs]
    body = f'{_XML}<w:document xmlns:w="{_MAIN}"><w:body>{"".join(every)}</w:body></w:document>'
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _ROOT,
        "word/document.xml": body,
        "word/styles.xml": _STYLES,
        "word/_rels/document.xml.rels": _OF_DOCUMENT,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _paragraph(text: str, lang: str, style: str) -> str:
    # Word does not detect the direction: `bidi` sets it for the paragraph, `rtl` for the run.
    is_rtl = language(lang).direction == "rtl"
    styled = f'<w:pStyle w:val="{style}"/>' if style else ""
    about = f"<w:pPr>{styled}{'<w:bidi/>' if is_rtl else ''}</w:pPr>"
    spelled = f"<w:lang w:val={quoteattr(lang)} w:bidi={quoteattr(lang)}/>" if lang else ""
    # Word chooses the spelling checker by language, and the font for Arabic and Hebrew (w:bidi).
    run = f"<w:rPr>{'<w:rtl/>' if is_rtl else ''}{spelled}</w:rPr>"
    # xml:space, below: without it Word drops spaces at both ends of a run.
    shown = escape(_printable(text))
    return f'<w:p>{about}<w:r>{run}<w:t xml:space="preserve">{shown}</w:t></w:r></w:p>'


def _printable(text: str) -> str:
    """Return the text without characters that XML 1.0 does not allow."""
    # A lone surrogate cannot be written as UTF-8.
    whole = text.encode(errors="replace").decode()
    return "".join(c for c in whole if c >= " " and c not in "\ufffe\uffff")

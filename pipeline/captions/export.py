"""A session's captions as a file for people and programs: subtitles, text, a page, a table, JSON.

Pure: turns the messages of a journal into the file's text. A summary only quotes captions: it takes
the most central sentence of each part of the service.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any, Literal, get_args

import orjson

from pipeline.captions.docx import Paragraph, document
from pipeline.captions.subtitles import (
    SIDES,
    Cue,
    Side,
    Spoken,
    arrange,
    languages,
    newest,
    plain,
    srt,
    subtitle,
    vtt,
)
from pipeline.core.formats import clock
from pipeline.protocol.caption import CaptionMessage
from pipeline.text.sentences import is_ended, split
from pipeline.text.words import is_unspaced, words

Which = Literal["source", "target", "both"]
"""The source text, its translation, or both, one above the other."""
WHICH: tuple[Which, ...] = get_args(Which)


_PAUSE_S, _LONGEST_S = 2.0, 60.0
_PAGE = """<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Transcript</title>
<style>
body {{ max-width: 40rem; margin: 2rem auto; padding: 0 1rem;
  font: 1.125rem/1.6 system-ui, sans-serif; }}
.source + .target {{ margin-top: -0.5rem; }}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def export(messages: Sequence[CaptionMessage], form: str, which: Which) -> str:
    """Return a journal in one of FORMATS: the newest version of each caption, in order.

    Hidden captions are left out. pipeline.captions.subtitles lays out subtitles; the other formats
    keep a caption's text unchanged.
    """
    sides = SIDES if which == "both" else (which,)
    return FORMATS[form](newest(messages), sides)


def export_file(messages: Sequence[CaptionMessage], form: str, which: Which, title: str) -> bytes:
    """Return a journal as a file in one of FORMATS or, with `title`, as a Word document.

    The document has paragraphs; of two languages the source is quoted.
    """
    if form != DOCX:
        # JSON can hold half of a surrogate pair, which UTF-8 cannot encode.
        return export(messages, form, which).encode(errors="replace")
    sides = SIDES if which == "both" else (which,)
    captions = newest(messages)
    langs = languages(captions)
    made = [
        Paragraph(text, langs[side], quoted=len(full) > 1 and side == "source")
        for full in (_by_side(paragraph, sides) for paragraph in paragraphs(captions))
        for side, text in full
    ]
    return document(title, made)


def _subtitles(whole: Callable[[list[Cue]], str]) -> _Format:
    def write(captions: Sequence[CaptionMessage], sides: Sequence[Side]) -> str:
        spoken = [
            Spoken(message.start_s, message.end_s, texts)
            for message in captions
            if (texts := tuple(_texts(message, sides)))
        ]
        return whole(arrange(spoken))

    return write


def _txt(captions: Sequence[CaptionMessage], sides: Sequence[Side]) -> str:
    blocks = ["".join(f"{text}\n" for _, text in _texts(each, sides)) for each in captions]
    # With two languages an empty line separates the pairs.
    return ("\n" if len(sides) > 1 else "").join(filter(None, blocks))


def _md(captions: Sequence[CaptionMessage], sides: Sequence[Side]) -> str:
    """Return paragraphs of Markdown; with two languages the source is quoted."""
    lines = []
    for paragraph in paragraphs(captions):
        blocks = [_markdown(text) for _, text in _by_side(paragraph, sides)]
        quoted = len(blocks) > 1
        lines += [f"> {block}" if quoted and not i else block for i, block in enumerate(blocks)]
    return "".join(f"{line}\n\n" for line in lines).rstrip("\n") + "\n" * bool(lines)


def _html(captions: Sequence[CaptionMessage], sides: Sequence[Side]) -> str:
    """Return a whole page without a script, for a website; each paragraph has its language."""
    langs = languages(captions)
    named = [langs[side] for side in sides if side in langs]
    parts = [
        # dir="auto": browsers take the direction from the first letter with a direction.
        f'<p class="{side}" lang="{escape(langs[side])}" dir="auto">{escape(text)}</p>'
        for paragraph in paragraphs(captions)
        for side, text in _by_side(paragraph, sides)
    ]
    return _PAGE.format(lang=escape(named[-1] if named else "en"), body="\n".join(parts))


def paragraphs(captions: Sequence[CaptionMessage]) -> list[list[CaptionMessage]]:
    """Return captions as paragraphs: a new one after a pause of two seconds, or a minute."""
    made: list[list[CaptionMessage]] = []
    for message in captions:
        goes_on = (
            made
            and message.start_s - made[-1][-1].end_s < _PAUSE_S
            # From its beginning: speech without a pause is divided as well.
            and message.start_s - made[-1][0].start_s < _LONGEST_S
        )
        if goes_on:
            made[-1].append(message)
        else:
            made.append([message])
    return made


def paragraph_text(paragraph: Sequence[CaptionMessage], side: Side) -> str:
    """Return a paragraph's text as the screens showed it: a printed verse, not its translation."""
    texts = [
        f"{m.verse.text} — {m.verse.ref} ({m.verse.edition})"
        if side == "target" and m.target.text and m.verse
        else getattr(m, side).text
        for m in paragraph
    ]
    return plain(" ".join(texts))


def _by_side(paragraph: Sequence[CaptionMessage], sides: Sequence[Side]) -> list[tuple[Side, str]]:
    """Return the text of each side that has one: a typed caption has no source."""
    return [(side, text) for side in sides if (text := paragraph_text(paragraph, side))]


def _markdown(text: str) -> str:
    """Return a text that Markdown shows as it is, also at the beginning of a line."""
    # The backslash is in the same class: a second pass would escape the new backslashes.
    text = re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", re.sub(r"^([-+])", r"\\\1", text))


def _tsv(captions: Sequence[CaptionMessage], sides: Sequence[Side]) -> str:
    out = io.StringIO()
    rows = [
        {name: _no_formula(cell) for name, cell in _row(message, sides).items()}
        for message in captions
    ]
    names = ["id", "start_s", "end_s", *sides, *(["engine"] if "target" in sides else [])]
    # csv quotes cells if needed; spreadsheets open this dialect without an import dialog.
    table = csv.DictWriter(out, names, dialect="excel-tab", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()


def _no_formula(cell: object) -> object:
    """Return a cell that no spreadsheet computes: a leading apostrophe makes it text."""
    is_formula = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if is_formula else cell


def _json(captions: Sequence[CaptionMessage], sides: Sequence[Side]) -> str:
    rows = [_row(message, sides) for message in captions]
    langs = {side: lang for side, lang in languages(captions).items() if side in sides}
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps({"langs": langs, "captions": rows}, option=option).decode()


def _row(message: CaptionMessage, sides: Sequence[Side]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": message.id,
        "start_s": message.start_s,
        "end_s": message.end_s,
        **{side: plain(getattr(message, side).text) for side in sides},
    }
    # The engine distinguishes an operator's text from a machine's.
    return row | ({"engine": message.target.engine} if "target" in sides else {})


def _texts(message: CaptionMessage, sides: Sequence[Side]) -> list[tuple[str, str]]:
    """Return (lang, text) of each side that has text; equal texts are returned once."""
    # The text is the key: both sides are equal if the source replaces a missing translation.
    texts = {
        plain(getattr(message, side).text): (getattr(message, side).lang, subtitle(message, side))
        for side in sides
        if subtitle(message, side)
    }
    return list(texts.values())


_Format = Callable[[Sequence[CaptionMessage], Sequence[Side]], str]
FORMATS: dict[str, _Format] = {
    "srt": _subtitles(srt),
    "vtt": _subtitles(vtt),
    "txt": _txt,
    "md": _md,
    "html": _html,
    "tsv": _tsv,
    "json": _json,
}

DOCX = "docx"
"""The only binary format."""


_PARTS = 8
_FEWEST, _MOST = 7, 40
"""Number of words of a sentence that can be read by itself."""
_EVERYDAY = 3
"""Words of at most so many letters say little: articles, prepositions."""
_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class _Sentence:
    caption: CaptionMessage
    text: str
    terms: Counter[str]


def summary(messages: Sequence[CaptionMessage], side: Side, title: str) -> str:
    """Return a draft in Markdown; each line ends with the caption's number and its time."""
    captions = newest(messages)
    lines = [
        f"# {title}",
        "",
        "*A draft of sentences from the captions. Read it before others do.*",
    ]
    verses = {each.verse.ref: each for each in captions if each.verse is not None}
    if verses:
        lines += ["", "## Verses", ""]
        lines += [f"- {ref} {_place(each)}" for ref, each in verses.items()]
    if chosen := _chosen([each for each in captions if not each.doubtful], side):
        lines += ["", "## In its own words", ""]
        lines += [f"- {each.text} {_place(each.caption)}" for each in chosen]
    return "\n".join([*lines, ""])


def _chosen(captions: Sequence[CaptionMessage], side: Side) -> list[_Sentence]:
    """Return the most central sentence of each part, in order, without similar ones."""
    langs = Counter(getattr(each, side).lang for each in captions)
    sentences = [
        _Sentence(each, text, _terms(text))
        for each in captions
        # A caption without a translation has its source text, in another language.
        if getattr(each, side).lang == langs.most_common(1)[0][0]
        # With a verse, displays showed the printed verse and not the caption's own words.
        and each.verse is None
        for text in split(plain(getattr(each, side).text))
        if is_ended(text) and _FEWEST <= len(words(text)) <= _MOST
    ]
    if not sentences:
        return []
    found = Counter(word for each in sentences for word in each.terms)
    # A word that is in every sentence does not describe any of them.
    rare = {word: math.log(1 + len(sentences) / count) for word, count in found.items()}
    centre = {word: count * rare[word] for word, count in found.items()}
    start_s = sentences[0].caption.start_s
    # Sentences of a single caption have no time between them: then any length is fine.
    part_s = (sentences[-1].caption.start_s - start_s) / _PARTS or 1.0
    chosen: dict[int, _Sentence] = {}
    # The best first: it fills its part, and similar sentences are left out.
    for each in sorted(sentences, key=lambda one: -_nearness(one.terms, centre, rare)):
        part = min(_PARTS - 1, int((each.caption.start_s - start_s) / part_s))
        if part not in chosen and not any(_alike(each, one) for one in chosen.values()):
            chosen[part] = each
    return [chosen[part] for part in sorted(chosen)]


def _terms(text: str) -> Counter[str]:
    """Return what a sentence is about: its longer words, or of unspaced letters each two."""
    if is_unspaced(text):
        return Counter(map("".join, pairwise(words(text))))
    return Counter(word for word in words(text) if len(word) > _EVERYDAY)


def _nearness(terms: Counter[str], centre: Mapping[str, float], rare: Mapping[str, float]) -> float:
    """Return the cosine with the whole text, up to a factor that is the same for all."""
    weights = {word: count * rare[word] for word, count in terms.items()}
    length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
    return sum(weight * centre[word] for word, weight in weights.items()) / length


def _alike(a: _Sentence, b: _Sentence) -> bool:
    return (a.terms & b.terms).total() > _ALIKE * min(a.terms.total(), b.terms.total())


def _place(caption: CaptionMessage) -> str:
    return f"(No. {caption.id}, {clock(caption.start_s)})"

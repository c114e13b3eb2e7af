"""Export a session's captions: subtitles, text, a table, JSON. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import orjson

from pipeline.captions.layout import Spoken, arrange
from pipeline.captions.subtitles import SIDES, Cue, Side, languages, newest, plain, srt, txt, vtt
from pipeline.protocol.caption import CaptionMessage

Which = Literal["source", "target", "both"]
"""The text that was said, its translation, or both, one above the other."""
WHICH: tuple[Which, ...] = get_args(Which)


def export(messages: Sequence[CaptionMessage], form: str, which: Which) -> str:
    """Return a journal in one of FORMATS: the newest version of each caption, in order.

    Hidden captions are left out. Subtitles are laid out by pipeline.captions.layout; the other
    formats have a caption's text as it is.
    """
    sides = SIDES if which == "both" else (which,)
    return FORMATS[form](newest(messages), sides)


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
    blocks = [
        txt(Cue(message.start_s, message.end_s, text) for _, text in _texts(message, sides))
        for message in captions
    ]
    return ("\n" if len(sides) > 1 else "").join(filter(None, blocks))


def _tsv(captions: Sequence[CaptionMessage], sides: Sequence[Side]) -> str:
    out = io.StringIO()
    rows = [_row(message, sides) for message in captions]
    names = ["id", "start_s", "end_s", *sides, *(["engine"] if "target" in sides else [])]
    # csv quotes what needs it; spreadsheets read this dialect without a question.
    table = csv.DictWriter(out, names, dialect="excel-tab", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()


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
    return row | ({"engine": message.target.engine} if "target" in sides else {})


def _texts(message: CaptionMessage, sides: Sequence[Side]) -> list[tuple[str, str]]:
    """Return (lang, text) of each side that has text; equal texts are returned once."""
    texts = {
        plain(text.text): (text.lang, plain(text.text))
        for text in (getattr(message, side) for side in sides)
        if plain(text.text)
    }
    return list(texts.values())


_Format = Callable[[Sequence[CaptionMessage], Sequence[Side]], str]
FORMATS: dict[str, _Format] = {
    "srt": _subtitles(srt),
    "vtt": _subtitles(vtt),
    "txt": _txt,
    "tsv": _tsv,
    "json": _json,
}

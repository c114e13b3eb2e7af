"""Captions as subtitles (SubRip, WebVTT) and as plain text.

Pure. The functions for one cue give the same text piece by piece, so that a live file grows by one
piece for each caption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from pipeline.protocol.caption import CaptionMessage

Side = Literal["source", "target"]
"""The text that was said, or its translation."""
SIDES: tuple[Side, ...] = get_args(Side)

VTT_HEADER = "WEBVTT\n\n"
# A cue ends after it begins (WebVTT), and one of no length is never seen.
_SHORTEST_S = 0.1
# What was typed has no end in the sound: it is shown for the time to read it.
_READ_A_SECOND = 15.0
_SHORTEST_TYPED_S = 2.0
# SubRip has no escapes: what looks like a tag is swallowed, what looks like a time ends the cue.
_SRT_LOOKALIKES = str.maketrans({"<": "‹", ">": "›"})
# ">" as well: `-->` must not stand in a cue's text.
_VTT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Cue:
    """A time range of the audio, in seconds, and its text, without empty lines."""

    start_s: float
    end_s: float
    text: str


def cues(messages: Iterable[CaptionMessage], side: Side) -> list[Cue]:
    """Return the cues of a journal: the newest final version of each caption, in order of `id`.

    Hidden captions are left out. No cue begins before the one before it has ended; one that was
    typed ends where the next one begins.
    """
    result: list[Cue] = []
    is_typed = False
    for message in newest(messages):
        previous = result[-1] if result else None
        if previous and is_typed and message.start_s < previous.end_s:
            end_s = max(message.start_s, previous.start_s + _SHORTEST_S)
            previous = replace(previous, end_s=min(previous.end_s, end_s))
        if cue := follow(previous, message, side):
            result[-1:] = [previous, cue] if previous else [cue]
            is_typed = _is_typed(message)
    return result


def newest(messages: Iterable[CaptionMessage]) -> list[CaptionMessage]:
    """Return the newest final version of each caption in order of `id`, hidden ones left out."""
    latest: dict[int, CaptionMessage] = {}
    for message in messages:
        if message.final and (message.id not in latest or message.seq > latest[message.id].seq):
            latest[message.id] = message
    # A hidden caption is a version without text.
    shown = (latest[key] for key in sorted(latest))
    return [m for m in shown if plain(m.source.text) or plain(m.target.text)]


def languages(messages: Iterable[CaptionMessage]) -> dict[Side, str]:
    """Return the most frequent language of each side; {} without captions.

    Captions that have no translation do not count for the target, unless none has one.
    """
    kept = list(messages)
    # A service whose translator was gone for most of it is still one in its target language.
    translated = [message for message in kept if message.target.engine != "source"] or kept
    counts: dict[Side, Counter[str]] = {
        "source": Counter(message.source.lang for message in kept),
        "target": Counter(message.target.lang for message in translated),
    }
    return {side: count.most_common(1)[0][0] for side, count in counts.items() if count}


def plain(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def subtitle(message: CaptionMessage, side: Side) -> str:
    """Return a caption's text on one line, a translated verse with its reference behind it."""
    text = plain((message.source if side == "source" else message.target).text)
    if side == "target" and text and message.verse:
        return f"{text} ({message.verse.ref})"
    return text


def follow(previous: Cue | None, message: CaptionMessage, side: Side) -> Cue | None:
    """Return the cue of a caption that comes after `previous`; None if it has no text."""
    text = subtitle(message, side)
    if not text:
        return None
    # Players show cues that overlap on top of each other.
    start_s = max(message.start_s, previous.end_s if previous else 0.0)
    least_s = _SHORTEST_S
    if _is_typed(message):
        least_s = max(_SHORTEST_TYPED_S, len(text) / _READ_A_SECOND)
    return Cue(start_s, max(message.end_s, start_s + least_s), text)


def _is_typed(message: CaptionMessage) -> bool:
    """Whether nobody has spoken it: `CaptionBoard.add_typed` gives it no length in the sound."""
    return message.end_s - message.start_s < _SHORTEST_S


def srt(all_cues: Iterable[Cue]) -> str:
    """Return a SubRip file."""
    return "".join(srt_cue(number, cue) for number, cue in enumerate(all_cues, 1))


def srt_cue(number: int, cue: Cue) -> str:
    """Return one cue of a SubRip file; the first has number 1."""
    text = cue.text.translate(_SRT_LOOKALIKES)
    return f"{number}\n{clock_time(cue.start_s, ',')} --> {clock_time(cue.end_s, ',')}\n{text}\n\n"


def vtt(all_cues: Iterable[Cue]) -> str:
    """Return a WebVTT file."""
    return VTT_HEADER + "".join(map(vtt_cue, all_cues))


def vtt_cue(cue: Cue) -> str:
    """Return one cue of a WebVTT file."""
    text = cue.text.translate(_VTT_ESCAPES)
    return f"{clock_time(cue.start_s, '.')} --> {clock_time(cue.end_s, '.')}\n{text}\n\n"


def txt(all_cues: Iterable[Cue]) -> str:
    """Return plain text, a line for each cue."""
    return "".join(map(txt_cue, all_cues))


def txt_cue(cue: Cue) -> str:
    """Return one line of plain text."""
    return f"{cue.text}\n"


def clock_time(seconds: float, point: str) -> str:
    """Return a time as hours, minutes, seconds and, behind `point`, milliseconds."""
    whole_s, ms = divmod(round(seconds * 1000), 1000)
    minutes, s = divmod(whole_s, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{s:02}{point}{ms:03}"

"""Captions as subtitles (SubRip, WebVTT) and as plain text.

Pure. A file is its header and a piece for each cue, so that a live file grows with each caption.
The layout follows the limits that broadcasters share (BBC Subtitle Guidelines; Netflix Timed Text
Style Guide): 42 characters a line, two lines, 17 characters a second if the speech allows it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, zip_longest
from typing import Literal, get_args

from pipeline.core.languages import language
from pipeline.protocol.caption import CaptionMessage
from pipeline.text.words import MARKS, closed_up

Side = Literal["source", "target"]
"""The source text or its translation."""
SIDES: tuple[Side, ...] = get_args(Side)

VTT_HEADER = "WEBVTT\n\n"
# WebVTT requires a cue to end after it begins; a cue of no length is never seen.
_SHORTEST_S = 0.1
# Typed text has no end in the audio: it is shown for the time to read it.
_READ_A_SECOND = 15.0
_SHORTEST_TYPED_S = 2.0
# SubRip has no escapes: players drop text like a tag, and text like a time ends the cue.
_SRT_LOOKALIKES = str.maketrans({"<": "‹", ">": "›"})
# ">" as well: a cue's text must not contain `-->`.
_VTT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Cue:
    """A time range of the audio, in seconds, and its text, without empty lines."""

    start_s: float
    end_s: float
    text: str


def cues(messages: Iterable[CaptionMessage], side: Side) -> list[Cue]:
    """Return the cues of a journal: the newest final version of each caption, in order of `id`.

    Hidden captions are left out. Cues do not overlap. A typed cue ends where the next one begins.
    """
    result: list[Cue] = []
    is_typed = False
    for message in newest(messages):
        previous = result[-1] if result else None
        if previous and is_typed and message.start_s < previous.end_s:
            end_s = max(message.start_s, previous.start_s + _SHORTEST_S)
            previous = replace(previous, end_s=min(previous.end_s, end_s))
        # The previous cue is put back as well: its end may have changed.
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

    Captions without a translation do not count for the target, unless none has a translation.
    """
    kept = list(messages)
    # A service has its target language even if the translator was gone for most of it.
    translated = [message for message in kept if message.target.engine != "source"] or kept
    counts: dict[Side, Counter[str]] = {
        "source": Counter(message.source.lang for message in kept),
        "target": Counter(message.target.lang for message in translated),
    }
    return {side: count.most_common(1)[0][0] for side, count in counts.items() if count}


def plain(text: str) -> str:
    """Return a text on one line."""
    return closed_up(" ".join(text.split()))


def subtitle(message: CaptionMessage, side: Side) -> str:
    """Return a caption's text on one line, a translated verse followed by its reference."""
    text = plain((message.source if side == "source" else message.target).text)
    if side == "target" and text and message.verse:
        return f"{text} ({message.verse.ref})"
    return text


def follow(previous: Cue | None, message: CaptionMessage, side: Side) -> Cue | None:
    """Return the cue of a caption that comes after `previous`; None if it has no text."""
    text = subtitle(message, side)
    if not text:
        return None
    # Cues must not overlap: players show overlapping cues on top of each other.
    start_s = max(message.start_s, previous.end_s if previous else 0.0)
    least_s = _SHORTEST_S
    if _is_typed(message):
        least_s = max(_SHORTEST_TYPED_S, len(text) / _READ_A_SECOND)
    return Cue(start_s, max(message.end_s, start_s + least_s), text)


def _is_typed(message: CaptionMessage) -> bool:
    """Whether a caption was typed: `CaptionBoard.add_typed` gives it almost no length."""
    return message.end_s - message.start_s < _SHORTEST_S


def srt(all_cues: Iterable[Cue], first: int = 1) -> str:
    """Return a SubRip file, or its piece from the cue with number `first` on."""
    return "".join(
        f"{number}\n{clock_time(cue.start_s, ',')} --> {clock_time(cue.end_s, ',')}\n"
        f"{cue.text.translate(_SRT_LOOKALIKES)}\n\n"
        for number, cue in enumerate(all_cues, first)
    )


def vtt(all_cues: Iterable[Cue]) -> str:
    """Return a WebVTT file."""
    return VTT_HEADER + "".join(map(vtt_cue, all_cues))


def vtt_cue(cue: Cue) -> str:
    """Return one cue of a WebVTT file."""
    text = cue.text.translate(_VTT_ESCAPES)
    return f"{clock_time(cue.start_s, '.')} --> {clock_time(cue.end_s, '.')}\n{text}\n\n"


def txt(all_cues: Iterable[Cue]) -> str:
    """Return plain text, a line for each cue."""
    return "".join(f"{cue.text}\n" for cue in all_cues)


def clock_time(seconds: float, point: str) -> str:
    """Return a time as hours, minutes, seconds and, after `point`, milliseconds."""
    # Rounded before the division: else 59.9996 s would be written as 60.000 seconds.
    whole_s, ms = divmod(round(seconds * 1000), 1000)
    minutes, s = divmod(whole_s, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{s:02}{point}{ms:03}"


SENTENCE, CLAUSE, COMMA, PHRASE, WORD, NAME, TIED = 0.0, 3.0, 5.0, 8.0, 14.0, 22.0, 30.0
"""Costs of a break, from the best place to the worst."""

_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*$")
_CLAUSE_END = re.compile(r"[;:—–][\"'”’»)\]]*$")
_COMMA_END = re.compile(r",[\"'”’»)\]]*$")


def break_cost(before: str, after: str, lang: str) -> float:
    """Return the cost of a break between two words of language `lang`."""
    # Tied words first: "el Sr." ends like a sentence but belongs to the name.
    opened = before.lstrip("\"'“‘«(¿¡[").lower()
    known = language(lang)
    if opened in known.leaning:
        return TIED
    if _SENTENCE_END.search(before):
        return SENTENCE
    if _CLAUSE_END.search(before):
        return CLAUSE
    if _COMMA_END.search(before):
        return COMMA
    if after[:1].isdigit() or (before[:1].isupper() and after[:1].isupper()):
        return NAME  # "Juan 3:16", "Juan Bautista"
    return PHRASE if after.lower() in known.starts else WORD


LINE_CHARS = 42
LINES = 2
CHARS_PER_S = 17.0
SHORTEST_S = 5 / 6
"""The shortest time of a cue if the speech allows it; a shorter one cannot be read."""
GAP_S = 0.08
"""The gap between two cues, two frames, so that the eye sees the change."""

# Costs on the scale of `break_cost`, whose worst break costs 30.
_PART = 25.0  # cost of one more cue
_LONE_WORD = 40.0  # cost of a single word by itself
_CUE_BREAK = 2.0  # weight of a break between cues, relative to one between lines
_FULL_CHARS = 25  # a shorter cue looks lost
_CLIPPED_S = 0.1  # least time of a caption that the previous one runs into


@dataclass(frozen=True, slots=True)
class Spoken:
    """A caption: when it was spoken, and its text in one or two languages, each (lang, text)."""

    start_s: float
    end_s: float
    texts: tuple[tuple[str, str], ...]


def arrange(captions: Sequence[Spoken]) -> list[Cue]:
    """Return the cues of captions in order of time. Two languages share the lines of a cue.

    A caption too long for one cue becomes several, which share its time by their characters. If
    its time is too short to read it at CHARS_PER_S, it stays on screen into the pause after it.
    """
    result: list[Cue] = []
    starts_s = [caption.start_s for caption in captions[1:]]
    # The last caption has no next one, so it gets all the time that it needs.
    for caption, next_s in zip_longest(captions, starts_s):
        # Two languages get a line each: four lines would cover the picture.
        lines = LINES // len(caption.texts)
        parts = [divide(text, lang, lines) for lang, text in caption.texts]
        count = max(map(len, parts))
        # Both languages must change together: the shorter one is divided into as many cues.
        parts = [
            texts if len(texts) == count else divide(text, lang, lines, count)
            for (lang, text), texts in zip(caption.texts, parts, strict=True)
        ]
        shown = ["\n".join(filter(None, texts)) for texts in zip_longest(*parts, fillvalue="")]
        chars = [max(map(len, texts)) for texts in zip_longest(*parts, fillvalue="")]
        start_s = max(caption.start_s, result[-1].end_s if result else 0.0)
        # The previous cue may have used all of this caption's time; each needs some length.
        end_s = max(caption.end_s, start_s + _CLIPPED_S)
        wanted_s = start_s + max(sum(chars) / CHARS_PER_S, len(chars) * SHORTEST_S)
        end_s = max(end_s, wanted_s if next_s is None else min(wanted_s, next_s - GAP_S))
        per_char_s = (end_s - start_s) / sum(chars)
        times_s = [start_s + per_char_s * n for n in accumulate(chars, initial=0)]
        result += [Cue(*times, text) for times, text in zip(pairwise(times_s), shown, strict=True)]
    return result


def divide(text: str, lang: str, lines: int = LINES, count: int = 0) -> list[str]:
    """Divide a text into cues of at most `lines` lines, preferably at the ends of phrases.

    `count` is the number of cues, at most one per word; 0 chooses the number that reads best. Line
    feeds separate a cue's lines. A word longer than a line is cut.
    """
    words = _Words(text, lang)
    return [words.cue(start, end) for start, end in pairwise(words.cuts(lines, count))]


class _Words:
    """The words of a text, with the cost of a break between each two of them."""

    def __init__(self, text: str, lang: str) -> None:
        self._words = words = _split(text)
        # Computed once: each place is looked at again for every cue that may contain it.
        between = (break_cost(*pair, lang) for pair in pairwise(words))
        self._between = [0.0, *between, 0.0]
        """The cost of a break before each word; 0 at the beginning and the end."""
        self._chars = list(accumulate((len(word) + 1 for word in words), initial=0))
        """The number of characters before each word, spaces included."""

    def cuts(self, lines: int, count: int) -> list[int]:
        """Return where the cues of the best division begin, and the end.

        It has `count` cues, or the most possible; 0: as many as read best.
        """
        # Dynamic programming over the places of breaks, as in Knuth and Plass (1981).
        # best[end][parts]: the least cost of the first `end` words in `parts` cues, and the start
        # of the last one. Without a count `parts` is always 0, so that all divisions compete.
        best: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]
        for end in range(1, len(self._words) + 1):
            reached: dict[int, tuple[float, int]] = {}
            for at, cost in self._last_cues(end, lines):
                for before, (so_far, _) in best[at].items():
                    parts = before + 1 if count else 0
                    # At equal costs the last cue is the shortest, and those before it are full.
                    if parts not in reached or so_far + cost < reached[parts][0]:
                        reached[parts] = (so_far + cost, at)
            best.append(reached)
        parts, cuts = min(count, max(best[-1])), [end := len(self._words)]
        while end:
            end, parts = best[end][parts][1], max(0, parts - 1)
            cuts.append(end)
        return cuts[::-1]

    def cue(self, start: int, end: int) -> str:
        """Return words as one cue, in two lines if they do not fit in one."""
        if self._length(start, end) <= LINE_CHARS:
            return " ".join(self._words[start:end])
        _, at = min(self._breaks(start, end))
        return f"{' '.join(self._words[start:at])}\n{' '.join(self._words[at:end])}"

    def _last_cues(self, end: int, lines: int) -> Iterator[tuple[int, float]]:
        """Yield (start, cost) of each cue that may end before the word `end`."""
        # Backwards: once the words do not fit, longer cues do not fit either.
        for start in range(end - 1, -1, -1):
            cost = self._cost(start, end, lines)
            if cost is None:
                return
            is_lone = end - start == 1 and len(self._words) > 1
            yield start, cost + _PART + _LONE_WORD * is_lone + _CUE_BREAK * self._between[end]

    def _cost(self, start: int, end: int, lines: int) -> float | None:
        """Return the cost of words as one cue, None if they do not fit."""
        chars = self._length(start, end)
        if chars <= LINE_CHARS:
            return max(0, _FULL_CHARS - chars) ** 2 / 10
        # Plus 1: the space at the break is in neither line.
        if lines == 1 or chars > LINES * LINE_CHARS + 1:
            return None
        return min((cost for cost, _ in self._breaks(start, end)), default=None)

    def _breaks(self, start: int, end: int) -> Iterator[tuple[float, int]]:
        """Yield (cost, place) of each way to break words into two lines."""
        for at in range(start + 1, end):
            first, second = self._length(start, at), self._length(at, end)
            if first > LINE_CHARS:
                return
            if second <= LINE_CHARS:
                # Lines of similar length need the least eye movement.
                cost = self._between[at] + 20 * ((first - second) / LINE_CHARS) ** 2
                yield cost + _LONE_WORD * (at in (start + 1, end - 1)), at

    def _length(self, start: int, end: int) -> int:
        return self._chars[end] - self._chars[start] - 1


# Never before a vowel or a tone of Thai, which is a character of its own but belongs to a letter.
_PIECE = re.compile(f".{{1,{LINE_CHARS}}}(?![{MARKS}])|.{{1,{LINE_CHARS}}}")


def _split(text: str) -> list[str]:
    # Scripts without spaces, and addresses, are one long "word".
    return [piece for word in text.split() for piece in _PIECE.findall(word)]

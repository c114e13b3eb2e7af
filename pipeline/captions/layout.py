"""Lay captions out as readable subtitles: short lines, few lines, enough time.

Pure. The limits are those that broadcasters share (BBC Subtitle Guidelines; Netflix Timed Text
Style Guide): 42 characters a line, two lines, 17 characters a second where the speech allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, zip_longest

from pipeline.captions.line_breaks import break_cost
from pipeline.captions.subtitles import Cue

LINE_CHARS = 42
LINES = 2
CHARS_PER_S = 17.0
SHORTEST_S = 5 / 6
"""The shortest time of a cue if the speech allows it; a shorter one cannot be read."""
GAP_S = 0.08
"""The gap between two cues, two frames, by which the eye sees the change."""

# Points as those of `break_cost`, whose worst break costs 30.
_PART = 25.0  # cost of one more cue
_LONE_WORD = 40.0  # cost of a single word by itself
_CUE_BREAK = 2.0  # weight of a break between cues against one between lines
_FULL_CHARS = 25  # a shorter cue looks lost
_CLIPPED_S = 0.1  # least time of a caption that the one before it runs into


@dataclass(frozen=True, slots=True)
class Spoken:
    """A caption: when it was spoken, and its text in one or two languages, each (lang, text)."""

    start_s: float
    end_s: float
    texts: tuple[tuple[str, str], ...]


def arrange(captions: Sequence[Spoken]) -> list[Cue]:
    """Return the cues of captions in order of time. Two languages share the lines of a cue.

    A caption too long for one cue becomes several, which share its time by their characters. If
    there is too little time to read it at CHARS_PER_S, it stays on screen into the pause after it.
    """
    result: list[Cue] = []
    starts_s = [caption.start_s for caption in captions[1:]]
    for caption, next_s in zip_longest(captions, starts_s):
        # Two languages get a line each: four lines would cover the picture.
        lines = LINES // len(caption.texts)
        parts = [divide(text, lang, lines) for lang, text in caption.texts]
        count = max(map(len, parts))
        # Both languages must change together: the shorter one is divided again, into as many.
        parts = [divide(text, lang, lines, count) for lang, text in caption.texts]
        shown = ["\n".join(filter(None, texts)) for texts in zip_longest(*parts, fillvalue="")]
        chars = [max(map(len, texts)) for texts in zip_longest(*parts, fillvalue="")]
        start_s = max(caption.start_s, result[-1].end_s if result else 0.0)
        # The cue before may have needed all of this one's time; none is to be of no length.
        end_s = max(caption.end_s, start_s + _CLIPPED_S)
        wanted_s = start_s + max(sum(chars) / CHARS_PER_S, len(chars) * SHORTEST_S)
        end_s = max(end_s, wanted_s if next_s is None else min(wanted_s, next_s - GAP_S))
        per_char_s = (end_s - start_s) / sum(chars)
        times_s = [start_s + per_char_s * n for n in accumulate(chars, initial=0)]
        result += [Cue(*times, text) for times, text in zip(pairwise(times_s), shown, strict=True)]
    return result


def divide(text: str, lang: str, lines: int = LINES, count: int = 0) -> list[str]:
    """Divide a text into cues of at most `lines` lines, preferably at the ends of phrases.

    `count` is the number of cues, at most one a word; 0 for the number that reads best. Line feeds
    separate a cue's lines. A word longer than a line is cut.
    """
    # Dynamic programming over the places of breaks, as in Knuth and Plass (1981).
    words = _words(text)
    # best[end][parts]: least cost of the first `end` words in `parts` cues, start of the last.
    best: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]
    for end in range(1, len(words) + 1):
        reached: dict[int, tuple[float, int]] = {}
        # Backwards: as soon as the words do not fit, neither do any more of them.
        for start in range(end - 1, -1, -1):
            cost = _cost(words[start:end], lang, lines)
            if cost is None:
                break
            cost += _PART
            if end - start == 1 and len(words) > 1:
                cost += _LONE_WORD
            if end < len(words):
                cost += _CUE_BREAK * break_cost(words[end - 1], words[end], lang)
            for parts, (so_far, _) in best[start].items():
                total = so_far + cost
                if parts + 1 not in reached or total < reached[parts + 1][0]:
                    reached[parts + 1] = (total, start)
        best.append(reached)
    ways = best[-1]
    parts = min(ways, key=lambda n: ways[n][0])
    if count:
        parts = min(count, max(ways))
    cue_texts: list[str] = []
    end = len(words)
    while parts:
        start = best[end][parts][1]
        cue_texts.append(_broken(words[start:end], lang))
        end, parts = start, parts - 1
    return cue_texts[::-1]


def _cost(words: Sequence[str], lang: str, lines: int) -> float | None:
    """Return the cost of words as one cue, None if they do not fit."""
    chars = len(" ".join(words))
    short = max(0, _FULL_CHARS - chars) ** 2 / 10
    if chars <= LINE_CHARS:
        return short
    if lines == 1:
        return None
    return min((cost for cost, _ in _breaks(words, lang)), default=None)


def _broken(words: Sequence[str], lang: str) -> str:
    """Return words as one cue, in two lines if they do not fit in one."""
    if len(" ".join(words)) <= LINE_CHARS:
        return " ".join(words)
    _, at = min(_breaks(words, lang))
    return f"{' '.join(words[:at])}\n{' '.join(words[at:])}"


def _breaks(words: Sequence[str], lang: str) -> list[tuple[float, int]]:
    """Return (cost, place) of each way to break words into two lines."""
    breaks: list[tuple[float, int]] = []
    for at in range(1, len(words)):
        first, second = len(" ".join(words[:at])), len(" ".join(words[at:]))
        if max(first, second) <= LINE_CHARS:
            cost = break_cost(words[at - 1], words[at], lang)
            # Lines of about one length are read with the least movement of the eyes.
            cost += 20 * ((first - second) / LINE_CHARS) ** 2
            cost += _LONE_WORD * (at in (1, len(words) - 1))
            breaks.append((cost, at))
    return breaks


def _words(text: str) -> list[str]:
    return [
        # Scripts without spaces, and addresses, are one "word" of any length.
        word[at : at + LINE_CHARS]
        for word in text.split()
        for at in range(0, len(word), LINE_CHARS)
    ]

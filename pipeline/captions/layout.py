"""Lay captions out as readable subtitles: short lines, few lines, enough time.

Pure. The limits are those that broadcasters share (BBC Subtitle Guidelines; Netflix Timed Text
Style Guide): 42 characters a line, two lines, 17 characters a second where the speech allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, zip_longest

from pipeline.captions.subtitles import Cue
from pipeline.core.languages import language

SENTENCE, CLAUSE, COMMA, PHRASE, WORD, NAME, TIED = 0.0, 3.0, 5.0, 8.0, 14.0, 22.0, 30.0
"""Costs of a break, from the best place to the worst."""

_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*$")
_CLAUSE_END = re.compile(r"[;:—–][\"'”’»)\]]*$")
_COMMA_END = re.compile(r",[\"'”’»)\]]*$")


def break_cost(before: str, after: str, lang: str) -> float:
    """Return the cost of a break between two words of language `lang`."""
    # Ties go first: "el Sr." ends like a sentence and belongs to the name.
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
        parts = [
            texts if len(texts) == count else divide(text, lang, lines, count)
            for (lang, text), texts in zip(caption.texts, parts, strict=True)
        ]
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
    words = _Words(text, lang)
    cuts = words.cuts(lines) if count == 0 else words.cuts_into(count, lines)
    return [words.cue(start, end) for start, end in pairwise(cuts)]


class _Words:
    """The words of a text, with what is needed of each place between two of them."""

    def __init__(self, text: str, lang: str) -> None:
        self._words = words = _split(text)
        # Worked out once: places are looked at again for each cue that they may be in.
        between = (break_cost(*pair, lang) for pair in pairwise(words))
        self._between = [0.0, *between, 0.0]
        """The cost of a break before each word; of none at the beginning and the end."""
        self._chars = list(accumulate((len(word) + 1 for word in words), initial=0))
        """The characters before each word, with the spaces."""

    def cuts(self, lines: int) -> list[int]:
        """Return the places where the cues begin that read best, and the end."""
        # Dynamic programming over the places of breaks, as in Knuth and Plass (1981).
        best: list[tuple[float, int]] = [(0.0, 0)]  # the least cost so far, the last cue's start
        for end in range(1, len(self._words) + 1):
            best.append(min((best[at][0] + cost, -at) for at, cost in self._last_cues(end, lines)))
        cuts = [end := len(self._words)]
        while end:
            end = -best[end][1]
            cuts.append(end)
        return cuts[::-1]

    def cuts_into(self, count: int, lines: int) -> list[int]:
        """Return the same for `count` cues, or as many as there can be."""
        # best[end][parts]: as above, of the first `end` words in `parts` cues.
        best: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]
        for end in range(1, len(self._words) + 1):
            reached: dict[int, tuple[float, int]] = {}
            for at, cost in self._last_cues(end, lines):
                for parts, (so_far, _) in best[at].items():
                    if parts + 1 not in reached or so_far + cost < reached[parts + 1][0]:
                        reached[parts + 1] = (so_far + cost, at)
            best.append(reached)
        parts, cuts = min(count, max(best[-1])), [end := len(self._words)]
        while parts:
            end, parts = best[end][parts][1], parts - 1
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
        # Backwards: as soon as the words do not fit, neither do any more of them.
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
                # Lines of about one length are read with the least movement of the eyes.
                cost = self._between[at] + 20 * ((first - second) / LINE_CHARS) ** 2
                yield cost + _LONE_WORD * (at in (start + 1, end - 1)), at

    def _length(self, start: int, end: int) -> int:
        return self._chars[end] - self._chars[start] - 1


def _split(text: str) -> list[str]:
    return [
        # Scripts without spaces, and addresses, are one "word" of any length.
        word[at : at + LINE_CHARS]
        for word in text.split()
        for at in range(0, len(word), LINE_CHARS)
    ]

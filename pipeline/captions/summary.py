"""A draft of a summary: sentences of the service as they were shown, the verses, and where. Pure.

Nothing is written that was not on the screens: of each part of the service the sentence is taken
whose words are the most its own. An operator reads it before anybody else does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pipeline.captions.subtitles import Side, newest, plain
from pipeline.protocol.caption import CaptionMessage
from pipeline.text.sentences import is_ended, split
from pipeline.text.words import words

_PARTS = 8
_FEWEST, _MOST = 7, 40
"""Words of a sentence that can be read by itself."""
_EVERYDAY = 3
"""Letters of words that say little: articles, prepositions."""
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
    """Return the most central sentence of each part, in order, none twice."""
    langs = Counter(getattr(each, side).lang for each in captions)
    sentences = [
        _Sentence(each, text, Counter(word for word in words(text) if len(word) > _EVERYDAY))
        for each in captions
        # Where the spoken words stand in for a translation they are of another language.
        if getattr(each, side).lang == langs.most_common(1)[0][0]
        # A printed verse was on the screens, not the words that quoted it.
        and each.verse is None
        for text in split(plain(getattr(each, side).text))
        if is_ended(text) and _FEWEST <= len(words(text)) <= _MOST
    ]
    if not sentences:
        return []
    found = Counter(word for each in sentences for word in each.terms)
    rare = {word: math.log(1 + len(sentences) / count) for word, count in found.items()}
    centre = {word: count * rare[word] for word, count in found.items()}
    start_s = sentences[0].caption.start_s
    part_s = (sentences[-1].caption.start_s - start_s) / _PARTS or 1.0
    chosen: dict[int, _Sentence] = {}
    for each in sorted(sentences, key=lambda one: -_nearness(one.terms, centre, rare)):
        part = min(_PARTS - 1, int((each.caption.start_s - start_s) / part_s))
        if part not in chosen and not any(_alike(each, one) for one in chosen.values()):
            chosen[part] = each
    return [chosen[part] for part in sorted(chosen)]


def _nearness(terms: Counter[str], centre: Mapping[str, float], rare: Mapping[str, float]) -> float:
    """Return the cosine with all that was said, but for a factor that is the same for all."""
    weights = {word: count * rare[word] for word, count in terms.items()}
    length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
    return sum(weight * centre[word] for word, weight in weights.items()) / length


def _alike(a: _Sentence, b: _Sentence) -> bool:
    return (a.terms & b.terms).total() > _ALIKE * min(a.terms.total(), b.terms.total())


def _place(caption: CaptionMessage) -> str:
    return f"(No. {caption.id}, {timedelta(seconds=int(caption.start_s))})"

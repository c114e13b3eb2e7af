"""What is done to pairs before they are learnt from, so that training looks like a service.

Each function takes a source of chance and gives a new pair; none changes what it was given.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pipeline.dictionary.rules import Rule, key
from pipeline.learning.data.terms import Confusion
from pipeline.text.words import WORD

_END = re.compile(r"[.!?…]+[\"”’»)]*$")
_LEAST_PREFIX = 3
"""Words; fewer say too little to be translated."""
_SHORT = 3
"""Letters."""
# Short words have dozens of neighbours: any of them would be chance and no mishearing.
_MOST_ALIKE = 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A pair as it is learnt from. `part` is where it comes from: bible, sermon, glossary, general.

    `heard` is the source as the recognizer heard it, empty where nobody knows.
    """

    source: str
    target: str
    part: str
    weight: float = 1.0
    heard: str = ""
    session: str = ""
    id: int = 0


def as_heard(
    example: Example, sounds: Mapping[str, Sequence[str]], share: float, rng: random.Random
) -> str:
    """Return the source as our recognizer hears it: what it heard, or with its usual mistakes.

    `sounds` maps what is said, in the form of `key`, to what is heard. Of the words `share` are
    misheard at most, one at least.
    """
    if example.heard and example.heard != example.source:
        return example.heard
    room = max(1, round(share * len(example.source.split())))
    text = example.source
    places = list(_places(text, sounds))
    # Else the first terms of a sentence would always be the ones that are misheard.
    rng.shuffle(places)
    # From the end: a replacement moves no place that is still to come.
    for start, end, heard in sorted(places[:room], reverse=True):
        text = f"{text[:start]}{rng.choice(heard)}{text[end:]}"
    return text


def noisy(example: Example, near: Mapping[str, Sequence[str]], rng: random.Random) -> str:
    """Return the source with a word or two as a recognizer may get them wrong.

    One of ten words, one at least: another word that is spelt nearly alike (`near`), or a short
    word that is left out.
    """
    parts = example.source.split()
    # A short sentence with a wrong word may have any translation.
    if len(parts) < _LEAST_PREFIX + 1:
        return example.source
    words = {
        at: found[0]
        for at, part in enumerate(parts)
        # Not the first word: those of `near` are small, and its capital would be lost.
        if at and (found := [str(word) for word in WORD.findall(part)])
    }
    # Of those that can be got wrong, so that as many sources are changed as were asked for.
    able = [at for at, word in words.items() if len(word) <= _SHORT or near.get(key(word))]
    for at in rng.sample(able, min(len(able), max(1, len(parts) // 10))):
        others = near.get(key(words[at]))
        parts[at] = parts[at].replace(words[at], rng.choice(others)) if others else ""
    return " ".join(part for part in parts if part)


def near_words(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return by word other words of the texts that lack, have or change one letter of it.

    Words are filed under themselves less a letter (as SymSpell does, Garbe 2012).
    """
    vocabulary = {key(word) for text in texts for word in WORD.findall(text) if word.islower()}
    filed: dict[str, list[str]] = {}
    for word in sorted(word for word in vocabulary if len(word) >= _SHORT):
        # The first letter is heard rightly. A set: of "wall" either l may be missing.
        for less in {word, *(word[:at] + word[at + 1 :] for at in range(1, len(word)))}:
            filed.setdefault(less, []).append(word)
    near: dict[str, set[str]] = {}
    for alike in filed.values():
        if 1 < len(alike) <= _MOST_ALIKE:
            for word in alike:
                near.setdefault(word, set()).update(other for other in alike if other != word)
    return {word: sorted(others) for word, others in near.items()}


def rule_sounds(rules: Iterable[Rule], confused: Sequence[Confusion]) -> dict[str, list[str]]:
    """Return by what is said all that is heard for it: in reviews first, then by rules."""
    made: dict[str, list[str]] = {}
    for each in sorted(confused, key=lambda each: -each.count):
        made.setdefault(key(each.said), []).append(each.heard)
    for rule in rules:
        made.setdefault(key(rule.write), []).extend(rule.hear)
    return made


def prefix(example: Example, rng: random.Random) -> Example | None:
    """Return the beginning of a pair, cut at the same share of both sides; None if it is short.

    A caption in progress is translated before its sentence is over; a model that was never shown
    a beginning makes it up (Niehues et al. 2018, "Low-Latency Neural Speech Translation").
    """
    source, target = example.source.split(), example.target.split()
    if len(source) < 2 * _LEAST_PREFIX or len(target) < 2 * _LEAST_PREFIX:
        return None
    count = rng.randrange(_LEAST_PREFIX, len(source))
    made = max(1, round(count / len(source) * len(target)))
    return replace(
        example,
        # As a partial is translated: without a full stop at its end.
        source=_END.sub("", " ".join(source[:count])),
        target=_END.sub("", " ".join(target[:made])),
        heard="",
    )


def with_terms(example: Example, glossary: Mapping[str, str]) -> Example | None:
    """Return a pair with each term's translation written behind it in the source; None without any.

    After Dinu et al. 2019 (arXiv:1906.01105), form "append", here in square brackets. Only terms
    whose translation stands in the target are written: what is told must be what is done.
    """
    told = f" {key(example.target)} "
    found = [
        (start, end, made)
        for start, end, made in _places(example.source, glossary)
        if f" {key(made)} " in told
    ]
    if not found:
        return None
    text = example.source
    # From the end, as above: places in front stay true.
    for _, end, made in sorted(found, reverse=True):
        text = f"{text[:end]} [{made}]{text[end:]}"
    return replace(example, source=text, heard="")


def joined(examples: Sequence[Example]) -> Example:
    """Return several pairs, said one after the other, as one."""
    first = examples[0]
    heard = " ".join(each.heard or each.source for each in examples)
    return replace(
        first,
        source=" ".join(each.source for each in examples),
        target=" ".join(each.target for each in examples),
        # The greatest: what is joined to a rare sentence must not make it count less.
        weight=max(each.weight for each in examples),
        heard=heard if any(each.heard for each in examples) else "",
    )


def _places(text: str, phrases: Mapping[str, T]) -> list[tuple[int, int, T]]:
    """Return (start, end, value) of the phrases in a text, the longest first, none over another."""
    spans = [(match.start(), match.end(), key(match[0])) for match in WORD.finditer(text)]
    longest = max((len(phrase.split()) for phrase in phrases), default=0)
    found: list[tuple[int, int, T]] = []
    at = 0
    while at < len(spans):
        for count in range(min(longest, len(spans) - at), 0, -1):
            phrase = " ".join(word for _, _, word in spans[at : at + count])
            if phrase in phrases:
                found.append((spans[at][0], spans[at + count - 1][1], phrases[phrase]))
                # Behind the phrase: "Lord" in "Lord Jesus" is not found once more.
                at += count - 1
                break
        at += 1
    return found

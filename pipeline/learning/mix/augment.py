"""Augmentation of training pairs, so that training looks like a service.

The functions return a new pair or text, and never change their arguments.
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
"""Minimum number of words; fewer say too little to be translated."""
_SHORT = 3
"""Number of letters."""
# Short words have dozens of neighbours, which would be random words, not mishearings.
_MOST_ALIKE = 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A training pair. `part` is its origin: bible, sermon, glossary or general.

    `heard` is the source as the recognizer heard it, empty if unknown.
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
    """Return the source as our recognizer hears it: as it was heard, or with its usual mistakes.

    `sounds` maps spoken phrases, in the form of `key`, to what is heard. At most a share `share` of
    the words is misheard, but one word is always allowed.
    """
    if example.heard and example.heard != example.source:
        return example.heard
    room = max(1, round(share * len(example.source.split())))
    text = example.source
    places = list(_places(text, sounds))
    # Otherwise always the first terms of a sentence would be misheard.
    rng.shuffle(places)
    # From the end, so that a replacement does not move the other positions.
    for start, end, heard in sorted(places[:room], reverse=True):
        text = f"{text[:start]}{rng.choice(heard)}{text[end:]}"
    return text


def noisy(example: Example, near: Mapping[str, Sequence[str]], rng: random.Random) -> str:
    """Return the source with a word or two changed as a recognizer may get them wrong.

    One of ten words, at least one, is changed: into a word with almost the same spelling (`near`),
    or a short word is left out.
    """
    parts = example.source.split()
    # A short sentence with a wrong word could mean anything.
    if len(parts) < _LEAST_PREFIX + 1:
        return example.source
    words = {
        at: found[0]
        for at, part in enumerate(parts)
        # Not the first word: words of `near` are in lower case, and its capital would be lost.
        if at and (found := [str(word) for word in WORD.findall(part)])
    }
    # Only words that can be changed, so that as many sources are changed as requested.
    able = [at for at, word in words.items() if len(word) <= _SHORT or near.get(key(word))]
    for at in rng.sample(able, min(len(able), max(1, len(parts) // 10))):
        others = near.get(key(words[at]))
        parts[at] = parts[at].replace(words[at], rng.choice(others)) if others else ""
    return " ".join(part for part in parts if part)


def near_words(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return, by word, the other words of the texts that differ from it by one letter.

    Words are indexed by themselves without one letter (as in SymSpell, Garbe 2012).
    """
    vocabulary = {key(word) for text in texts for word in WORD.findall(text) if word.islower()}
    filed: dict[str, list[str]] = {}
    for word in sorted(word for word in vocabulary if len(word) >= _SHORT):
        # The first letter is heard correctly. A set, since "wall" without either l is the same.
        for less in {word, *(word[:at] + word[at + 1 :] for at in range(1, len(word)))}:
            filed.setdefault(less, []).append(word)
    near: dict[str, set[str]] = {}
    for alike in filed.values():
        if 1 < len(alike) <= _MOST_ALIKE:
            for word in alike:
                near.setdefault(word, set()).update(other for other in alike if other != word)
    return {word: sorted(others) for word, others in near.items()}


def rule_sounds(rules: Iterable[Rule], confused: Sequence[Confusion]) -> dict[str, list[str]]:
    """Return, by spoken phrase, all that is heard for it: from reviews first, then from rules."""
    made: dict[str, list[str]] = {}
    for each in sorted(confused, key=lambda each: -each.count):
        made.setdefault(key(each.said), []).append(each.heard)
    for rule in rules:
        # The rule of a name hears the name itself.
        if heard := [each for each in rule.hear if key(each) != key(rule.write)]:
            made.setdefault(key(rule.write), []).extend(heard)
    return made


def prefix(example: Example, rng: random.Random) -> Example | None:
    """Return the beginning of a pair, cut at the same share of both sides; None if it is short.

    A partial is translated before its sentence ends, and a model that was never trained on prefixes
    invents the rest (Niehues et al. 2018, "Low-Latency Neural Speech Translation").
    """
    source, target = example.source.split(), example.target.split()
    if len(source) < 2 * _LEAST_PREFIX or len(target) < 2 * _LEAST_PREFIX:
        return None
    count = rng.randrange(_LEAST_PREFIX, len(source))
    made = max(1, round(count / len(source) * len(target)))
    return replace(
        example,
        # Without a full stop at the end, like a partial.
        source=_END.sub("", " ".join(source[:count])),
        target=_END.sub("", " ".join(target[:made])),
        heard="",
    )


def with_terms(example: Example, glossary: Mapping[str, str]) -> Example | None:
    """Return a pair with each term's translation added after it in the source; None without any.

    After Dinu et al. 2019 (arXiv:1906.01105), form "append", here in square brackets. Only terms
    whose translation is in the target get it: the target must follow the annotation.
    """
    target = f" {key(example.target)} "
    found = [
        (start, end, made)
        for start, end, made in _places(example.source, glossary)
        if f" {key(made)} " in target
    ]
    if not found:
        return None
    text = example.source
    # From the end, so that the positions in front stay valid.
    for _, end, made in sorted(found, reverse=True):
        text = f"{text[:end]} [{made}]{text[end:]}"
    return replace(example, source=text, heard="")


def joined(examples: Sequence[Example]) -> Example:
    """Return several consecutive pairs as one."""
    first = examples[0]
    heard = " ".join(each.heard or each.source for each in examples)
    return replace(
        first,
        source=" ".join(each.source for each in examples),
        target=" ".join(each.target for each in examples),
        # The largest, so that joining does not reduce the weight of a rare sentence.
        weight=max(each.weight for each in examples),
        heard=heard if any(each.heard for each in examples) else "",
    )


def _places(text: str, phrases: Mapping[str, T]) -> list[tuple[int, int, T]]:
    """Return (start, end, value) of the phrases in a text: the longest match, without overlaps."""
    spans = [(match.start(), match.end(), key(match[0])) for match in WORD.finditer(text)]
    longest = max((len(phrase.split()) for phrase in phrases), default=0)
    found: list[tuple[int, int, T]] = []
    at = 0
    while at < len(spans):
        for count in range(min(longest, len(spans) - at), 0, -1):
            phrase = " ".join(word for _, _, word in spans[at : at + count])
            if phrase in phrases:
                found.append((spans[at][0], spans[at + count - 1][1], phrases[phrase]))
                # Continue after the phrase, so that "Lord" in "Lord Jesus" is not found again.
                at += count - 1
                break
        at += 1
    return found

"""A training mix: shares of Bible, sermons and glossary, changed to look like a service.

At first 70 % Bible, 25 % sermon, 5 % glossary, later 50, 40 and 10. Modern everyday pairs are
added, so that the model does not learn the register of 1909. A part with too few pairs is
repeated up to a limit; the pairs that are still missing are left out and reported.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from pipeline.dictionary.rules import Rule
from pipeline.learning.data.corpora import Verse
from pipeline.learning.data.terms import Confusion
from pipeline.learning.mix.augment import (
    Example,
    as_heard,
    joined,
    near_words,
    noisy,
    prefix,
    rule_sounds,
    with_terms,
)
from pipeline.text.words import words

Stage: TypeAlias = Literal["first", "later"]
SHARES: Mapping[Stage, Mapping[str, float]] = {
    "first": {"bible": 0.70, "sermon": 0.25, "glossary": 0.05},
    "later": {"bible": 0.50, "sermon": 0.40, "glossary": 0.10},
}
# Sermons weigh more, since a Bible has many more pairs than a church's sermons.
_WEIGHTS = {"bible": 1.0, "sermon": 2.0, "glossary": 2.0, "general": 1.0}
_MOST_ROUNDS = {"bible": 1, "sermon": 6, "glossary": 20, "general": 1}
"""How often a pair may occur. Glossary pairs stand for sentences that nobody has said yet."""
_PASSAGE = (2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixSettings:
    """The settings of a mix; shares are 0..1."""

    pairs: int = 20_000
    """Pairs of Bible, sermon and glossary together; 10,000 to 30,000 is a good size."""
    general: int = 5_000
    stage: Stage = "first"
    newest_bible: float = 0.65
    """Share of the Bible part that comes from the first, most modern version."""
    passages: float = 0.5
    """Share of the Bible part that consists of passages of 2 to 5 verses."""
    heard: float = 0.3
    """Share of the sources that have our recognizer's mistakes."""
    misheard_words: float = 0.05
    prefixes: float = 0.1
    terms: float = 0.15
    several: float = 0.25
    """Share of sermon and general pairs that are joined into two to four sentences."""
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """The sources of a mix."""

    bibles: Sequence[Sequence[Verse]] = ()
    """Verses in order, by version, the most modern version first."""
    sermon: Sequence[Example] = ()
    talk: Sequence[Example] = ()
    """Church talk that ships, used if the church has too few sermons of its own."""
    glossary: Mapping[str, str] = field(default_factory=dict)
    """Terms in the form of `key`, with their translation."""
    frames: Sequence[tuple[str, str]] = ()
    """Sentences with {term} in both languages; the glossary's terms are inserted there."""
    rules: Sequence[Rule] = ()
    """The dictionary's rules, which list how words are misheard."""
    general: Sequence[Example] = ()
    confusions: Sequence[Confusion] = ()
    held_out: Iterable[str] = ()
    """Sources that must not be in the mix."""


@dataclass(frozen=True, slots=True)
class Mix:
    """The examples in random order, with counts."""

    examples: tuple[Example, ...]
    parts: Mapping[str, int]
    lacking: Mapping[str, int]
    """By part, the number of pairs that are missing for its share."""
    treated: Mapping[str, int]
    """By treatment, the number of pairs that had it."""


def make_mix(given: Ingredients, settings: MixSettings) -> Mix:
    """Return a mix; the same ingredients and settings always give the same one."""
    # One random generator for all parts, so their order below affects the result.
    rng = random.Random(settings.seed)  # noqa: S311 - no secret
    # Compared as words: an extra comma does not make another sentence.
    unseen = {" ".join(words(text)) for text in given.held_out}
    shares = SHARES[settings.stage]
    wanted = {part: round(share * settings.pairs) for part, share in shares.items()}
    wanted["general"] = settings.general
    # Without frames a term is learnt as a sentence of its own.
    frames = given.frames or [("{term}", "{term}")]
    glossary = [
        Example(
            source=source.replace("{term}", said),
            target=target.replace("{term}", made),
            part="glossary",
        )
        for said, made in given.glossary.items()
        for source, target in frames
    ]
    pools = {
        "sermon": _clean(given.sermon, unseen),
        "glossary": glossary,
        "general": _clean(given.general, unseen),
    }
    chosen = {part: _draw(pool, wanted[part], part, rng) for part, pool in pools.items()}
    # First the church's own sentences, as often as allowed; then those of other preachers.
    missing = wanted["sermon"] - len(chosen["sermon"])
    talk = _clean(given.talk, unseen)
    chosen["sermon"] += rng.sample(talk, min(missing, len(talk)))
    for part in ("sermon", "general"):
        chosen[part] = _several(chosen[part], settings.several, rng)
    chosen["bible"] = _bible(given.bibles, wanted["bible"], settings, rng, unseen)
    texts = [each.source for part in chosen.values() for each in part]
    treatments = _Treatments(given, settings, rng, near_words(texts))
    examples = [treatments.treat(each) for part in chosen.values() for each in part]
    # Otherwise training would see one part after the other.
    rng.shuffle(examples)
    parts = Counter(each.part for each in examples)
    lacking = {part: wanted[part] - len(each) for part, each in chosen.items()}
    return Mix(
        examples=tuple(
            replace(each, weight=_WEIGHTS[each.part] * each.weight) for each in examples
        ),
        parts=dict(parts),
        lacking={part: count for part, count in lacking.items() if count > 0},
        treated=dict(treatments.counts),
    )


def _clean(pool: Iterable[Example], unseen: set[str]) -> list[Example]:
    return [each for each in pool if " ".join(words(each.source)) not in unseen]


def _draw(pool: Sequence[Example], count: int, part: str, rng: random.Random) -> list[Example]:
    """Return up to `count` pairs of a pool, each about equally often and not above the limit."""
    drawn: list[Example] = []
    # Whole rounds, then a sample: the counts of two pairs differ by one at most.
    for _ in range(_MOST_ROUNDS[part]):
        left = count - len(drawn)
        if left <= 0:
            break
        drawn += pool if left >= len(pool) else rng.sample(list(pool), left)
    return drawn


def _several(pool: Sequence[Example], share: float, rng: random.Random) -> list[Example]:
    """Return a pool in which a share of the pairs is joined with the pairs that follow them.

    Pairs of a session are joined only if they followed each other there; others in pool order.
    """
    ordered = sorted(pool, key=lambda each: (each.session, each.id))
    # Pairs without a session have the id 0, so 0 follows 0.
    follows = {
        id(a): b for a, b in pairwise(ordered) if a.session == b.session and b.id in (a.id + 1, 0)
    }
    made = []
    for each in pool:
        group = [each]
        if rng.random() < share:
            for _ in range(rng.randint(1, 3)):
                if (after := follows.get(id(group[-1]))) is None:
                    break
                group.append(after)
        made.append(joined(group) if len(group) > 1 else each)
    return made


def _bible(
    bibles: Sequence[Sequence[Verse]],
    count: int,
    settings: MixSettings,
    rng: random.Random,
    unseen: set[str],
) -> list[Example]:
    """Return verses and passages, most of them from the first version."""
    made: list[Example] = []
    for number, verses in enumerate(bibles):
        if len(bibles) == 1:
            share = 1.0
        elif number == 0:
            share = settings.newest_bible
        else:
            share = (1 - settings.newest_bible) / (len(bibles) - 1)
        clean = [verse for verse in verses if " ".join(words(verse.text)) not in unseen]
        wanted = round(share * count)
        whole = round(settings.passages * wanted)
        # A service has several verses together; a model of single verses loses their connection.
        made += [_passage(clean, rng) for _ in range(whole if len(clean) > _PASSAGE[1] else 0)]
        single = min(wanted - whole, len(clean))
        made += [_example([verse]) for verse in rng.sample(clean, single)]
    return made


def _passage(verses: Sequence[Verse], rng: random.Random) -> Example:
    """Return 2 to 5 consecutive verses of one chapter, fewer at its end."""
    first = rng.randrange(len(verses))
    place = (verses[first].book, verses[first].chapter)
    run = [verses[first]]
    for verse in verses[first + 1 : first + rng.randint(*_PASSAGE)]:
        # A verse that the version lacks ends the passage: the verses around it are not consecutive.
        if (verse.book, verse.chapter) != place or verse.number != run[-1].number + 1:
            break
        run.append(verse)
    return _example(run)


def _example(verses: Sequence[Verse]) -> Example:
    source = " ".join(verse.text for verse in verses)
    return Example(
        source=source, target=" ".join(verse.translation for verse in verses), part="bible"
    )


class _Treatments:
    """Treats pairs, each treatment by its share: a prefix, terms, recognizer mistakes, or none."""

    def __init__(
        self,
        given: Ingredients,
        settings: MixSettings,
        rng: random.Random,
        near: Mapping[str, Sequence[str]],
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._settings = settings
        self._glossary = given.glossary
        self._sounds = rule_sounds(given.rules, given.confusions)
        self._near = near
        self._rng = rng

    def treat(self, example: Example) -> Example:
        """Return the pair for training."""
        settings, rng = self._settings, self._rng
        # One treatment per pair, so that the shares are as requested.
        draw = rng.random()
        if draw < settings.heard:
            return self._misheard(example)
        draw -= settings.heard
        if draw < settings.prefixes:
            if cut := prefix(example, rng):
                self.counts["prefix"] += 1
                return cut
        elif draw < settings.prefixes + settings.terms and (
            annotated := with_terms(example, self._glossary)
        ):
            self.counts["terms"] += 1
            return annotated
        # Cleared, as in every treatment: the heard text is in the source by now, or is not wanted.
        return replace(example, heard="")

    def _misheard(self, example: Example) -> Example:
        settings = self._settings
        heard = as_heard(example, self._sounds, settings.misheard_words, self._rng)
        how = "as heard" if example.heard == heard else "as the dictionary knows"
        # No rule and no review has these words, so mistakes are made at random.
        if heard == example.source:
            heard, how = noisy(example, self._near, self._rng), "noise"
        if heard != example.source:
            self.counts[how] += 1
        return replace(example, source=heard, heard="")

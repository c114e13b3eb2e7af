"""A training mix: shares of Bible, sermons and glossary, treated like a service.

At first 70 % Bible, 25 % sermon, 5 % glossary, later 50, 40 and 10, and modern everyday pairs
beside them, so that nobody's register becomes that of 1909. A part that has too few pairs is
repeated, so often and no more; what it lacks is left out and told.
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
# A Bible has many more pairs than a church's sermons, which must not be drowned by them.
_WEIGHTS = {"bible": 1.0, "sermon": 2.0, "glossary": 2.0, "general": 1.0}
_MOST_ROUNDS = {"bible": 1, "sermon": 6, "glossary": 20, "general": 1}
"""How often a pair may be there. The glossary's stand in for sentences nobody has said yet."""
_PASSAGE = (2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixSettings:
    """How a mix is made; shares are 0..1."""

    pairs: int = 20_000
    """Of Bible, sermon and glossary together; 10,000 to 30,000 are a good size."""
    general: int = 5_000
    stage: Stage = "first"
    newest_bible: float = 0.65
    """Share of the Bible part that its first, most modern version has."""
    passages: float = 0.5
    """Share of the Bible part that is passages of 2 to 5 verses."""
    heard: float = 0.3
    """Share of the sources that are as our recognizer hears them."""
    misheard_words: float = 0.05
    prefixes: float = 0.1
    terms: float = 0.15
    several: float = 0.25
    """Share of sermon and general pairs that are two to four sentences."""
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """What a mix is made of."""

    bibles: Sequence[Sequence[Verse]] = ()
    """Verses in their order, by version, the most modern first."""
    sermon: Sequence[Example] = ()
    talk: Sequence[Example] = ()
    """Church talk that ships: it fills what the church's own sermons lack."""
    glossary: Mapping[str, str] = field(default_factory=dict)
    """Terms in the form of `key`, with their translation."""
    frames: Sequence[tuple[str, str]] = ()
    """Sentences with {term} in both languages, which the glossary's terms are put into."""
    rules: Sequence[Rule] = ()
    """The dictionary's: they tell how words are misheard."""
    general: Sequence[Example] = ()
    confusions: Sequence[Confusion] = ()
    held_out: Iterable[str] = ()
    """Sources that must not be in it."""


@dataclass(frozen=True, slots=True)
class Mix:
    """The examples in random order, and how many there are of what."""

    examples: tuple[Example, ...]
    parts: Mapping[str, int]
    lacking: Mapping[str, int]
    """By part, how many pairs are missing from what the shares ask for."""
    treated: Mapping[str, int]
    """By treatment, how many pairs had it."""


def make_mix(given: Ingredients, settings: MixSettings) -> Mix:
    """Return a mix; the same ingredients and settings always give the same one."""
    # One source of chance for all parts: their order below belongs to the result.
    rng = random.Random(settings.seed)  # noqa: S311 - no secret
    # Compared as words: a comma more does not make another sentence.
    unseen = {" ".join(words(text)) for text in given.held_out}
    shares = SHARES[settings.stage]
    wanted = {part: round(share * settings.pairs) for part, share in shares.items()}
    wanted["general"] = settings.general
    # Without any frame a term is learnt as a sentence of itself.
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
    # Its own sentences first, as often as they may be there; then those of other preachers.
    missing = wanted["sermon"] - len(chosen["sermon"])
    talk = _clean(given.talk, unseen)
    chosen["sermon"] += rng.sample(talk, min(missing, len(talk)))
    for part in ("sermon", "general"):
        chosen[part] = _several(chosen[part], settings.several, rng)
    chosen["bible"] = _bible(given.bibles, wanted["bible"], settings, rng, unseen)
    texts = [each.source for part in chosen.values() for each in part]
    treatments = _Treatments(given, settings, rng, near_words(texts))
    examples = [treatments.treat(each) for part in chosen.values() for each in part]
    # Else training would see one part after the other.
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
    """Return `count` pairs of a pool, each equally often, and no more often than allowed."""
    drawn: list[Example] = []
    # Whole rounds, then a sample: no pair is there two times more than another.
    for _ in range(_MOST_ROUNDS[part]):
        left = count - len(drawn)
        if left <= 0:
            break
        drawn += pool if left >= len(pool) else rng.sample(list(pool), left)
    return drawn


def _several(pool: Sequence[Example], share: float, rng: random.Random) -> list[Example]:
    """Return a pool in which a share of the pairs is followed by the next ones as they were said.

    Pairs of one session are joined only where they followed each other; others as they come.
    """
    ordered = sorted(pool, key=lambda each: (each.session, each.id))
    # Pairs of no session have no number either: 0 follows 0.
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
    """Return verses and passages, most of them of the first version."""
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
        # Verses of a service come several at a time; a model of single ones loses what joins them.
        made += [_passage(clean, rng) for _ in range(whole if len(clean) > _PASSAGE[1] else 0)]
        single = min(wanted - whole, len(clean))
        made += [_example([verse]) for verse in rng.sample(clean, single)]
    return made


def _passage(verses: Sequence[Verse], rng: random.Random) -> Example:
    """Return 2 to 5 verses that follow each other in one chapter, fewer at its end."""
    first = rng.randrange(len(verses))
    place = (verses[first].book, verses[first].chapter)
    run = [verses[first]]
    for verse in verses[first + 1 : first + rng.randint(*_PASSAGE)]:
        # A verse that a version lacks ends the passage: what follows it was never said behind it.
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
    """Treats pairs, each by its share: cut short, with terms, as they are heard, or not at all."""

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
        """Return a pair as it is learnt from."""
        settings, rng = self._settings, self._rng
        # One treatment each, so that the shares are those that were asked for.
        lot = rng.random()
        if lot < settings.heard:
            return self._misheard(example)
        lot -= settings.heard
        if lot < settings.prefixes:
            if cut := prefix(example, rng):
                self.counts["prefix"] += 1
                return cut
        elif lot < settings.prefixes + settings.terms and (
            told := with_terms(example, self._glossary)
        ):
            self.counts["terms"] += 1
            return told
        # Cleared, as in every treatment: what was heard is in the source by now, or is not wanted.
        return replace(example, heard="")

    def _misheard(self, example: Example) -> Example:
        settings = self._settings
        heard = as_heard(example, self._sounds, settings.misheard_words, self._rng)
        how = "as heard" if example.heard == heard else "as the dictionary knows"
        # No rule and no review knows anything of these words: then chance mishears them.
        if heard == example.source:
            heard, how = noisy(example, self._near, self._rng), "noise"
        if heard != example.source:
            self.counts[how] += 1
        return replace(example, source=heard, heard="")

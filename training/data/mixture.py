"""The pairs of one training pass: how often each source is used, with which noise and names."""

# ruff: noqa: SIM905 - names read best as a text
from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.core.errors import ModelError
from pipeline.learning.mix.augment import Example, prefix
from training.data import references, references_french
from training.data.corpora import SPANISH, Pair, Split

# Tatoeba is general English. Verses are long, so that even with these shares they are half of
# all words. The older English versions have small shares, for their wording.
SHARES: Mapping[str, float] = {
    "tatoeba": 1.0,
    "nheb": 0.60,
    "bbe": 0.35,
    "asv": 0.15,
    "kjv": 0.15,
    "sermon": 6.0,
    "everyday": 6.0,
    "modern": 6.0,
    "talk": 6.0,
    "taught": 1.0,
}
REFERENCES = 2500


def shares_of(changes: Sequence[str], usual: Mapping[str, float] = SHARES) -> dict[str, float]:
    """Return the shares with the `SOURCE=SHARE` changes. Raises ModelError (shares-wrong)."""
    shares = dict(usual)
    for change in changes:
        found = re.fullmatch(r"(\w+)=(\d*\.?\d+)", change)
        if found is None or found[1] not in SHARES:
            raise ModelError(
                "shares-wrong",
                f"--shares {change} is no SOURCE=SHARE.",
                f"Sources are {', '.join(SHARES)}; a share is a number such as 0.5.",
            )
        shares[found[1]] = float(found[2])
    return shares


SHORT_SOURCES = ("tatoeba", "sermon", "everyday", "modern", "talk", "taught")
# Speech recognition sometimes loses case and punctuation.
PLAIN_SHARE = 0.08
NAME_SHARE = 0.35

# Names that are the same in both languages, so that the model learns to copy them: Tatoeba calls
# nearly every man Tom and every woman Mary. Biblical names with a Spanish form are left out.
MEN = """Daniel David Samuel Gabriel Rafael Ismael Caleb Hugo Bruno Omar Kevin Brian Walter Edward
Harold Patrick Dennis Frank Carl Eric Henry Robert William George Wesley Whitefield Spurgeon Carey
Moody Graham Zwingli Miller Johnson Anderson Walker Harris Bennett Foster Collins Bryant Hayes
Owens Kelly Murphy Gomez Alvarado Okoro Mbeki Nakamura Petrov Schmidt""".split()
WOMEN = """Sara Ana Laura Marta Julia Carmen Elena Susan Karen Helen Alice Emily Grace Nancy Linda
Betty Diana Irene Joan Eunice Clara Norma Sandra Teresa Karina Beatriz Megan Brenda""".split()
PLACES = """Dallas Chicago Nebraska Ohio Nairobi Kampala Manila Lima Quito Bristol Oxford Wittenberg
Leeds Memphis Tulsa Denver Nashville Houston Seattle""".split()
STARTS = "b br c ch cl d dr f fl g gr h j k kr l m n p pr r s sh st t th tr v w y z".split()
VOWELS = "a e i o u ai ea ee ia oo ou".split()
ENDS = "n l r s m th ck nd rt ll tt x d ford ton ley man sen berg wick ez".split()

# Modern Spanish for words that sermons use often and the Bible of 1909 spells differently. "Jehová"
# stays where the English says "Jehovah" (ASV), and becomes "Señor" where it says "Lord".
_PLACES_TODAY = {
    "Jerusalem": "Jerusalén",
    "Beth-lehem": "Belén",
    "Bethlehem": "Belén",
    "Nazareth": "Nazaret",
}
_OLD_PLACE = re.compile(rf"\b({'|'.join(_PLACES_TODAY)})\b")
_LORD = re.compile(r"(?P<begin>^|[.:!?¿¡]\s*)?(?P<before>\b(?:a|de|oh|A|De|Oh) )?\bJehová\b")
_LORD_CALLED = re.compile(r", Jehová(?=[,;:?!])")
_LORD_AFTER = {"a ": "al Señor", "de ": "del Señor", "oh ": "oh Señor", "": "el Señor"}
# The Psalms of 1909 begin with a heading; the text after it begins in capitals.
_HEADING = re.compile(
    r"^(?:Al Músico|Salmo|Cántico|Canción|Masquil|Michtham?|Oración|Sigaión|Alabanza)"
    r".*?[.:] ([¿¡]?)((?:[A-ZÁÉÍÓÚÑ] )?[A-ZÁÉÍÓÚÑ]{2,})\b"
)
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\w\s']+")


MIX_SHARES: Mapping[str, float] = {
    "mix-bible": 1.0,
    "mix-general": 1.0,
    "mix-sermon": 2.0,
    "mix-glossary": 2.0,
}
"""Shares for a mix made by `learn mix`: a church's own pairs count twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterances:
    """How sentences are joined into utterances and cut into prefixes."""

    join_share: float = 0.0
    """The share of short pairs that are followed by others."""
    most: int = 2
    """The maximum number of sentences in an utterance."""
    prefix_share: float = 0.0
    """The share of pairs that are cut short in both languages, as a partial is."""


SENTENCES = Utterances()
"""Utterances of one whole sentence."""


def mixed_pass(
    split: Split,
    rng: random.Random,
    utterances: Utterances = SENTENCES,
    reference_count: int = REFERENCES,
    shares: Mapping[str, float] = SHARES,
) -> list[tuple[str, str]]:
    """Return one pass over a split; a split that is already mixed stays unchanged."""
    if split.is_mixed:
        return one_pass(split.training, rng, SENTENCES, 0, MIX_SHARES)
    return one_pass(split.training, rng, utterances, reference_count, shares, target=split.target)


def one_pass(
    training: Mapping[str, Sequence[Pair]],
    rng: random.Random,
    utterances: Utterances = SENTENCES,
    reference_count: int = REFERENCES,
    shares: Mapping[str, float] = SHARES,
    *,
    target: str = SPANISH,
) -> list[tuple[str, str]]:
    """Return one shuffled pass, (English, `target`), over the sources and some Bible references.

    `shares` tells how often a source is used."""
    chosen: list[tuple[str, str]] = []
    for source, share in shares.items():
        pairs = training.get(source, ())
        whole, part = int(share), share - int(share)
        drawn = [*pairs] * whole + rng.sample(list(pairs), int(part * len(pairs)))
        rng.shuffle(drawn)
        texts = [(pair.en, of_today(pair, target)) for pair in drawn]
        if source in SHORT_SOURCES:
            texts = list(_join(texts, utterances, rng))
        chosen += [_vary(english, spanish, rng) for english, spanish in texts]
    places = practice(reference_count, rng, target)
    chosen += [_vary(pair.en, pair.target, rng) for pair in places]
    if utterances.prefix_share:
        chosen = [_begun(*pair, utterances.prefix_share, rng) for pair in chosen]
    rng.shuffle(chosen)
    return chosen


def practice(count: int, rng: random.Random, target: str) -> list[Pair]:
    """Return sentences with a Bible reference, in English and `target`."""
    if target == SPANISH:
        return references.references(count, rng)
    return references_french.references(count, rng)


def of_today(pair: Pair, target: str) -> str:
    """Return the translation of a pair for training: Louis Segond's French needs no changes."""
    return today(pair.en, pair.target) if target == SPANISH else pair.target


def today(english: str, spanish: str) -> str:
    """Return the Spanish with a few modern words: `Jerusalén`, `el Señor` for `the Lord`."""
    spanish = _HEADING.sub(lambda m: m[1] + m[2].capitalize(), spanish)
    spanish = _OLD_PLACE.sub(lambda m: _PLACES_TODAY[m[0]], spanish)
    if "Jehovah" in english:
        return spanish
    return _LORD.sub(_lord, _LORD_CALLED.sub(", Señor", spanish))


def _lord(match: re.Match[str]) -> str:
    before = match["before"] or ""
    words = _LORD_AFTER[before.lower()]
    if match["begin"] is not None or before[:1].isupper():
        words = words[0].upper() + words[1:]
    return (match["begin"] or "") + words


def _join(
    texts: Sequence[tuple[str, str]], utterances: Utterances, rng: random.Random
) -> Iterator[tuple[str, str]]:
    waiting = iter(texts)
    for first in waiting:
        more = rng.randrange(1, utterances.most) if rng.random() < utterances.join_share else 0
        together = [first, *itertools.islice(waiting, more)]
        english, spanish = map(" ".join, zip(*together, strict=True))
        yield english, spanish


def _begun(english: str, spanish: str, share: float, rng: random.Random) -> tuple[str, str]:
    """Return the beginning of a pair with chance `share`; else, or if short, the whole pair."""
    cut = prefix(Example(source=english, target=spanish, part=""), rng)
    return (cut.source, cut.target) if cut and rng.random() < share else (english, spanish)


def _vary(english: str, spanish: str, rng: random.Random) -> tuple[str, str]:
    english, spanish = _renumber(english, spanish, rng)
    if rng.random() < NAME_SHARE:
        english, spanish = _rename(english, spanish, rng)
    if rng.random() < PLAIN_SHARE:
        english = _WORD.sub(" ", english).lower() if rng.random() < 0.5 else english.lower()
        english = " ".join(english.split())
    return english, spanish


def _rename(english: str, spanish: str, rng: random.Random) -> tuple[str, str]:
    for name, others in (("Tom", MEN), ("Mary", WOMEN), ("John", MEN), ("Boston", PLACES)):
        pattern = re.compile(rf"\b{name}\b")
        if pattern.search(english) and pattern.search(spanish):
            new = rng.choice(others) if rng.random() < 0.7 else invented_name(rng)
            english, spanish = pattern.sub(new, english), pattern.sub(new, spanish)
    return english, spanish


def _renumber(english: str, spanish: str, rng: random.Random) -> tuple[str, str]:
    """Change the digits in half of the pairs that have the same numbers on both sides."""
    numbers = _DIGITS.findall(english)
    if not numbers or sorted(numbers) != sorted(_DIGITS.findall(spanish)) or rng.random() < 0.5:
        return english, spanish
    if "1" in numbers:  # the noun after "1" is singular
        return english, spanish
    new = {n: str(rng.randrange(max(2, 10 ** (len(n) - 1)), 10 ** len(n))) for n in numbers}
    english, spanish = (_DIGITS.sub(lambda m: new[m[0]], text) for text in (english, spanish))
    return english, spanish


def invented_name(rng: random.Random) -> str:
    """Return a pronounceable name that is in no corpus, so that the model must copy it."""
    parts = [rng.choice(STARTS) + rng.choice(VOWELS) for _ in range(rng.choice((1, 2, 2)))]
    return ("".join(parts) + rng.choice(ENDS)).capitalize()

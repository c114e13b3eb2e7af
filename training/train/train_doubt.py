"""Fit the judge of finals (church.fidelity.doubt) to translations made wrong by rule.

    python -m training.train.train_doubt            writes models/doubt/weights.json
    python -m training.train.train_doubt --check    only says how good the one there is

Good translations are the sermon phrases and verses of the Bibles that ship; of each one is spoilt:
another sentence's, the source itself, the first half, without a word, with a "no" too many or too
few, with another word for a content word; and where there are numbers that church truth does not
put right by itself, with other numbers. Each goes the way of a final, so
that what church truth puts right is no error. A third of the sentences, drawn by a fixed seed, is
held out. What errors made by rule cannot show gets no weight: the final translator's own
certainty, and how sure the recognizer was of its words. `learn judge` fits to people's decisions.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from rich.progress import track

from pipeline.church.fidelity.doubt import DoubtModel, Evidence, dumped, of_texts, shipped
from pipeline.church.fidelity.finals import checked
from pipeline.church.fidelity.given_text import given
from pipeline.church.scripture import editions
from pipeline.config.schema import Church
from pipeline.core.resources import bundled
from pipeline.dictionary.glossary import Glossary, compile_glossary, parse_terms
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.learning.fitting import auc, fit
from pipeline.records.quality import agreement
from scripts.support.captions import caption

WEIGHTS = bundled("models", "doubt", "weights.json")
_PHRASES = Path(__file__).parents[1] / "data" / "sermon_phrases.tsv"
_SEED = 20261122
_WORDS = (5, 22)
_NUMBERS = (
    "dos tres cuatro cinco seis siete ocho nueve diez once doce quince veinte treinta cuarenta "
    "cincuenta sesenta setenta ochenta noventa cien mil"
)
_NUMBER = "another number"
"""It is made of every sentence that allows it: most have one number, which is put right."""

Pair = tuple[str, str]
Spoil = Callable[[Pair, Sequence[Pair], random.Random], str]


@dataclass(frozen=True, slots=True)
class Example:
    """One translation as the judge sees it, and what was done to it."""

    evidence: Evidence
    kind: str
    """"" where it is right."""
    is_held_out: bool


def _another(pair: Pair, pairs: Sequence[Pair], rng: random.Random) -> str:
    return rng.choice([other for other in rng.sample(pairs, 3) if other != pair])[1]


def _untranslated(pair: Pair, _pairs: Sequence[Pair], _rng: random.Random) -> str:
    return pair[0]


def _half(pair: Pair, _pairs: Sequence[Pair], _rng: random.Random) -> str:
    words = pair[1].split()
    return " ".join(words[: len(words) // 2])


def _without_word(pair: Pair, _pairs: Sequence[Pair], rng: random.Random) -> str:
    words = pair[1].split()
    long = [at for at, word in enumerate(words) if len(word) > 4]
    gone = rng.choice(long) if long else 0
    return " ".join(words[:gone] + words[gone + 1 :])


def _negated(pair: Pair, _pairs: Sequence[Pair], _rng: random.Random) -> str:
    without = re.sub(r"\b[Nn]o ", "", pair[1], count=1)
    return without if without != pair[1] else re.sub(r"^(\S+) ", r"\1 no ", pair[1])


def _other_number(pair: Pair, _pairs: Sequence[Pair], rng: random.Random) -> str:
    def other(word: re.Match[str]) -> str:
        new = rng.choice([each for each in _NUMBERS.split() if each != word[0].lower()])
        return new.capitalize() if word[0][0].isupper() else new

    spoilt = re.sub(r"\d", lambda digit: str((int(digit[0]) + 3) % 10), pair[1])
    return re.sub(rf"\b({_NUMBERS.replace(' ', '|')})\b", other, spoilt, flags=re.IGNORECASE)


def _other_word(pair: Pair, pairs: Sequence[Pair], rng: random.Random) -> str:
    words = pair[1].split()
    long = [at for at, word in enumerate(words) if len(word) > 4]
    others = [word for word in rng.choice(pairs)[1].split() if len(word) > 4]
    if long and others:
        words[rng.choice(long)] = rng.choice(others)
    return " ".join(words)


SPOILS: dict[str, Spoil] = {
    "another sentence": _another,
    "not translated": _untranslated,
    "half of it": _half,
    "a word missing": _without_word,
    "a no too many or too few": _negated,
    _NUMBER: _other_number,
    "another word": _other_word,
}


def pairs(count: int) -> list[Pair]:
    """Return right translations: the sermon phrases, and as many verses."""
    rng = random.Random(_SEED)
    lines = _PHRASES.read_text(encoding="utf-8").splitlines()
    phrases = [(en, es) for en, _, es in (line.partition("\t") for line in lines) if es]
    english, spanish = editions.load("nheb").verses, editions.load("rv1909").verses
    verses = [(english[place], spanish[place]) for place in sorted(english.keys() & spanish.keys())]
    found: list[Pair] = []
    for part in (phrases, verses):
        fitting = [pair for pair in part if _WORDS[0] <= len(pair[0].split()) <= _WORDS[1]]
        found += rng.sample(fitting, min(len(fitting), count // 2))
    rng.shuffle(found)
    return found


def examples(chosen: Sequence[Pair]) -> list[Example]:
    """Return each right translation and a spoilt one, as the judge sees them."""
    rng = random.Random(_SEED)
    marian = Marian(bundled("models", "starter", "marian"))
    marian.load()
    found: list[Example] = []
    kinds = [kind for kind in SPOILS if kind != _NUMBER]
    for number, pair in enumerate(track(chosen, description="Judging")):
        is_held_out = number % 3 == 0
        draft = marian.translate(pair[0]).text
        right = _as_final(pair[0], pair[1])
        found.append(Example(_evidence(marian, pair[0], right, draft), "", is_held_out))
        turn = number // 3 % len(kinds)  # so that each kind comes among those held out
        spoilt = [
            (kind, _as_final(pair[0], SPOILS[kind](pair, chosen, rng)))
            for kind in (*kinds[turn:], *kinds[:turn], _NUMBER)
        ]
        wrong = [(kind, text) for kind, text in spoilt if text and text != right]
        for kind, text in wrong[:1] + [each for each in wrong[1:] if each[0] == _NUMBER]:
            judged = _evidence(marian, pair[0], text, draft)
            found.append(Example(judged, kind, is_held_out))
    return found


@cache
def _glossary() -> Glossary:
    entries = bundled("dictionary", "glossary", "en-es.toml").read_text(encoding="utf-8")
    return compile_glossary(parse_terms(entries, "en-es.toml"), "es")


def _as_final(source: str, target: str) -> str:
    return checked(caption(1, source, target, final=True), Church()).text


def _evidence(marian: Marian, source: str, target: str, draft: str) -> Evidence:
    checks = checked(caption(1, source, target, final=True), Church(), _glossary()).checks
    source = given(source, "en")  # as the translator got it
    mean, least = marian.score(source, target)
    return Evidence(
        quick_mean=mean,
        quick_least=least,
        agreement=agreement(draft, target),
        **of_texts(source, target, checks),
    )


def report(model: DoubtModel, held_out: Sequence[Example]) -> float:
    """Print how well a judge tells right from wrong, by kind; return it for all."""
    scores = [model.probability(example.evidence) for example in held_out]
    whole = auc(scores, [bool(example.kind) for example in held_out])
    right = [score for score, example in zip(scores, held_out, strict=True) if not example.kind]
    false = sum(score >= model.threshold for score in right) / len(right)
    print(f"held out: {len(held_out)} translations, AUC {whole:.3f}; "
          f"{false:.1%} of the right ones are called doubtful")  # fmt: skip
    alone = [
        model.probability(replace(e.evidence, quick_mean=None, quick_least=None, agreement=None))
        for e in held_out
    ]
    without = auc(alone, [bool(example.kind) for example in held_out])
    called = sum(p >= model.threshold for p, e in zip(alone, held_out, strict=True) if not e.kind)
    print(f"  by rules and length alone: AUC {without:.3f}, {called / len(right):.1%} of the right")
    for kind in SPOILS:
        wrong = [s for s, e in zip(scores, held_out, strict=True) if e.kind == kind]
        if wrong:
            each = auc([*right, *wrong], [False] * len(right) + [True] * len(wrong))
            caught = sum(score >= model.threshold for score in wrong) / len(wrong)
            print(f"  {kind} ({len(wrong)}): AUC {each:.3f}, {caught:.0%} called doubtful")
    return whole


def main(argv: Sequence[str] | None = None) -> int:
    """Fit or check; return 0 if the judge is good enough."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--pairs", type=int, default=1000, help="right translations (1000)")
    parser.add_argument("--check", action="store_true", help="only judge the one that ships")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where it is written")
    arguments = parser.parse_args(argv)
    made = examples(pairs(arguments.pairs))
    learnt = [example for example in made if not example.is_held_out]
    model = shipped() if arguments.check else fitted(learnt)
    whole = report(model, [example for example in made if example.is_held_out])
    if not arguments.check:
        arguments.out.write_text(dumped(model), encoding="utf-8")
        print(f"written: {arguments.out}")
    return 0 if whole >= 0.9 else 1


def fitted(learnt: Sequence[Example], calm: float = 0.1) -> DoubtModel:
    """Fit a judge that calls a share `calm` of the right translations doubtful."""
    model = fit([example.evidence for example in learnt], [bool(e.kind) for e in learnt])
    right = sorted(model.probability(e.evidence) for e in learnt if not e.kind)
    return replace(model, threshold=right[int(len(right) * (1 - calm))])


if __name__ == "__main__":
    sys.exit(main())

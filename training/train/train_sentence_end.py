"""Fit the predictor of a sentence's end: languages/endings/CODE.json, from sentences as text.

    python -m training.train.train_sentence_end --out languages/endings

Sentences are the English, Spanish and French ones of church_talk.tsv and modern_speech.tsv. A whole
one is over; one that is cut where a speaker may pause (behind a comma, before a link word,
seldom elsewhere) goes on. A quarter of both begins in the middle, as what follows a cut does.
Sparse logistic regression by proximal AdaGrad (Duchi et al. 2011); every tenth case is held out.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.core.resources import bundled
from pipeline.text.sentences import features
from pipeline.text.words import word_set, words

LANGS = ("en", "es", "fr")
_FILES = ("church_talk.tsv", "modern_speech.tsv")
_LEAST = {"last": 8, "pair": 8, "first": 15, "before": 15, "count": 1}
"""A feature is kept if at least this many cases have it."""
_L1, _L2, _RATE, _ROUNDS = 1.5, 0.02, 0.5, 150
_MIDDLE = 0.25
_LINKS = {
    "en": """and but or because that who which when where if so for of in on with to from by through
    into until while as than about at after before under over not like""",
    "es": """y e o u pero porque que quien cuando donde si para por de del en con sin a al sobre
    hasta mientras como entre desde antes contra ni""",
    "fr": """et ou mais parce que qu qui quand où si pour de du des en dans avec sans à au aux sur
    jusque comme par avant contre ni""",
}


def sentences(lang: str) -> Iterator[str]:
    """Yield the sentences of a language."""
    for name in _FILES:
        for line in (
            Path(__file__).parents[1].joinpath("data", name).read_text("utf-8").splitlines()
        ):
            columns = line.split("\t")
            if not line.startswith("#") and len(columns) == len(LANGS):
                yield columns[LANGS.index(lang)]


def cases(
    text: Iterable[str], lang: str, chance: random.Random
) -> Iterator[tuple[list[str], bool]]:
    """Yield the words spoken up to a pause, and whether their sentence goes on."""
    links = word_set(" ".join(_LINKS[lang].split()))
    for sentence in text:
        parts = [(word, part) for part in sentence.split() for word in words(part)]
        said = [word for word, _ in parts]
        if len(said) < 2:
            continue
        weights = {
            at: 3.0 if parts[at - 1][1][-1] in ",;:—" else 2.0 if said[at] in links else 0.45
            for at in range(2, len(said) - 1)
            if parts[at - 1][1][-1] not in ".?!"
        }
        cuts = (
            chance.choices(list(weights), list(weights.values()), k=1 + (len(said) > 11))
            if weights
            else []
        )
        for end in (*cuts, len(said)):
            middle = chance.random() < _MIDDLE
            yield said[chance.randrange(max(1, end - 1)) if middle else 0 : end], end < len(said)


def fit(found: list[tuple[list[str], bool]]) -> tuple[float, dict[str, float], float]:
    """Return bias, weights, and the area under the curve of the held-out cases."""
    named = [list(features(said)) for said, _ in found]
    counts = Counter(each for case in named for each in case)
    kept = sorted(each for each, count in counts.items() if count >= _LEAST[each.split()[0]])
    place = {each: at for at, each in enumerate(kept)}
    column = np.array([place[each] for case in named for each in case if each in place])
    row = np.repeat(np.arange(len(named)), [sum(e in place for e in case) for case in named])
    labels = np.array([goes_on for _, goes_on in found], float)
    is_held = np.arange(len(found)) % 10 == 0
    weights, bias, squares, squared = np.zeros(len(kept)), 0.0, np.full(len(kept), 1e-6), 1e-6
    for _ in range(_ROUNDS):
        error = (1 / (1 + np.exp(-_logits(weights, bias, row, column, labels))) - labels) * ~is_held
        slope = np.bincount(column, error[row], minlength=len(kept))
        squares += slope**2
        step = _RATE / np.sqrt(squares)
        weights -= step * (slope + _L2 * weights)
        weights = np.sign(weights) * np.maximum(0, np.abs(weights) - step * _L1)
        squared += error.sum() ** 2
        bias -= _RATE / np.sqrt(squared) * error.sum()
    area = auc(_logits(weights, bias, row, column, labels)[is_held], labels[is_held])
    return bias, {each: float(weights[at]) for each, at in place.items()}, area


def auc(scores: NDArray[np.float64], told: NDArray[np.float64]) -> float:
    """Return how often a case that goes on has a higher score than one that is over."""
    rank = np.empty(len(scores))
    rank[np.argsort(scores)] = np.arange(1, len(scores) + 1)
    on = told.sum()
    return float((rank[told == 1].sum() - on * (on + 1) / 2) / (on * (len(told) - on)))


def _logits(
    weights: NDArray[np.float64],
    bias: float,
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    told: NDArray[np.float64],
) -> NDArray[np.float64]:
    return np.asarray(np.bincount(row, weights[column], minlength=len(told)) + bias)


def main() -> int:
    """Fit every language; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=bundled("languages", "endings"))
    out: Path = parser.parse_args().out
    out.mkdir(exist_ok=True)
    for lang in LANGS:
        bias, weights, area = fit(list(cases(sentences(lang), lang, random.Random(3))))
        of = {each: round(weight, 2) for each, weight in weights.items() if abs(weight) > 0.05}
        lines = ",\n".join(
            f"{json.dumps(each, ensure_ascii=False)}: {of[each]}" for each in sorted(of)
        )
        (out / f"{lang}.json").write_text(
            f'{{"bias": {bias:.2f}, "of": {{\n{lines}\n}}}}\n', "utf-8"
        )
        print(f"{lang}: {len(of)} weights, AUC of what is held out {area:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

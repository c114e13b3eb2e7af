"""The usual translations of each word, counted in pairs of sentences.

IBM model 1 (Brown et al. 1993): each word of the target is explained by one word of the source, and
expectation maximization finds which one. The coverage of a final is read off this table
(pipeline/church/fidelity/coverage.py).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pipeline.church.fidelity.coverage import source_stems, target_stems
from training.data.corpora import Pair

_ROUNDS = 6
_NULL = ""
"""The source word of target words that no other word explains, such as articles."""
_LEAST = 0.02
"""Lowest probability of a translation that counts."""
_FEW = 6
"""A word of fewer sentences is left out: too few to tell translations from neighbours."""
_COMMON = 0.02
"""A target word of a larger share of the sentences stands beside every word."""
_CONTENT = 0.5
"""Least probability of all translations of a word together."""


def _numbered(texts: list[set[str]]) -> tuple[list[str], list[list[int]]]:
    names = sorted(set().union(*texts))
    number = {name: at for at, name in enumerate(names)}
    return names, [[number[stem] for stem in text] for text in texts]


def lexicon(pairs: Iterable[Pair]) -> str:
    """Return the file of the lexicon: a line for each stem, with its translations.

    The digit behind a translation is its share of them, 1 to 9.
    """
    pairs = list(pairs)
    sources, said = _numbered([{_NULL, *source_stems(pair.en)} for pair in pairs])
    targets, written = _numbered([set(target_stems(pair.target)) for pair in pairs])
    # One row for each two words of a sentence: (source, target), and which token it explains.
    links = np.array([(s, t) for a, b in zip(said, written, strict=True) for t in b for s in a])
    sizes = [len(a) for a, b in zip(said, written, strict=True) for _ in b]
    token = np.repeat(np.arange(len(sizes)), sizes)
    unique, which = np.unique(links[:, 0] * len(targets) + links[:, 1], return_inverse=True)
    source, target = np.divmod(unique, len(targets))
    probability = np.ones(len(unique))
    for _ in range(_ROUNDS):
        weight = probability[which]
        weight /= np.bincount(token, weight)[token]
        counts = np.bincount(which, weight)
        probability = counts / np.bincount(source, counts)[source]
    occurs = np.bincount(np.concatenate([np.array(a, int) for a in said]))
    beside = np.bincount(np.concatenate([np.array(b, int) for b in written])) / len(pairs)
    keep = (probability >= _LEAST) & (occurs[source] >= _FEW) & (beside[target] < _COMMON)
    found: dict[str, dict[str, float]] = {}
    for at in np.flatnonzero(keep):
        found.setdefault(sources[source[at]], {})[targets[target[at]]] = float(probability[at])
    found.pop(_NULL, None)
    lines = [
        f"{stem} {shares}\n"
        for stem, usual in sorted(found.items())
        if sum(usual.values()) >= _CONTENT and (shares := _shares(usual))
    ]
    return "".join(lines)


def _shares(usual: dict[str, float]) -> str:
    whole = sum(usual.values())
    tenths = {stem: min(9, round(10 * share / whole)) for stem, share in usual.items()}
    ordered = sorted(tenths.items(), key=lambda each: (-each[1], each[0]))
    return " ".join(f"{stem}{tenth}" for stem, tenth in ordered if tenth)

"""chrF, BLEU and speed of a translator on the held-out pairs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import sacrebleu

from training.data import corpora

VERSES = 400
SEED = 7

Translate = Callable[[str], tuple[str, int]]
"""English -> its translation and the number of tokens produced for it."""


def held_out(split: corpora.Split) -> dict[str, tuple[corpora.Pair, ...]]:
    """Return all held-out Tatoeba pairs, up to VERSES verses of held-out books, and preaching."""
    count = min(VERSES, len(split.held_out_books))
    verses = tuple(random.Random(SEED).sample(split.held_out_books, count))
    return {"Tatoeba": split.held_out_tatoeba, "books": verses, "sermon": split.sermon_test}


def score(name: str, translate: Translate, split: corpora.Split) -> Iterator[tuple[str, str, str]]:
    """Yield rows of the table: quality on each set, tokens per second over all."""
    produced, spent_s = 0, 0.0
    for where, pairs in held_out(split).items():
        if not pairs:
            continue
        began = time.perf_counter()
        answers = [translate(pair.en) for pair in pairs]
        spent_s += time.perf_counter() - began
        produced += sum(tokens for _, tokens in answers)
        texts, wanted = [text for text, _ in answers], [[pair.target for pair in pairs]]
        chrf = sacrebleu.corpus_chrf(texts, wanted).score
        bleu = sacrebleu.corpus_bleu(texts, wanted).score
        label = f"held-out {split.named(where)}, {len(pairs)} pairs"
        yield name, f"chrF, {label}", f"{chrf:.1f}"
        yield name, f"BLEU, {label}", f"{bleu:.1f}"
    yield name, split.named("speed"), f"{produced / spent_s:.0f} tokens/s"

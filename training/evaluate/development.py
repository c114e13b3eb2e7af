"""A log line on a translator's quality on a few held-out pairs."""

from __future__ import annotations

import sacrebleu

from training.data import corpora

SENTENCES = 30


class Development:
    """The first held-out pairs of Tatoeba and of the books. No choice depends on them."""

    def __init__(self, split: corpora.Split) -> None:
        parts = {"Tatoeba": split.held_out_tatoeba, "books": split.held_out_books}
        self._parts = {name: pairs[:SENTENCES] for name, pairs in parts.items() if pairs}
        pairs = [pair for part in self._parts.values() for pair in part]
        self.pairs = [(pair.en, pair.target) for pair in pairs]
        self.english = [pair.en for pair in pairs]

    def line(self, loss: float, answers: list[str]) -> str:
        """Return the chrF of each part and a few of `answers`, which follow `english` in order."""
        shown = [f"loss {loss:.3f}, chrF"]
        begin = 0
        for name, part in self._parts.items():
            end = begin + len(part)
            score = sacrebleu.corpus_chrf(
                answers[begin:end], [[pair.target for pair in part]]
            ).score
            shown.append(f"{name} {score:.1f}")
            begin = end
        return " ".join(shown) + ": " + " | ".join([*answers[:3], answers[-1]])

"""Subwords as llama.cpp and SentencePiece merge them, and the pieces that some texts need.

Method: greedy byte-pair encoding by score (Sennrich et al., arXiv:1508.07909; the `llama`
tokenizer of llama.cpp). A smaller vocabulary splits a word in the same way only if it keeps every
intermediate piece, not only the final ones.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

SPACE = "\u2581"


def words_of(text: str) -> list[str]:
    """Return the words of a text, each with the space before it: `a b` gives `a` and `▁b`."""
    first, *rest = text.split() or [""]
    return [first, *(SPACE + word for word in rest)]


def merge(word: str, scores: Mapping[str, float]) -> tuple[list[str], set[str]]:
    """Return the pieces of a word, and all pieces that the merges made, intermediate ones included.

    `scores` holds the allowed pieces. The neighbours whose joined piece has the highest score merge
    first; of equals, the leftmost.
    """
    symbols = list(word)
    after, before = [*range(1, len(symbols)), -1], [*range(-1, len(symbols) - 1)]
    waiting: list[tuple[float, int, int, str]] = []
    made: set[str] = set()

    def offer(left: int) -> None:
        if left < 0 or after[left] < 0:
            return
        joined = symbols[left] + symbols[after[left]]
        if joined in scores:
            heapq.heappush(waiting, (-scores[joined], left, after[left], joined))

    for index in range(len(symbols)):
        offer(index)
    while waiting:
        _, left, right, joined = heapq.heappop(waiting)
        # One of the two may have merged with another neighbour since.
        if after[left] != right or symbols[left] + symbols[right] != joined:
            continue
        symbols[left], symbols[right] = joined, ""
        made.add(joined)
        after[left] = after[right]
        if after[right] >= 0:
            before[after[right]] = left
        after[right] = -1
        offer(before[left])
        offer(left)
    return [symbol for symbol in symbols if symbol], made


def needed(
    words: Mapping[str, int],
    scores: Mapping[str, float],
    at_least: int,
    on_word: Callable[[int, int], None],
) -> set[str]:
    """Return the pieces that `words`, with the count of each, need `at_least` so many times.

    Intermediate pieces and single characters count as often as final pieces. `on_word` gets the
    number of words done and their total.
    """
    count: Counter[str] = Counter()
    for done, (word, times) in enumerate(words.items()):
        final, made = merge(word, scores)
        for piece in {*final, *made, *word} & scores.keys():
            count[piece] += times
        if done % 1000 == 0:
            on_word(done, len(words))
    return {piece for piece, times in count.items() if times >= at_least}


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Return how often each word occurs, with the space before it."""
    return Counter(word for text in texts for word in words_of(text))

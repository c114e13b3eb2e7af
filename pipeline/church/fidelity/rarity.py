"""How well known the words of a sentence are: translators err most in sentences of rare words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from pipeline.dictionary.store import known_words

# Neither names nor the first word of a sentence: both have a capital letter.
_WORD = re.compile(r"(?<![\w'])[a-z][a-z']+")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")
_MOST = 7


def rarity(text: str, lang: str) -> float | None:
    """Return how rare the rarest word of a source text is, from 0 (frequent) to 7 (unknown).

    It goes by what the starters have learnt from: a step more is half as many sentences. None in a
    language whose words nobody has counted.
    """
    if lang != "en":
        return None
    known = known_words(lang)
    words = _WORD.findall(text.replace("’", "'"))
    return float(max((_MOST - known.get(word, 0) for word in words), default=0))


def is_unknown(word: str, lang: str) -> bool:
    """Whether the starters have met a source word in one sentence at most.

    False in a language whose words nobody has counted.
    """
    return lang == "en" and word.lower() not in known_words(lang)


def counted(texts: Iterable[str], verses: Iterable[str] = ()) -> str:
    """Return the file of known words: line n has those of 2**n to 2**(n + 1) texts.

    The first line has the names of `verses` too, from which the starters learn as well.
    """
    counts = Counter(word for text in texts for word in set(_WORD.findall(text.lower())))
    for name in {name.lower() for verse in verses for name in _NAME.findall(verse)}:
        counts[name] = max(counts[name], 2)
    steps: list[list[str]] = [[] for _ in range(_MOST)]
    for word, count in sorted(counts.items()):
        if count > 1:
            steps[min(_MOST, count.bit_length() - 1) - 1].append(word)
    return "".join(f"{' '.join(words)}\n" for words in steps)

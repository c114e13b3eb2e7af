"""Prompt contexts before a transcript: words to listen for, or earlier speech."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]{3,}")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}")
MAX_WORDS = 45


class Contexts:
    """Draws contexts from the words and sentences of the training texts.

    `usual` is a list that the daemon always gives, such as its dictionary's rare words.
    """

    def __init__(self, texts: Iterable[str], usual: str = "") -> None:
        self.texts = list(texts)
        self.usual = usual
        names = Counter(name for text in self.texts for name in _NAME.findall(text))
        words = Counter(word for text in self.texts for word in _WORD.findall(text))
        self.rare = [name for name in names if names[name] > 1]
        self.rare += [word for word in words if len(word) > 7 and words[word] < 40]
        self.counts = words

    def draw(self, text: str, draw: random.Random) -> str:
        """Return a context for this text: the usual one, a sentence, or a list of up to 45 words.

        The list has some of the rarer words of the text, and often none.
        """
        if self.usual and draw.random() < 0.3:
            return self.usual
        if draw.random() < 1 / 6:
            return draw.choice(self.texts)
        own = [word for word in _WORD.findall(text) if self.counts[word] < 60]
        chosen = draw.sample(own, min(len(own), draw.choice((0, 0, 1, 1, 2, 3))))
        count = draw.choice((draw.randint(1, 8), draw.randint(9, MAX_WORDS), MAX_WORDS))
        chosen += draw.choices(self.rare, k=max(0, count - len(chosen)))
        draw.shuffle(chosen)
        return ", ".join(chosen)

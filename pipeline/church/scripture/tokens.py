"""Words and digits of a text with their places, as references and numbers are read from. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from pipeline.text.words import plain

# Thousands are parted by one sign ("1,000"); "3:16" and "8,28" are two numbers with a sign between.
# The French article of "l'Apocalypse" and "d'Exode" is a word of its own.
_TOKEN = re.compile(
    r"\d{1,3}(?:[.,]\d{3})+(?![\d])|\d+|\b[ld]['’](?=[^\W\d_])|[^\W\d_]+(?:['’][^\W\d_]+)*",
    re.IGNORECASE,
)
_GLUE = re.compile(r"[\s\-‐‑]+")


# No slots: cached_property keeps its value in the instance's __dict__.
@dataclass(frozen=True)
class Tokens:
    """A text in words and digits."""

    text: str

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where each token stands, in characters of the text."""
        return tuple(match.span() for match in _TOKEN.finditer(self.text))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Each token as it is compared; digits without the signs that part thousands."""
        words = (self.text[start:end] for start, end in self.spans)
        return tuple(re.sub(r"[.,]", "", w) if w[0].isdigit() else plain(w) for w in words)

    def __len__(self) -> int:
        return len(self.spans)

    def word(self, at: int) -> str:
        """Return a token as it is compared, "" where the text has ended."""
        return self.words[at] if 0 <= at < len(self.spans) else ""

    def gap(self, at: int) -> str:
        """Return what stands between a token and the next one; behind the last one the rest."""
        start = self.spans[at][1]
        return self.text[start : self.spans[at + 1][0]] if at + 1 < len(self) else self.text[start:]

    def is_joined(self, at: int) -> bool:
        """Whether only space or a hyphen parts a token from the next one."""
        return 0 <= at < len(self) - 1 and _GLUE.fullmatch(self.gap(at)) is not None

    def is_capital(self, at: int) -> bool:
        """Whether a token begins with a capital letter."""
        return self.text[self.spans[at][0]].isupper()

    def piece(self, first: int, end: int) -> str:
        """Return the text from one token up to, not including, another."""
        return self.text[self.spans[first][0] : self.spans[end - 1][1]]

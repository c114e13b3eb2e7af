"""Score a translation with other words in it, with a model in llama.cpp.

The cache up to the first different token is kept: only the tokens after it are evaluated again,
all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipeline.church.fidelity.term_slots import words_in
from pipeline.core.terms import WantedTerm
from pipeline.engines.llama_cpp import llama
from pipeline.engines.output import one_line
from pipeline.text.commit_policy import common_beginning


@dataclass(slots=True)
class AnswerScorer:
    """Compares texts with an answer that the model has just given to a prompt.

    Methods raise LlamaError.
    """

    model: llama.Llama
    prompt: Sequence[int]
    answer: Sequence[int]
    encode: Callable[[str], list[int]]
    """Returns the tokens of a text as an answer."""
    check: Callable[[], None]
    """Called between evaluations; may raise."""
    known: list[float] = field(default_factory=list)
    """The log-probabilities of the answer's tokens."""

    def weights(self, text: str, term: WantedTerm) -> list[float]:
        """Return 1 for the word of the answer whose place suits the term best, and 0 for others.

        The best place is where the term's first token is likeliest. `text` is the answer.
        """
        words = words_in(text)
        begins = self._word_of_token(words)
        firsts = sorted(
            # With and without a space: a word's first token depends on it.
            {self.encode(said)[0] for form in term.forms for said in (form, f" {form}")}
        )
        best, chosen = -math.inf, -1

        def look(place: int, likely: Sequence[float]) -> None:
            nonlocal best, chosen
            if place in begins and max(likely) > best:
                best, chosen = max(likely), begins[place]

        self.known = self._read(0, self.answer, firsts, look)
        return [float(index == chosen) for index in range(len(words))]

    def score(self, texts: Sequence[str]) -> list[float]:
        """Return the mean log-probability of each text as the answer."""
        found = (self.logprobs(self.encode(text)) for text in texts)
        return [sum(logprobs) / max(1, len(logprobs)) for logprobs in found]

    def logprobs(self, tokens: list[int]) -> list[float]:
        """Return the log-probability of each token of another answer."""
        # The common prefix is in the model's cache: only the rest is evaluated.
        kept = min(common_beginning(tokens, self.answer), len(self.known))
        return self.known[:kept] + self._read(kept, tokens, (), lambda *_: None)

    def _read(
        self,
        kept: int,
        tokens: Sequence[int],
        others: Sequence[int],
        look: Callable[[int, Sequence[float]], None],
    ) -> list[float]:
        """Evaluate an answer after its first `kept` tokens; return the log-probabilities.

        `look` gets the index of each token and the log-probability of each of `others` there.
        """
        self.model.prompt([*self.prompt, *tokens[:kept]], self.check)
        found: list[float] = []

        def note(place: int, fed: int) -> None:
            asked = [tokens[place], *others]
            own, *likely = self.model.logprobs(asked, fed)
            found.append(own)
            look(place, likely)

        if kept < len(tokens):
            # The first token is predicted by the token before it, which was fed last.
            note(kept, -1)
        start = kept
        while start < len(tokens) - 1:
            self.check()
            fed = tokens[start : min(start + self.model.room, len(tokens) - 1)]
            if not fed:  # the context is full
                break
            self.model.feed(fed, every=True)
            for index in range(len(fed)):
                note(start + index + 1, index)
            start += len(fed)
        return found

    def _word_of_token(self, words: Sequence[tuple[int, int]]) -> dict[int, int]:
        """Return the indexes of tokens that begin a word, each with the word's index."""
        found: dict[int, int] = {}
        # Bytes are joined before decoding: two tokens may share one character.
        made, length = b"", 0
        for place, token in enumerate(self.answer):
            made += self.model.piece(token)
            until = len(one_line(made.decode(errors="replace")))
            for index, (start, _) in enumerate(words):
                if length <= start < until:
                    found.setdefault(place, index)
            length = until
        return found

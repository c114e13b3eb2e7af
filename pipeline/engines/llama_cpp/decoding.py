"""Decode the answer to a prompt greedily, and find another one.

A bias keeps a draft's tokens where others were likelier. Where that went far, the likelier token
is tried too, and the answer is decoded to its end from there. The first answer serves as its draft,
so most tokens are only checked.

The next tokens are guessed from a draft in the target language: speculative decoding (Leviathan et
al. 2023, "Fast Inference from Transformers via Speculative Decoding") with another translator's
text in place of a small model's guesses. Draft and answer diverge and converge; the place where
they converge is found as in prompt lookup decoding (Saxena 2023): by the last generated tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal

from pipeline.engines.llama_cpp.llama import Llama
from pipeline.text import repetition

_FAR = 2.0
"""Log-probability: from this much on, a likelier token than the draft's is worth another answer.
Measured: docs/decisions/074-several-answers.md."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A token that was likelier than the draft's token at a place, which stayed."""

    token: int
    gap: float
    """How much likelier, in log-probability."""
    place: int = 0


@dataclass(slots=True)
class Written:
    """An answer in tokens, without its end."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    """One for each token, and one for the end token if there is one."""
    rival: Rival | None = None
    """The one with the largest gap, if that is large."""
    drafted: int = 0
    """Number of tokens that the draft predicted."""
    stopped: Literal["end", "length", "loop"] = "length"
    loop: repetition.Loop | None = None

    @property
    def mean(self) -> float:
        """The mean log-probability of the tokens."""
        return sum(self.logprobs[: len(self.tokens)]) / max(1, len(self.tokens))

    @property
    def whole_mean(self) -> float:
        """The mean including the end token."""
        return sum(self.logprobs) / max(1, len(self.logprobs))


@dataclass(frozen=True, slots=True)
class Decoding:
    """The answer of a model to a prompt, which is already evaluated. Methods raise LlamaError."""

    model: Llama
    cap: int
    """The most tokens."""
    repeats: int
    """How often something may occur in a row."""
    guesses: int
    """How many draft tokens are checked at once."""
    ends: Callable[[int], bool]
    """Detects the end token."""
    check: Callable[[], None]
    """Called for each token; may raise."""

    def write(
        self, draft: Draft, grow: Callable[[bytes], None], begun: Written | None = None
    ) -> Written:
        """Decode the answer, or the rest of `begun`, whose tokens are evaluated.

        `grow` gets the bytes of each token.
        """
        written = begun or Written()
        made, least = written.tokens, _FAR
        for token, logprob, foretold, rival in self._greedy(draft, made):
            written.logprobs.append(logprob)
            if rival is not None and rival.gap > least:
                written.rival, least = replace(rival, place=len(made)), rival.gap
            if self.ends(token):
                written.stopped = "end"
                break
            made.append(token)
            written.drafted += foretold
            # Before the text is shown: the token that completes a loop is cut off.
            if loop := repetition.at_end(made, self.repeats):
                written.stopped, written.loop = "loop", loop
                break
            grow(self.model.piece(token))
            # Once per token: a deadline is exceeded by at most the time of one token.
            self.check()
            if len(made) >= self.cap:
                break
        return written

    def branch(self, prompt: Sequence[int], first: Written, end: Sequence[int]) -> Written | None:
        """Return another answer to `prompt`; None if it loops or has no end.

        It diverges from `first` at the rival of `first`. Without a rival there is no other answer.
        `end` are the tokens after an answer.
        """
        rival = first.rival
        if rival is None:
            return None
        place = rival.place
        # The rival's log-probability: the chosen token's plus the gap.
        logprobs = [*first.logprobs[:place], first.logprobs[place] + rival.gap]
        if self.ends(rival.token):
            return Written(list(first.tokens[:place]), logprobs, stopped="end")
        begun = Written([*first.tokens[:place], rival.token], logprobs)
        # The common prefix is in the cache: only the rest is evaluated.
        self.model.prompt([*prompt, *begun.tokens], self.check)
        # The first answer is the draft: after the rival, much of it comes again.
        written = self.write(Draft([*first.tokens, *end]), lambda _: None, begun)
        return written if written.stopped == "end" else None

    def _greedy(
        self, draft: Draft, made: Sequence[int]
    ) -> Iterator[tuple[int, float, bool, Rival | None]]:
        """Yield each token, its log-probability, whether it was guessed, and its rival.

        It is the most likely token, or the draft's token if the bias keeps it. The caller adds it
        to `made`.
        """
        token, logprob, rival = self._choose(draft, place_in(draft.tokens, made))
        while True:
            yield token, logprob, False, rival
            # 1 is for the token itself, which is fed before its guesses.
            most = min(self.guesses, self.model.room - 1)
            place = place_in(draft.tokens, made)
            guesses = draft.tokens[place : place + most] if place is not None else []
            self.model.feed([token, *guesses], every=True)
            for fed, guessed in enumerate(guesses):
                token, logprob, rival = self._choose(draft, (place or 0) + fed, fed)
                if token != guessed:
                    # Tokens after a wrong guess are in the cache and must be removed.
                    self.model.forget(len(guesses) - fed)
                    break
                yield token, logprob, True, rival
            else:
                # The guesses are in `made` by now.
                place = place_in(draft.tokens, made)
                token, logprob, rival = self._choose(draft, place, len(guesses))

    def _choose(
        self, draft: Draft, place: int | None, fed: int = -1
    ) -> tuple[int, float, Rival | None]:
        """Return the next token, its log-probability and its rival.

        `place` is the index of the draft's token, `fed` that of the token before it among the
        tokens fed last.
        """
        guess = None
        # Without a bias a guess only saves time: the most likely token is taken.
        if draft.bias and place is not None and place < len(draft.tokens):
            guess = draft.tokens[place]
        token, logprob, drafted = self.model.best_and(guess, fed)
        if guess is None or place is None or not draft.keeps(place, drafted, logprob):
            return token, logprob, None
        return guess, drafted, Rival(token, logprob - drafted)


_LONGEST = 4
"""This many common tokens are enough to be sure of the place."""


def place_in(draft: Sequence[int], made: Sequence[int]) -> int | None:
    """Return the index in `draft` of the token that follows the last of `made`; None if none does.

    Of several places, the one with the most preceding tokens in common with `made` counts. Among
    equals it is the one nearest to the length of `made`.
    """
    if not made:
        return 0 if draft else None
    best = max(
        range(1, len(draft) + 1),
        key=lambda place: (_common(draft, place, made), -abs(place - len(made))),
        default=0,
    )
    # The best place may have no token in common; then there is no guess.
    return best if best and best < len(draft) and draft[best - 1] == made[-1] else None


def count_within(pieces: Sequence[bytes], beginning: str) -> int:
    """Return how many of a text's pieces lie within its prefix `beginning`."""
    # In bytes, because two pieces may share one character.
    end = len(beginning.encode(errors="replace"))
    return sum(size <= end for size in accumulate(map(len, pieces))) if end else 0


@dataclass(frozen=True, slots=True)
class Bias:
    """How far a draft is preferred to the translator's own choice (0..1; 0 is not at all).

    A draft token is kept if (1 - bias) p(draft) + bias >= (1 - bias) p(best). This is speculative
    decoding with bias (arXiv 2509.21740), where the draft is the text on screen. `standing` is the
    bias for tokens that are committed on screen, `tail` for the tokens after them, `final` for
    tokens that were part of a final (from .5 on they always stay).
    """

    standing: float = 0.0
    tail: float = 0.0
    final: float = 0.0

    def __bool__(self) -> bool:
        """Whether the draft changes anything."""
        return max(self.standing, self.tail, self.final) > 0


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft's tokens, how many leading ones are committed on screen, and their bias."""

    tokens: Sequence[int] = ()
    standing: int = 0
    was_final: int = 0
    """How many of the committed tokens were in a final."""
    bias: Bias = Bias()

    def keeps(self, place: int, drafted: float, best: float) -> bool:
        """Whether the token at a place stays, given its log-probability and the best one's."""
        bias = self.bias.tail
        if place < self.standing:
            bias = self.bias.final if place < self.was_final else self.bias.standing
        # The condition of `Bias`, rearranged.
        return (1 - bias) * (math.exp(best) - math.exp(drafted)) <= bias


def _common(draft: Sequence[int], place: int, made: Sequence[int]) -> int:
    """Return how many tokens before `place` equal those at the end of `made`."""
    count = 0
    while count < min(_LONGEST, place, len(made)) and draft[place - 1 - count] == made[-1 - count]:
        count += 1
    return count

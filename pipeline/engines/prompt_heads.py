"""What a model has made of the heads of prompts: one for each language that takes turns at it."""

from __future__ import annotations

from collections.abc import Sequence

_MOST = 8
"""Heads kept, those asked for last. One takes about 10 MB of a model with 4 billion weights."""


class PromptHeads:
    """Keeps states of a model by the tokens that led to them."""

    def __init__(self) -> None:
        self._states: dict[tuple[int, ...], bytes] = {}

    def __contains__(self, head: Sequence[int]) -> bool:
        return tuple(head) in self._states

    def put(self, head: Sequence[int], state: bytes) -> None:
        """Keep the state behind a head; of too many the one asked for longest ago goes."""
        self._states[tuple(head)] = state
        if len(self._states) > _MOST:
            del self._states[next(iter(self._states))]

    def find(self, tokens: Sequence[int]) -> tuple[list[int], bytes] | None:
        """Return the head that `tokens` begin with, and its state; None if none is kept.

        At least one token is left behind it: the model is asked what follows that.
        """
        for head, state in self._states.items():
            if len(head) < len(tokens) and tuple(tokens[: len(head)]) == head:
                # To the end of the row: the first is the next to go.
                self._states[head] = self._states.pop(head)
                return list(head), state
        return None

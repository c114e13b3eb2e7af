"""Stack of the operators' latest commands, so that each can be taken back. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container
from dataclasses import dataclass

from pipeline.core.errors import ProtocolError

_MOST = 20


@dataclass(frozen=True, slots=True)
class Step:
    """Something that was done."""

    says: str
    """What it was, in English: "edit of caption 18"."""
    back: Callable[[], None]
    """Takes it back, or raises ProtocolError where that cannot be done any more."""
    caption_id: int | None = None


class Undo:
    """The last 20 steps. The newest is taken back first."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque(maxlen=_MOST)

    @property
    def says(self) -> str:
        """What would be taken back next, empty if there is nothing."""
        return self._steps[-1].says if self._steps else ""

    def push(self, says: str, back: Callable[[], None], caption_id: int | None = None) -> None:
        """Remember a step; the oldest of too many is forgotten."""
        self._steps.append(Step(says, back, caption_id))

    def forget_captions(self, ids: Container[int]) -> None:
        """Forget what was done to these captions: they are gone."""
        # None, of a step without a caption, is in no set of ids.
        left = [step for step in self._steps if step.caption_id not in ids]
        self._steps = deque(left, maxlen=_MOST)

    def forget(self, says: str) -> None:
        """Forget the newest step of this name, if there is one: it was taken back otherwise."""
        for step in reversed(self._steps):
            if step.says == says:
                self._steps.remove(step)
                return

    def take_back(self, wanted: str = "") -> None:
        """Take the newest step back. Raises ProtocolError; the step is then forgotten as well.

        With `wanted` only the step of this name: another operator may have done something since.
        """
        if not self._steps:
            raise ProtocolError("nothing-to-undo", "There is nothing to take back.")
        if wanted not in ("", self.says):
            message = f"Not taken back: {wanted}. Done since: {self.says}."
            raise ProtocolError("nothing-to-undo", message)
        # Out first: what cannot be taken back must not stand in the way of the steps below it.
        self._steps.pop().back()
